/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - objects of JSON from rows: each reads one member of a struct, whose type the macro of the row has checked */
#include "text/facts.h"

#include <string.h>

#include "io/digest.h"

/* Unsigned integers, enums and bools of any width. */
static uint64_t fact_integer(const void *member, unsigned bytes)
{
	uint64_t number = 0;

	switch (bytes) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		return *(const uint16_t *)member;
	case 4:
		return *(const uint32_t *)member;
	default:
		memcpy(&number, member, sizeof number);
		return number;
	}
}

struct mpk_figure_value mpk_fact_number(const struct mpk_fact *fact, const void *of)
{
	const void *member = (const char *)of + fact->off;
	uint64_t number;

	if (fact->kind == MPK_FACT_GET)
		return fact->get(of);
	number = fact_integer(member, fact->bytes);
	if (fact->kind == MPK_FACT_TOLD && number == UINT64_MAX >> (64 - 8 * fact->bytes))
		return mpk_figure_told(false, 0);
	return mpk_figure_of(number);
}

/* Three states: a number, null where nobody can tell, no key where the figure does not exist. */
void mpk_figure_json(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		     struct mpk_figure_value value)
{
	if (value.state == MPK_FIGURE_KNOWN)
		mpk_json_u64(j, at, key, value.number);
	else if (value.state == MPK_FIGURE_UNKNOWN)
		mpk_json_null(j, at, key);
}

/* All zeros means unknown. JSON has null for that, because extents of zero would be a statement. */
static void put_fact_extents(struct mpk_json *j, struct mpk_json_at *at, const char *key,
			     const uint32_t n[3])
{
	struct mpk_json_at *list;

	if (!n[0]) {
		mpk_json_null(j, at, key);
		return;
	}
	list = mpk_json_array(j, at, key);
	for (size_t i = 0; i < 3; i++)
		mpk_json_u64(j, list, NULL, n[i]);
}

static void put_fact(const struct mpk_fact *f, const void *of, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	const void *member = (const char *)of + f->off;
	char digits[MPK_DIGEST_TEXT];
	const char *text;

	switch (f->kind) {
	case MPK_FACT_COUNT:
	case MPK_FACT_TOLD:
	case MPK_FACT_GET:
		mpk_figure_json(j, at, f->key, mpk_fact_number(f, of));
		return;
	case MPK_FACT_BOOL:
		mpk_json_bool(j, at, f->key, *(const bool *)member);
		return;
	case MPK_FACT_I64:
		mpk_json_i64(j, at, f->key, *(const int64_t *)member);
		return;
	case MPK_FACT_I64_IF:
		if (*(const int64_t *)member != INT64_MIN)
			mpk_json_i64(j, at, f->key, *(const int64_t *)member);
		return;
	case MPK_FACT_F64:
		mpk_json_f64(j, at, f->key, *(const double *)member);
		return;
	case MPK_FACT_TEXT:
	case MPK_FACT_TEXT_OR_NULL:
		mpk_json_text(j, at, f->key, *(const char *const *)member);
		return;
	case MPK_FACT_NAME_OR_NULL:
		text = *(const char *const *)member;
		mpk_json_text(j, at, f->key, *text ? text : NULL);
		return;
	case MPK_FACT_SPAN:
		mpk_json_span(j, at, f->key, *(const struct mpk_span *)member);
		return;
	case MPK_FACT_SPAN_OR_NULL:
		mpk_json_name(j, at, f->key, *(const struct mpk_span *)member);
		return;
	case MPK_FACT_SPAN_IF:
		if (((const struct mpk_span *)member)->len)
			mpk_json_span(j, at, f->key, *(const struct mpk_span *)member);
		return;
	case MPK_FACT_SHA256:
		mpk_json_text(j, at, f->key, mpk_digest_print(member, MPK_DIGEST_BYTES, digits));
		return;
	case MPK_FACT_XYZ:
		put_fact_extents(j, at, f->key, member);
		return;
	case MPK_FACT_X:
		put_fact_extents(j, at, f->key, (uint32_t[3]){ *(const uint32_t *)member, 1, 1 });
		return;
	case MPK_FACT_WORDS:
		mpk_json_text(j, at, f->key, f->words[fact_integer(member, f->bytes)]);
		return;
	}
}

void mpk_facts_json(const struct mpk_fact *facts, size_t count, const void *of, struct mpk_json *j,
		    struct mpk_json_at *at)
{
	for (size_t i = 0; i < count; i++)
		if (facts[i].key)
			put_fact(&facts[i], of, j, at);
}

void mpk_facts_json_list(const struct mpk_fact *facts, size_t fact_count, const char *key,
			 const void *items, size_t count, size_t bytes, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_facts_json(facts, fact_count, (const char *)items + i * bytes, j,
			       mpk_json_object(j, list, NULL));
}

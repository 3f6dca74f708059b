/* SPDX-License-Identifier: Apache-2.0 */
/* getters.c - the constants that getters return
 *
 * A getter passes a constant to tvm-ffi, and has messages for failures. A doc is a text. The code
 * has the text's length near its address, because tvm-ffi takes both; unoptimised code asks a
 * string_view for the length. A text of metadata is recognised by its first characters. */
#include "hostcode/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/constants.h"
#include "elf/symbols.h"
#include "text/phrase.h"

enum { ADDRESSES_MAX = 32, UNASSIGNED_MAX = 64, TRIES_MAX = 4096 };

struct search {
	const struct mpk_image *image;
	const struct mpk_elf *elf;
	struct mpk_constants *constants;
	size_t count;
	struct mpk_plt_names plt;
	uint64_t budget; /* bytes that may still be read; mpk_constants_budget */
};

static void search_fini(struct search *s)
{
	mpk_plt_names_fini(&s->plt);
}

/* --- texts ----------------------------------------------------------------------------- */

/* Takes bytes from the budget.
 * Returns  false if fewer are left; then none are left afterwards */
static bool getters_spend(struct search *s, uint64_t bytes)
{
	bool enough = bytes <= s->budget;

	s->budget -= enough ? bytes : s->budget;
	return enough;
}

/* Returns the bytes up to a NUL; empty if there are none, the address is not in the constants, or
 * the budget is used up. The budget pays for one read by the caller. */
static struct mpk_span getters_text_at(struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct mpk_constants *c = &s->constants[i];
		const uint8_t *from, *nul;
		size_t most;

		/* Each section costs budget: a file may have as many sections as addresses. */
		if (!getters_spend(s, 1))
			break;
		if (address < c->address || address - c->address >= c->bytes.len)
			continue;
		from = c->bytes.data + (size_t)(address - c->address);
		most = (size_t)(c->bytes.data + c->bytes.len - from);
		most = most < s->budget ? most : (size_t)s->budget;
		nul = memchr(from, 0, most);
		(void)getters_spend(s, nul ? (uint64_t)(nul - from) : most);
		return nul ? mpk_span_of(from, (size_t)(nul - from)) : (struct mpk_span){ 0 };
	}
	return (struct mpk_span){ 0 };
}

/* Whether a text has no control bytes but blanks and line ends. Addresses may lead to other data,
 * too. */
static bool is_prose(struct mpk_span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] == 0x7f || (s.data[i] < ' ' && !strchr("\n\t\r", s.data[i])))
			return false;
	return true;
}

/* Whether the next call takes a text without a length: std::string_view(const char *). */
static bool measures_it(const struct search *s, const struct mpk_image_function *getter,
			uint64_t from)
{
	static const char opening[] = "_ZNSt", view[] = "17basic_string_viewI";
	enum { NEXT_BYTES = 32 };
	uint64_t rest = getter->address + getter->bytes - from;
	struct mpk_callee callee;

	return mpk_elf_callees(s->elf, &s->plt, from, rest < NEXT_BYTES ? rest : NEXT_BYTES,
			       &callee, 1) &&
	       callee.symbol && strncmp(callee.symbol, opening, sizeof opening - 1) == 0 &&
	       strstr(callee.symbol, view);
}

/* Whether the code has a number near the place where it takes an address: length and text are
 * passed together. On x86-64 any four bytes count, because an immediate may be anywhere in an
 * instruction. */
static bool has_number(const struct search *s, struct mpk_span code, uint64_t at, uint32_t number)
{
	enum { BEFORE = 32, BEHIND = 48 }; /* in bytes */
	bool arm = s->elf->header.e_machine == EM_AARCH64;

	for (uint64_t i = at > BEFORE ? at - BEFORE : 0; i + 4 <= code.len && i < at + BEHIND;
	     i += arm ? 4 : 1) {
		uint32_t word = mpk_load_u32(code.data + i);

		/* movz Xd, #number; on x86-64 an immediate */
		if (arm ? number < 1u << 16 && (word & 0x7fffffe0) == (0x52800000 | number << 5)
			: word == number)
			return true;
	}
	return false;
}

/* Returns the doc of a getter; empty if there is none, or more than one. */
static struct mpk_span one_doc(struct search *s, const struct mpk_image_function *getter,
			       struct mpk_span code, const struct mpk_code_address *addresses,
			       size_t count)
{
	struct mpk_span one = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct mpk_span text = getters_text_at(s, addresses[i].to);

		if (!text.len || text.len > INT32_MAX ||
		    (!has_number(s, code, addresses[i].from - getter->address,
				 (uint32_t)text.len) &&
		     !measures_it(s, getter, addresses[i].from)) ||
		    !is_prose(text))
			continue;
		if (one.len && !mpk_span_equal(one, text))
			return (struct mpk_span){ 0 };
		one = text;
	}
	return one;
}

/* Returns the metadata that code points at; empty if there is none, or two that differ. */
static struct mpk_span one_metadata(struct search *s, const struct mpk_code_address *addresses,
				    size_t count)
{
	struct mpk_span one = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct mpk_span text = getters_text_at(s, addresses[i].to);

		/* Only code of the exporter has a text with this beginning. */
		if (!mpk_span_starts(text, MPK_SCHEMA_BEGIN) || text.data[text.len - 1] != '}')
			continue;
		if (one.len && !mpk_span_equal(one, text))
			return (struct mpk_span){ 0 };
		one = text;
	}
	return one;
}

/* --- getters --------------------------------------------------------------------------- */

static const char *behind(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

size_t mpk_host_texts_function(const struct mpk_image *image,
			       const struct mpk_image_function *getter, bool *is_doc)
{
	const char *of = behind(getter->name, MPK_GETTER_METADATA);
	size_t at;

	*is_doc = !of;
	if (!of)
		of = behind(getter->name, MPK_GETTER_DOC);
	if (!of)
		return image->function_count;
	MPK_FIND_FIRST(at, image->function_count, i,
		       mpk_natural_compare(image->functions[i].name, of) < 0);
	return at < image->function_count && mpk_natural_compare(image->functions[at].name, of) == 0
		       ? at
		       : image->function_count;
}

static void ask_getter(struct search *s, const struct mpk_image_function *getter,
		       struct mpk_host_texts *out)
{
	struct mpk_code_address addresses[ADDRESSES_MAX];
	struct mpk_span code = { 0 };
	bool is_doc;
	size_t i = mpk_host_texts_function(s->image, getter, &is_doc), n;

	if (i == s->image->function_count || !getters_spend(s, getter->bytes))
		return;
	n = mpk_elf_code_addresses(s->elf, getter->address, getter->bytes, &code, addresses,
				   ADDRESSES_MAX);
	if (is_doc)
		out->docs[i] = one_doc(s, getter, code, addresses, n);
	else
		out->metadata[i] = one_metadata(s, addresses, n);
}

static bool is_assigned(const struct mpk_image *image, const struct mpk_host_texts *t,
			const uint8_t *text)
{
	for (size_t i = 0; i < image->function_count; i++)
		if (t->metadata[i].data == text)
			return true;
	return false;
}

/* Pieces of JSON may begin inside each other, which is invalid; each costs budget. */
static enum mpk_code find_unassigned(struct search *s, struct mpk_arena *arena,
				     struct mpk_host_texts *out, struct mpk_error *err)
{
	struct mpk_span *list = mpk_arena_array(arena, UNASSIGNED_MAX, sizeof *list);
	size_t n = 0, tries = 0;

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < s->count; i++) {
		const struct mpk_constants *c = &s->constants[i];
		const uint8_t *at = c->bytes.data, *end = at + c->bytes.len;

		while (n < UNASSIGNED_MAX && tries++ < TRIES_MAX &&
		       (at = memmem(at, (size_t)(end - at), MPK_SCHEMA_BEGIN,
				    strlen(MPK_SCHEMA_BEGIN)))) {
			struct mpk_span text =
				getters_text_at(s, c->address + (uint64_t)(at - c->bytes.data));
			struct mpk_signature ignored;

			/* A piece of JSON of the exporter begins in the same way. */
			if (text.len && !is_assigned(s->image, out, at) &&
			    getters_spend(s, text.len)) {
				enum mpk_code code = mpk_signature_read(text, arena, &ignored, err);

				if (code == MPK_E_NOMEM)
					return code;
				if (code == MPK_OK)
					list[n++] = text;
			}
			at++;
		}
	}
	out->unassigned = list;
	out->unassigned_count = n;
	return MPK_OK;
}

enum mpk_code mpk_host_texts_read(const struct mpk_image *image, struct mpk_arena *arena,
				  struct mpk_host_texts *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	MPK_CLEANUP(search_fini) struct search s = { .image = image, .elf = &elf };
	struct mpk_host_texts texts = {
		.docs = mpk_arena_array(arena, image->function_count, sizeof *texts.docs),
		.metadata = mpk_arena_array(arena, image->function_count, sizeof *texts.metadata),
	};

	MPK_TRY_ALLOC(texts.docs && texts.metadata, err);
	*out = texts;
	if (image->container != MPK_CONTAINER_ELF_SO || !image->getter_count)
		return MPK_OK;
	enum mpk_code code = mpk_elf_open_mapped(image->bytes, 0, &elf, NULL, err);
	if (code == MPK_OK)
		code = mpk_elf_constants(&elf, image->blob, arena, &s.constants, &s.count, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK; /* The file could be opened before, so
							     * this is a limit of the code's reader:
							     * nothing is added. */
	if (mpk_plt_names_read(&elf, &s.plt, NULL) == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	s.budget = mpk_constants_budget(s.constants, s.count);
	for (size_t i = 0; i < image->getter_count; i++)
		ask_getter(&s, &image->getters[i], out);
	return find_unassigned(&s, arena, out, err);
}

enum mpk_code mpk_host_texts_signature(const struct mpk_image *image,
				       const struct mpk_host_texts *texts, size_t i,
				       struct mpk_arena *arena, const struct mpk_signature **out,
				       struct mpk_error *err)
{
	struct mpk_signature *s = mpk_arena_alloc(arena, sizeof *s);
	enum mpk_code code;

	*out = NULL;
	MPK_TRY_ALLOC(s, err);
	if (!texts->metadata[i].len)
		return MPK_OK;
	code = mpk_signature_read(texts->metadata[i], arena, s, NULL);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
	s->name = mpk_span_str(image->functions[i].name);
	*out = s;
	return MPK_OK;
}

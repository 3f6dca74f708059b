/* SPDX-License-Identifier: Apache-2.0 */
/* tilelang.c - signatures from TileLang's host code, whose error messages are its own:
 *
 *   vadd: num_args should be 3
 *   kernel vadd input A expected pointer or tensor handle
 *   kernel vadd input A ndim mismatch, expected 1
 *   kernel vadd input A dtype mismatch, expected float32
 *   kernel vadd input A shape[0] violates packed ABI constraint
 *   kernel vadd input A device_type mismatch, expected cuda
 *
 * No text gives the index of an argument. Arguments are in the order in which the code refers to
 * their texts, if the texts are in the same order; else no signature is certain. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "hostcode/internal/hostcode.h"

#define KERNEL "kernel "
#define INPUT " input "

enum { ARGUMENTS_MAX = 64, RANK_MAX = 8 };

struct argument {
	struct mpk_span name;
	uint64_t first; /* bytes of code before the first reference to its texts */
	int64_t rank;   /* -1: not known */
	struct mpk_dtype dtype;
	bool bound[RANK_MAX]; /* for each dimension: it is checked, so it exists */
};

/* What the texts say about one function. */
struct told {
	struct mpk_unit *unit;
	const struct mpk_unit_function *f;
	int64_t count; /* -1: not known */
	struct argument args[ARGUMENTS_MAX];
	size_t found;
	int32_t device;
	bool differs;
};

static bool tilelang_take(struct mpk_span *s, const char *prefix)
{
	if (!mpk_span_starts(*s, prefix))
		return false;
	*s = mpk_span_of(s->data + strlen(prefix), s->len - strlen(prefix));
	return true;
}

/* Returns the text up to the next blank, which is consumed. */
static struct mpk_span tilelang_take_word(struct mpk_span *s)
{
	const uint8_t *blank = s->len ? memchr(s->data, ' ', s->len) : NULL;
	struct mpk_span word = mpk_span_of(s->data, blank ? (size_t)(blank - s->data) : s->len);

	*s = mpk_span_of(s->data + word.len + (blank != NULL), s->len - word.len - (blank != NULL));
	return word;
}

static struct argument *argument_of(struct told *t, struct mpk_span name, uint64_t address)
{
	const struct mpk_image_function *f = t->f->function;

	for (size_t i = 0; i < t->found; i++)
		if (mpk_span_equal(t->args[i].name, name))
			return &t->args[i];
	if (t->found == ARGUMENTS_MAX || !mpk_unit_spend(t->unit, f->bytes)) {
		t->differs = true;
		return NULL;
	}
	t->args[t->found] = (struct argument){
		.name = name,
		.first = mpk_elf_code_first(t->unit->elf, f->address, f->bytes, address),
		.rank = -1,
	};
	t->differs |= t->args[t->found].first == UINT64_MAX ||
		      (t->found && t->args[t->found].first <= t->args[t->found - 1].first);
	return &t->args[t->found++];
}

static void tilelang_apply(struct told *t, struct argument *arg, struct mpk_span rest)
{
	int64_t number;

	if (tilelang_take(&rest, "ndim mismatch, expected ")) {
		if (!mpk_parse_i64(rest, &number) || number < 0 || number > RANK_MAX ||
		    (arg->rank >= 0 && arg->rank != number))
			t->differs = true;
		else
			arg->rank = number;
	} else if (tilelang_take(&rest, "dtype mismatch, expected ")) {
		t->differs |= arg->dtype.bits || !mpk_dtype_parse(rest, &arg->dtype);
	} else if (tilelang_take(&rest, "device_type mismatch, expected ")) {
		int32_t device = 0;

		(void)mpk_dl_device_find(rest, &device);
		t->differs |= t->device && t->device != device;
		t->device = device;
	} else if (tilelang_take(&rest, "shape[") && rest.len > 1 && rest.data[1] == ']' &&
		   rest.data[0] >= '0' && rest.data[0] < '0' + RANK_MAX) {
		arg->bound[rest.data[0] - '0'] = true;
	}
}

static void tilelang_read_text(struct told *t, struct mpk_span text, uint64_t address)
{
	struct mpk_span rest = text;

	if (mpk_span_starts(text, KERNEL)) {
		struct argument *arg;
		struct mpk_span name;

		if (!tilelang_take(&rest, KERNEL) ||
		    !mpk_span_equal(tilelang_take_word(&rest), t->f->name) ||
		    !tilelang_take(&rest, &INPUT[1]))
			return;
		name = tilelang_take_word(&rest);
		arg = name.len ? argument_of(t, name, address) : NULL;
		if (arg)
			tilelang_apply(t, arg, rest);
	} else if (text.len > t->f->name.len &&
		   memcmp(text.data, t->f->name.data, t->f->name.len) == 0) {
		rest = mpk_span_of(text.data + t->f->name.len, text.len - t->f->name.len);
		if (tilelang_take(&rest, ": num_args should be ") &&
		    !mpk_parse_i64(rest, &t->count))
			t->differs = true;
	}
}

/* Returns the whole string that contains the place. */
static bool string_at(struct mpk_span s, const uint8_t *at, struct mpk_span *out)
{
	const uint8_t *end = s.data + s.len, *nul = memchr(at, 0, (size_t)(end - at)), *from = at;

	while (from > s.data && from[-1])
		from--;
	*out = mpk_span_of(from, nul ? (size_t)(nul - from) : 0);
	return nul != NULL;
}

static void tilelang_read_texts(struct told *t, const char *part)
{
	for (size_t i = 0; i < t->unit->constant_count; i++) {
		const struct mpk_constants *c = &t->unit->constants[i];
		const uint8_t *at = c->bytes.data, *end = at + c->bytes.len;
		struct mpk_span text;

		while (at < end && mpk_unit_spend(t->unit, 1) &&
		       (at = memmem(at, (size_t)(end - at), part, strlen(part))) &&
		       string_at(c->bytes, at, &text) && mpk_unit_spend(t->unit, text.len)) {
			tilelang_read_text(t, text,
					   c->address + (uint64_t)(text.data - c->bytes.data));
			at = text.data + text.len;
		}
	}
}

/* --- the signature ---------------------------------------------------------------------- */

static enum mpk_code tilelang_type_of(struct told *t, const struct argument *arg,
				      struct mpk_type *out, struct mpk_error *err)
{
	size_t rank = (size_t)arg->rank;
	int64_t *shape = mpk_arena_array(t->unit->arena, rank, sizeof *shape);
	struct mpk_span *symbols = mpk_arena_array(t->unit->arena, rank, sizeof *symbols);

	MPK_TRY_ALLOC(shape && symbols, err);
	for (size_t d = 0; d < rank; d++)
		symbols[d] = mpk_span_str(arg->bound[d] ? "_" : "?");
	*out = mpk_type_tensor(arg->dtype, shape, rank, rank ? symbols : NULL);
	return MPK_OK;
}

static enum mpk_code tilelang_settle(struct told *t, struct mpk_unit_function *f,
				     struct mpk_error *err)
{
	struct mpk_param *params = mpk_arena_array(t->unit->arena, t->found, sizeof *params);
	struct mpk_signature *s = mpk_arena_alloc(t->unit->arena, sizeof *s);

	MPK_TRY_ALLOC(params && s, err);
	for (size_t i = 0; i < t->found; i++) {
		params[i].name = t->args[i].name;
		if (t->args[i].rank >= 0)
			MPK_TRY(tilelang_type_of(t, &t->args[i], &params[i].type, err));
	}
	*s = (struct mpk_signature){
		.fills_inputs = true, .device = t->device, .inputs = params, .input_count = t->found
	};
	f->found = s;
	return MPK_OK;
}

/* Reads all texts for each function in turn: a library of TileLang has few functions. */
static enum mpk_code unit_tilelang(struct mpk_unit *u, struct mpk_error *err)
{
	struct told *t;

	for (size_t i = 0; i < u->function_count; i++) {
		struct mpk_unit_function *f = &u->functions[i];
		uint64_t bytes = 0;
		char *part;

		for (size_t k = 0; k < u->constant_count; k++)
			bytes += u->constants[k].bytes.len;
		if (f->found || !mpk_unit_spend(u, 2 * bytes))
			continue;
		t = mpk_arena_alloc(u->arena, sizeof *t);
		part = mpk_arena_printf(u->arena, "%.*s: num_args should be ",
					MPK_SPAN_ARG(f->name));
		MPK_TRY_ALLOC(t && part, err);
		*t = (struct told){ .unit = u, .f = f, .count = -1 };
		tilelang_read_texts(t, part);
		if (t->count < 0)
			continue;
		part = mpk_arena_printf(u->arena, KERNEL "%.*s" INPUT, MPK_SPAN_ARG(f->name));
		MPK_TRY_ALLOC(part, err);
		tilelang_read_texts(t, part);
		if (!t->differs && t->count == (int64_t)t->found && t->found)
			MPK_TRY(tilelang_settle(t, f, err));
	}
	return MPK_OK;
}

const struct mpk_unit_reader mpk_unit_tilelang = { unit_tilelang, true };

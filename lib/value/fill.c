/* SPDX-License-Identifier: Apache-2.0 */
#include "value/fill.h"

#include <string.h>

#include "base/num.h"
#include "text/escape.h"
#include "value/element.h"

struct filler {
	const char *text;
	size_t pos;
	struct mpk_tensor *t;
	size_t each;          /* bytes of an element */
	uint64_t done, total; /* elements */
	int32_t depth;        /* brackets open; with the outermost left out one more */
	/* parts so far of the list at each depth */
	int64_t counts[MPK_TENSOR_NDIM_MAX + 1];
};

static enum mpk_code bad(const struct filler *f, const char *what, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_USAGE, "%s (column %zu of '%s')", what, f->pos + 1,
			MPK_QUOTE(mpk_span_str(f->text)));
}

static struct mpk_span next_token(const struct filler *f)
{
	return mpk_span_of(f->text + f->pos, strcspn(f->text + f->pos, ", \t[]"));
}

static enum mpk_code read_element(const struct filler *f, struct mpk_element *e,
				  struct mpk_error *err)
{
	struct mpk_span token = next_token(f);

	switch (mpk_element_parse(f->t->dl.dtype, token, e)) {
	case MPK_ELEMENT_NO_NUMBER:
		return mpk_fail(err, MPK_E_USAGE,
				"'%s' is not a number of this type (column %zu of '%s')",
				MPK_QUOTE(token), f->pos + 1, MPK_QUOTE(mpk_span_str(f->text)));
	case MPK_ELEMENT_NO_FIT:
		return mpk_fail(err, MPK_E_USAGE, "'%s' does not fit the type (column %zu of '%s')",
				MPK_QUOTE(token), f->pos + 1, MPK_QUOTE(mpk_span_str(f->text)));
	case MPK_ELEMENT_OK:
		break;
	}
	return MPK_OK;
}

static void store(const struct filler *f, uint64_t index, struct mpk_element e)
{
	mpk_element_store(f->t->dl.dtype, e,
			  (uint8_t *)mpk_dltensor_data(&f->t->dl) + index * f->each);
}

static void store_all(const struct filler *f, struct mpk_element e)
{
	for (uint64_t i = 0; i < f->total; i++)
		store(f, i, e);
}

/* --- random numbers ----------------------------------------------------------------- */

static uint64_t split_mix(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static enum mpk_code fill_random(struct filler *f, struct mpk_error *err)
{
	struct mpk_element e = { .class = mpk_element_class(f->t->dl.dtype) };
	uint64_t state = 0;

	f->pos += strlen("rand");
	if (f->text[f->pos] == ':') {
		f->pos++;
		if (!mpk_parse_u64(mpk_span_str(f->text + f->pos), &state))
			return bad(f, "the seed is not a number", err);
	} else if (f->text[f->pos]) {
		return bad(f, "expected rand or rand:SEED", err);
	}
	for (uint64_t i = 0; i < f->total; i++) {
		uint64_t bits = split_mix(&state);

		/* 53 bits make a double in [0, 1) */
		e.f = (double)(bits >> 11) * 0x1p-53 * 2 - 1;
		e.u = bits % 100;
		e.i = e.class == MPK_ELEMENT_BOOL ? (int64_t)(bits & 1) : (int64_t)e.u;
		store(f, i, e);
	}
	return MPK_OK;
}

/* --- lists -------------------------------------------------------------------------- */

/* Spaces and at most one comma; the comma must stand between two parts. */
static enum mpk_code skip_separator(struct filler *f, struct mpk_error *err)
{
	bool comma = false;

	for (;; f->pos++) {
		char c = f->text[f->pos];

		if (c == ',' && comma)
			return bad(f, "a number is missing between two commas", err);
		comma |= c == ',';
		if (c != ' ' && c != '\t' && c != ',')
			break;
	}
	if (comma && (!f->text[f->pos] || f->text[f->pos] == ']' || !f->done))
		return bad(f, "a number is missing beside the comma", err);
	return MPK_OK;
}

static int64_t extent_at(const struct filler *f, int32_t depth)
{
	return depth >= 1 && depth <= f->t->dl.ndim ? f->t->dl.shape[depth - 1] : 1;
}

static enum mpk_code check_count(const struct filler *f, struct mpk_error *err)
{
	int64_t expected = extent_at(f, f->depth), got = f->counts[f->depth];

	if (got == expected)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_USAGE,
		"this list has %lld parts, dimension %d of the type %lld (column %zu of '%s')",
		(long long)got, f->depth, (long long)expected, f->pos + 1,
		MPK_QUOTE(mpk_span_str(f->text)));
}

static enum mpk_code take_part(struct filler *f, struct mpk_error *err)
{
	struct mpk_element e;

	switch (f->text[f->pos]) {
	case '[':
		if (f->depth == f->t->dl.ndim)
			return bad(f, "more brackets than dimensions", err);
		f->counts[f->depth]++;
		f->counts[++f->depth] = 0;
		f->pos++;
		return MPK_OK;
	case ']':
		MPK_TRY(check_count(f, err));
		if (f->depth == 0)
			return bad(f, "this bracket closes nothing", err);
		f->depth--;
		f->pos++;
		return MPK_OK;
	default:
		break;
	}
	if (f->depth != f->t->dl.ndim)
		return bad(f, "expected '[' here", err);
	MPK_TRY(read_element(f, &e, err));
	if (f->done == f->total)
		return bad(f, "more numbers than the type has elements", err);
	store(f, f->done++, e);
	f->counts[f->depth]++;
	f->pos += next_token(f).len;
	return MPK_OK;
}

/* The outermost brackets may be left out: [1 2][3 4]. */
static int32_t opening_depth(const struct filler *f)
{
	int32_t brackets = 0;

	for (size_t i = f->pos; f->text[i] == '[' || f->text[i] == ' '; i++)
		brackets += f->text[i] == '[';
	return brackets < f->t->dl.ndim ? 1 : 0;
}

static enum mpk_code fill_nested(struct filler *f, struct mpk_error *err)
{
	int32_t start = opening_depth(f);

	f->depth = start;
	for (;;) {
		MPK_TRY(skip_separator(f, err));
		if (!f->text[f->pos])
			break;
		if (f->depth == 0 && f->counts[0])
			return bad(f, "the brackets are closed already", err);
		MPK_TRY(take_part(f, err));
	}
	if (f->depth > start)
		return bad(f, "a bracket is not closed", err);
	if (f->depth < start)
		return bad(f, "a bracket too many is closed", err);
	return start ? check_count(f, err) : MPK_OK;
}

static enum mpk_code fill_flat(struct filler *f, struct mpk_error *err)
{
	struct mpk_element e = { 0 };

	for (;;) {
		MPK_TRY(skip_separator(f, err));
		if (!f->text[f->pos])
			break;
		if (strchr("[]", f->text[f->pos]))
			return bad(f, "brackets stand around the whole list or not at all", err);
		MPK_TRY(read_element(f, &e, err));
		if (f->done < f->total)
			store(f, f->done, e);
		f->done++;
		f->pos += next_token(f).len;
	}
	if (f->done == 1)
		store_all(f, e);
	else if (f->done != f->total)
		return mpk_fail(err, MPK_E_USAGE,
				"%llu numbers for a tensor of %llu elements in '%s'",
				(unsigned long long)f->done, (unsigned long long)f->total,
				MPK_QUOTE(mpk_span_str(f->text)));
	return MPK_OK;
}

enum mpk_code mpk_tensor_fill(struct mpk_tensor *t, const char *text, size_t pos,
			      struct mpk_error *err)
{
	struct filler f = {
		.text = text,
		.pos = pos,
		.t = t,
		.each = mpk_dtype_bytes(t->dl.dtype),
		.total = mpk_tensor_count(t),
	};
	char name[MPK_DTYPE_TEXT];

	if (mpk_element_class(t->dl.dtype) == MPK_ELEMENT_NONE)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"elements of type %s have no text form; give a file: TYPE=@FILE",
				mpk_dtype_print(t->dl.dtype, name));
	if (strncmp(text + pos, "rand", 4) == 0)
		return fill_random(&f, err);
	if (t->dl.ndim && text[pos + strspn(text + pos, " \t")] == '[') {
		f.pos += strspn(text + pos, " \t");
		return fill_nested(&f, err);
	}
	return fill_flat(&f, err);
}

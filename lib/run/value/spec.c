/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - the elements of a tensor as text, and what is said of a mistake in a value
 *
 * Every mistake has its column and, where a type was misspelt, the one that was meant.
 */
#include "value/internal/spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "text/escape.h"
#include "value/element.h"

/* Columns count from 1 and bytes, as compilers do. */
enum mpk_code mpk_spec_bad(const struct mpk_spec_source *s, size_t pos, const char *what,
			   struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_USAGE, "%s (column %zu of '%s')", what, pos + 1,
			MPK_QUOTE(mpk_span_str(s->text)));
}

/* "float" or "fp16" is what users of other programs write: say what is meant. */
enum mpk_code mpk_spec_bad_type(const struct mpk_spec_source *s, size_t start, struct mpk_span name,
				struct mpk_error *err)
{
	const char *meant = name.len ? mpk_dtype_suggest(name) : NULL;
	char text[160];

	if (!meant || strcmp(meant, "handle") == 0)
		return mpk_spec_bad(
			s, start,
			"expected a type: f16 f32 f64 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool, f8_e4m3fn and the like",
			err);
	(void)snprintf(text, sizeof text, "'%s' is no type; did you mean '%s'?", MPK_QUOTE(name),
		       meant);
	return mpk_spec_bad(s, start, text, err);
}

/* --- elements -------------------------------------------------------------------------------- */

struct filler {
	struct mpk_spec_source at;
	struct mpk_scalars scalars;
	uint64_t done; /* of them */
	int32_t depth; /* brackets open; with the outermost left out one more */
	/* parts so far of the list at each depth */
	int64_t counts[MPK_TENSOR_NDIM_MAX + 2];
};

static enum mpk_code bad_element(const struct filler *f, const char *what, struct mpk_error *err)
{
	return mpk_spec_bad(&f->at, f->at.pos, what, err);
}

static struct mpk_span next_token(const struct filler *f)
{
	return mpk_span_of(f->at.text + f->at.pos, strcspn(f->at.text + f->at.pos, ", \t[]"));
}

/* The next number, as the tensor is to hold it. */
static enum mpk_code read_element(const struct filler *f, uint8_t raw[MPK_SCALAR_MAX],
				  struct mpk_error *err)
{
	struct mpk_span token = next_token(f);
	struct mpk_dtype t = f->scalars.dtype;
	bool bits_only = mpk_element_class(t) == MPK_ELEMENT_NONE;
	char name[MPK_DTYPE_TEXT];

	switch (mpk_element_parse(t, token, raw)) {
	case MPK_ELEMENT_NO_NUMBER:
		if (bits_only)
			return mpk_fail(
				err, MPK_E_USAGE,
				"'%s': elements of type %s are written as their bits, 0x3c, or read from a file: TYPE=@FILE",
				MPK_QUOTE(token), mpk_dtype_print(t, name));
		return mpk_fail(
			err, MPK_E_USAGE, "'%s' is not a number of this type (column %zu of '%s')",
			MPK_QUOTE(token), f->at.pos + 1, MPK_QUOTE(mpk_span_str(f->at.text)));
	case MPK_ELEMENT_NO_FIT:
		return mpk_fail(err, MPK_E_USAGE, "'%s' does not fit the type (column %zu of '%s')",
				MPK_QUOTE(token), f->at.pos + 1,
				MPK_QUOTE(mpk_span_str(f->at.text)));
	case MPK_ELEMENT_OK:
		break;
	}
	return MPK_OK;
}

/* --- random numbers ----------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine, from any seed. */
static uint64_t split_mix(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static enum mpk_code fill_random(struct filler *f, struct mpk_error *err)
{
	struct mpk_dtype t = f->scalars.dtype;
	struct mpk_element e = { .class = mpk_element_class(t) };
	uint8_t raw[MPK_SCALAR_MAX];
	uint64_t state = 0;

	f->at.pos += strlen("rand");
	if (f->at.text[f->at.pos] == ':') {
		f->at.pos++;
		if (!mpk_parse_u64(mpk_span_str(f->at.text + f->at.pos), &state))
			return bad_element(f, "the seed is not a number", err);
	} else if (f->at.text[f->at.pos]) {
		return bad_element(f, "expected rand or rand:SEED", err);
	}
	for (uint64_t i = 0; i < f->scalars.count; i++) {
		uint64_t bits = split_mix(&state);

		/* 53 bits make a double in [0, 1) */
		e.f = (double)(bits >> 11) * 0x1p-53 * 2 - 1;
		if (mpk_dtype_is_narrow(t) && !mpk_narrow_fits(t, 0)) /* powers of two */
			e.f = fabs(e.f) + 0x1p-53;
		/* what the type holds, from 0 on */
		e.u = bits % (t.bits < 8 ? 1u << (t.bits - (e.class == MPK_ELEMENT_INT)) : 100);
		e.i = e.class == MPK_ELEMENT_BOOL ? (int64_t)(bits & 1) : (int64_t)e.u;
		mpk_element_store(t, e, raw);
		mpk_scalar_put(&f->scalars, i, raw);
	}
	return MPK_OK;
}

/* --- lists -------------------------------------------------------------------------- */

/* Spaces and at most one comma; the comma must be between two parts. */
static enum mpk_code skip_separator(struct filler *f, struct mpk_error *err)
{
	bool comma = false;

	for (;; f->at.pos++) {
		char c = f->at.text[f->at.pos];

		if (c == ',' && comma)
			return bad_element(f, "a number is missing between two commas", err);
		comma |= c == ',';
		if (c != ' ' && c != '\t' && c != ',')
			break;
	}
	if (comma && (!f->at.text[f->at.pos] || f->at.text[f->at.pos] == ']' || !f->done))
		return bad_element(f, "a number is missing beside the comma", err);
	return MPK_OK;
}

static int64_t extent_at(const struct filler *f, int32_t depth)
{
	return depth >= 1 && depth <= f->scalars.ndim ? f->scalars.shape[depth - 1] : 1;
}

static enum mpk_code check_count(const struct filler *f, struct mpk_error *err)
{
	int64_t expected = extent_at(f, f->depth), got = f->counts[f->depth];

	if (got == expected)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_USAGE,
		"this list has %lld parts, dimension %d of the type %lld (column %zu of '%s')",
		(long long)got, f->depth, (long long)expected, f->at.pos + 1,
		MPK_QUOTE(mpk_span_str(f->at.text)));
}

/* One bracket or number. Counts by depth show at each closing bracket whether the list has the
 * extent of its dimension. */
static enum mpk_code take_part(struct filler *f, struct mpk_error *err)
{
	uint8_t raw[MPK_SCALAR_MAX];

	switch (f->at.text[f->at.pos]) {
	case '[':
		if (f->depth == f->scalars.ndim)
			return bad_element(f, "more brackets than dimensions", err);
		f->counts[f->depth]++;
		f->counts[++f->depth] = 0;
		f->at.pos++;
		return MPK_OK;
	case ']':
		MPK_TRY(check_count(f, err));
		if (f->depth == 0)
			return bad_element(f, "this bracket closes nothing", err);
		f->depth--;
		f->at.pos++;
		return MPK_OK;
	default:
		break;
	}
	if (f->depth != f->scalars.ndim)
		return bad_element(f, "expected '[' here", err);
	MPK_TRY(read_element(f, raw, err));
	if (f->done == f->scalars.count)
		return bad_element(f, "more numbers than the type has elements", err);
	mpk_scalar_put(&f->scalars, f->done++, raw);
	f->counts[f->depth]++;
	f->at.pos += next_token(f).len;
	return MPK_OK;
}

static enum mpk_code fill_nested(struct filler *f, struct mpk_error *err)
{
	/* The outermost brackets may be left out: [1 2][3 4]. */
	int32_t brackets = 0;

	for (size_t i = f->at.pos; f->at.text[i] == '[' || f->at.text[i] == ' '; i++)
		brackets += f->at.text[i] == '[';
	int32_t start = brackets < f->scalars.ndim ? 1 : 0;

	f->depth = start;
	for (;;) {
		MPK_TRY(skip_separator(f, err));
		if (!f->at.text[f->at.pos])
			break;
		if (f->depth == 0 && f->counts[0])
			return bad_element(f, "the brackets are closed already", err);
		MPK_TRY(take_part(f, err));
	}
	if (f->depth > start)
		return bad_element(f, "a bracket is not closed", err);
	if (f->depth < start)
		return bad_element(f, "a bracket too many is closed", err);
	return start ? check_count(f, err) : MPK_OK;
}

/* Without brackets numbers are in row-major order; one alone is for every element. */
static enum mpk_code fill_flat(struct filler *f, struct mpk_error *err)
{
	uint8_t raw[MPK_SCALAR_MAX];

	for (;;) {
		MPK_TRY(skip_separator(f, err));
		if (!f->at.text[f->at.pos])
			break;
		if (strchr("[]", f->at.text[f->at.pos]))
			return bad_element(f, "brackets stand around the whole list or not at all",
					   err);
		MPK_TRY(read_element(f, raw, err));
		if (f->done < f->scalars.count)
			mpk_scalar_put(&f->scalars, f->done, raw);
		f->done++;
		f->at.pos += next_token(f).len;
	}
	if (f->done == 1) {
		for (uint64_t i = 0; i < f->scalars.count; i++)
			mpk_scalar_put(&f->scalars, i, raw);
	} else if (f->done != f->scalars.count)
		return mpk_fail(err, MPK_E_USAGE,
				"%llu numbers for a tensor of %llu elements in '%s'",
				(unsigned long long)f->done, (unsigned long long)f->scalars.count,
				MPK_QUOTE(mpk_span_str(f->at.text)));
	return MPK_OK;
}

/* Types without a text form take their bits in hexadecimal, and those too wide for it only
 * files. */
enum mpk_code mpk_tensor_fill(struct mpk_tensor *t, const char *text, size_t pos,
			      struct mpk_error *err)
{
	struct filler f = { .at = { text, pos }, .scalars = mpk_scalars_of(&t->dl) };
	bool bits_only = mpk_element_class(f.scalars.dtype) == MPK_ELEMENT_NONE;
	bool is_random = strncmp(text + pos, "rand", 4) == 0;
	char name[MPK_DTYPE_TEXT];

	if (bits_only && (is_random || mpk_dtype_bytes(f.scalars.dtype) > MPK_SCALAR_MAX))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"elements of type %s have no text form; give a file: TYPE=@FILE",
				mpk_dtype_print(t->dl.dtype, name));
	if (is_random)
		return fill_random(&f, err);
	if (f.scalars.ndim && text[pos + strspn(text + pos, " \t")] == '[') {
		f.at.pos += strspn(text + pos, " \t");
		return fill_nested(&f, err);
	}
	return fill_flat(&f, err);
}

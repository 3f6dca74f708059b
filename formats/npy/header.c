/* SPDX-License-Identifier: Apache-2.0 */
/* The text in an .npy file's head: a Python dict literal with three keys. */
#include "npy/internal/header.h"

#include <string.h>

#include "base/num.h"
#include "text/escape.h"

struct literal {
	struct mpk_span text;
	size_t pos;
	uint64_t base; /* offset of the text in the file */
};

static enum mpk_code bad(const struct literal *l, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "npy", l->base + l->pos,
			       "the header is not the dict that numpy writes: expected %s", what);
}

static int peek(struct literal *l)
{
	static const char blanks[] = " \t\r\n";

	while (l->pos < l->text.len && memchr(blanks, l->text.data[l->pos], sizeof blanks - 1))
		l->pos++;
	return l->pos < l->text.len ? l->text.data[l->pos] : -1;
}

static bool take(struct literal *l, char c)
{
	if (peek(l) != (uint8_t)c)
		return false;
	l->pos++;
	return true;
}

static enum mpk_code read_string(struct literal *l, struct mpk_span *out, struct mpk_error *err)
{
	int quote = peek(l);

	if (quote != '\'' && quote != '"')
		return bad(l, "a quoted text", err);

	const uint8_t *start = l->text.data + l->pos + 1;
	const uint8_t *end = memchr(start, quote, l->text.len - l->pos - 1);
	if (!end)
		return bad(l, "a closing quote", err);
	*out = mpk_span_of(start, (size_t)(end - start));
	l->pos += out->len + 2;
	return MPK_OK;
}

static bool take_word(struct literal *l, const char *word)
{
	size_t n = strlen(word);

	(void)peek(l);
	if (l->text.len - l->pos < n || memcmp(l->text.data + l->pos, word, n) != 0)
		return false;
	l->pos += n;
	return true;
}

static enum mpk_code read_order(struct literal *l, struct mpk_npy_header *out,
				struct mpk_error *err)
{
	out->is_fortran = take_word(l, "True");
	if (!out->is_fortran && !take_word(l, "False"))
		return bad(l, "True or False", err);
	return MPK_OK;
}

static enum mpk_code read_extent(struct literal *l, int64_t *out, struct mpk_error *err)
{
	size_t start;

	(void)peek(l);
	start = l->pos;
	while (l->pos < l->text.len && l->text.data[l->pos] >= '0' && l->text.data[l->pos] <= '9')
		l->pos++;
	if (!mpk_parse_i64(mpk_span_of(l->text.data + start, l->pos - start), out))
		return bad(l, "an extent", err);
	(void)take_word(l, "L"); /* Python 2 wrote long integers so */
	return MPK_OK;
}

static enum mpk_code read_shape(struct literal *l, struct mpk_npy_header *out,
				struct mpk_error *err)
{
	if (!take(l, '('))
		return bad(l, "a tuple", err);
	out->ndim = 0;
	while (!take(l, ')')) {
		if (out->ndim == MPK_NPY_NDIM_MAX)
			return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "npy", l->base + l->pos,
					       "more than %d dimensions", MPK_NPY_NDIM_MAX);
		MPK_TRY(read_extent(l, &out->shape[out->ndim], err));
		out->ndim++;
		if (!take(l, ',') && peek(l) != ')')
			return bad(l, "',' or ')'", err);
	}
	return MPK_OK;
}

static enum mpk_code read_descr(struct literal *l, struct mpk_npy_header *out,
				struct mpk_error *err)
{
	if (peek(l) == '[')
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "npy", l->base + l->pos,
				       "an array of records; save its fields one by one");
	return read_string(l, &out->descr, err);
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static enum mpk_code read_entry(struct literal *l, struct mpk_npy_header *out, unsigned *seen,
				struct mpk_error *err)
{
	struct mpk_span key;

	MPK_TRY(read_string(l, &key, err));
	if (!take(l, ':'))
		return bad(l, "':'", err);
	if (mpk_span_is(key, "descr")) {
		*seen |= HAS_DESCR;
		return read_descr(l, out, err);
	}
	if (mpk_span_is(key, "fortran_order")) {
		*seen |= HAS_ORDER;
		return read_order(l, out, err);
	}
	if (mpk_span_is(key, "shape")) {
		*seen |= HAS_SHAPE;
		return read_shape(l, out, err);
	}
	return mpk_fail_offset(err, MPK_E_CORRUPT, "npy", l->base + l->pos,
			       "the header has a key '%s' that numpy does not write",
			       MPK_QUOTE(key));
}

enum mpk_code mpk_npy_header_parse(struct mpk_span text, uint64_t base, struct mpk_npy_header *out,
				   struct mpk_error *err)
{
	struct literal l = { .text = text, .base = base };
	struct mpk_npy_header header = { 0 };
	unsigned seen = 0;

	if (!take(&l, '{'))
		return bad(&l, "'{'", err);
	while (!take(&l, '}')) {
		MPK_TRY(read_entry(&l, &header, &seen, err));
		if (!take(&l, ',') && peek(&l) != '}')
			return bad(&l, "',' or '}'", err);
	}
	if (seen != HAS_ALL)
		return bad(&l, "the keys descr, fortran_order and shape", err);
	*out = header;
	return MPK_OK;
}

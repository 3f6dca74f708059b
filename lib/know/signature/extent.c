/* SPDX-License-Identifier: Apache-2.0 */
/* extent.c - extents that are formulas, "n * 2 + 1", computed and printed
 *
 * TVM prints a symbolic extent in the syntax of TVMScript, or in that of C++ in older releases, and
 * the same division means different things in the two: names such as floordiv say which, and the
 * bare signs are taken to round down. The grammar is sums of products of atoms. Numbers are int64
 * and any overflow means "not known", as does a division by zero: the texts come from files, and a
 * wrong number would be worse than none.
 */
#include "signature/signature.h"

#include <ctype.h>
#include <string.h>

#include "base/num.h"

enum { NEST_MAX = 32 }; /* parentheses within parentheses */

struct reader {
	const uint8_t *at, *end;
	const struct mpk_extent_values *values;
	unsigned depth;
};

static bool read_sum(struct reader *r, int64_t *out);

static bool is_word(uint8_t c)
{
	return isalnum(c) || c == '_' || c == '.';
}

/* Blanks are free between any two signs, so they are skipped here once for all. An empty sign
 * only skips them. */
static bool extent_take(struct reader *r, const char *sign)
{
	size_t n = strlen(sign);

	while (r->at < r->end && *r->at == ' ')
		r->at++;
	if ((size_t)(r->end - r->at) < n || (n && memcmp(r->at, sign, n) != 0))
		return false;
	r->at += n;
	return true;
}

/* Names, numbers, and names with dots. */
static struct mpk_span extent_take_word(struct reader *r)
{
	const uint8_t *from;

	(void)extent_take(r, "");
	for (from = r->at; r->at < r->end && is_word(*r->at); r->at++) {
	}
	return mpk_span_of(from, (size_t)(r->at - from));
}

/* TVM's printer writes its own names after a "T." */
static struct mpk_span without_dialect(struct mpk_span word)
{
	return mpk_span_starts(word, "T.") ? mpk_span_from(word, 2) : word;
}

/* --- numbers -------------------------------------------------------------------------- */

/* C rounds to zero. Flooring differs when there is a rest and its sign is not the divisor's. */
static bool divide(int64_t a, int64_t b, bool floors, int64_t *quotient, int64_t *rest)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	*quotient = a / b;
	*rest = a % b;
	if (floors && *rest != 0 && (*rest < 0) != (b < 0)) {
		*quotient -= 1;
		*rest += b;
	}
	return true;
}

/* The functions that TVM's simplifier leaves in extents; another name makes the whole extent
 * unknown. */
static bool extent_apply(struct mpk_span name, int64_t a, int64_t b, int64_t *out)
{
	int64_t rest;

	if (mpk_span_is(name, "max") || mpk_span_is(name, "min")) {
		*out = (a > b) == mpk_span_is(name, "max") ? a : b;
		return true;
	}
	if (mpk_span_is(name, "floordiv") || mpk_span_is(name, "truncdiv"))
		return divide(a, b, mpk_span_starts(name, "floor"), out, &rest);
	if (mpk_span_is(name, "floormod") || mpk_span_is(name, "truncmod"))
		return divide(a, b, mpk_span_starts(name, "floor"), &rest, out);
	return mpk_span_is(name, "ceildiv") && !__builtin_add_overflow(a, b - 1, &a) &&
	       divide(a, b, true, out, &rest);
}

/* Casts between integers are passed over: extents are small, and TVM writes a cast wherever
 * int32 and int64 meet. */
static bool is_integer_type(struct mpk_span name)
{
	struct mpk_span rest = name;
	int64_t bits;

	if (mpk_span_starts(name, "uint"))
		rest = mpk_span_from(name, 4);
	else if (mpk_span_starts(name, "int"))
		rest = mpk_span_from(name, 3);
	return rest.len < name.len && mpk_parse_i64(rest, &bits);
}

static bool read_atom(struct reader *r, int64_t *out)
{
	struct mpk_span word;

	if (extent_take(r, "("))
		return read_sum(r, out) && extent_take(r, ")");
	if (extent_take(r, "-")) {
		bool read = r->depth++ < NEST_MAX && read_atom(r, out);

		r->depth--;
		return read && !__builtin_sub_overflow(0, *out, out);
	}
	word = extent_take_word(r);
	if (!word.len)
		return false;
	if (isdigit(word.data[0]))
		return mpk_parse_i64(word, out);
	if (extent_take(r, "(")) {
		/* "int64(n)", "Cast("int64", n)", "max(n, 4)"; the name and the "(" are taken. */
		struct mpk_span name = without_dialect(word);
		int64_t a, b;

		if (mpk_span_is(name, "Cast")) {
			if (!extent_take(r, "\"") || !is_integer_type(extent_take_word(r)) ||
			    !extent_take(r, "\"") || !extent_take(r, ","))
				return false;
			return read_sum(r, out) && extent_take(r, ")");
		}
		if (is_integer_type(name))
			return read_sum(r, out) && extent_take(r, ")");
		return read_sum(r, &a) && extent_take(r, ",") && read_sum(r, &b) &&
		       extent_take(r, ")") && extent_apply(name, a, b, out);
	}

	/* others is the value of every name that is not listed; 0 means that such names are
	 * unknown. */
	const struct mpk_extent_values *values = r->values;
	for (size_t i = 0; i < values->count; i++)
		if (mpk_span_equal(values->items[i].name, word)) {
			*out = values->items[i].value;
			return true;
		}
	*out = values->others;
	return values->others != 0;
}

/* From left to right: division does not commute. */
static bool read_product(struct reader *r, int64_t *out)
{
	int64_t b, rest;

	if (!read_atom(r, out))
		return false;
	for (;;) {
		if (extent_take(r, "//") || extent_take(r, "/")) {
			if (!read_atom(r, &b) || !divide(*out, b, true, out, &rest))
				return false;
		} else if (extent_take(r, "*")) {
			if (!read_atom(r, &b) || __builtin_mul_overflow(*out, b, out))
				return false;
		} else if (extent_take(r, "%%") || extent_take(r, "%")) {
			if (!read_atom(r, &b) || !divide(*out, b, true, &rest, out))
				return false;
		} else {
			return true;
		}
	}
}

/* Depth is counted here and at a minus sign: every recursion passes one of the two. */
static bool read_sum(struct reader *r, int64_t *out)
{
	int64_t b;

	if (r->depth++ == NEST_MAX || !read_product(r, out))
		return false;
	for (;;) {
		if (extent_take(r, "+")) {
			if (!read_product(r, &b) || __builtin_add_overflow(*out, b, out))
				return false;
		} else if (extent_take(r, "-")) {
			if (!read_product(r, &b) || __builtin_sub_overflow(*out, b, out))
				return false;
		} else {
			r->depth--;
			return true;
		}
	}
}

/* The whole text must be one formula; what follows it makes it unknown. */
bool mpk_extent_compute(struct mpk_span text, const struct mpk_extent_values *values, int64_t *out)
{
	struct reader r = { text.data, text.len ? text.data + text.len : text.data, values, 0 };
	int64_t value;

	if (!text.len || !read_sum(&r, &value))
		return false;
	(void)extent_take(&r, "");
	if (r.at != r.end)
		return false;
	*out = value;
	return true;
}

/* --- text ----------------------------------------------------------------------------- */

/* Words with dots, too: a name may be that of an attribute. */
bool mpk_extent_is_name(struct mpk_span text)
{
	if (!text.len || isdigit(text.data[0]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!is_word(text.data[i]))
			return false;
	return true;
}

/* "int64(4)" after "T.": the number between its parentheses, or nothing. */
static struct mpk_span literal(struct reader r, const uint8_t **end)
{
	struct mpk_span type = extent_take_word(&r), number = { 0 };
	int64_t value;

	if (is_integer_type(type) && extent_take(&r, "(")) {
		const uint8_t *from = r.at;

		(void)extent_take(&r, "-");
		(void)extent_take_word(&r);
		number = mpk_span_of(from, (size_t)(r.at - from));
	}
	if (!mpk_parse_i64(number, &value) || !extent_take(&r, ")"))
		return (struct mpk_span){ 0 };
	*end = r.at;
	return number;
}

/* "T.int64(4) * n" is read by people as "4 * n". A doubled '%' comes from format strings. */
enum mpk_code mpk_extent_shorten(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_span *out, struct mpk_error *err)
{
	struct reader r = { .at = text.data, .end = text.len ? text.data + text.len : text.data };
	char *copy = mpk_arena_alloc(arena, text.len + 1);
	size_t len = 0;

	MPK_TRY_ALLOC(copy, err);
	while (r.at < r.end) {
		bool begins = r.at == text.data || !is_word(r.at[-1]);
		struct mpk_span number = { 0 };

		if (begins && r.end - r.at > 2 && memcmp(r.at, "T.", 2) == 0) {
			r.at += 2;
			number = literal(r, &r.at);
			memcpy(copy + len, number.data ? (const char *)number.data : "",
			       number.len);
			len += number.len;
			continue;
		}
		r.at += r.end - r.at > 1 && memcmp(r.at, "%%", 2) == 0;
		copy[len++] = (char)*r.at++;
	}
	*out = mpk_span_of(copy, len);
	return MPK_OK;
}

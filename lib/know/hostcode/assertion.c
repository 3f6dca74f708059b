/* SPDX-License-Identifier: Apache-2.0 */
/* assertion.c - reads one message of an assertion that TVM compiled into a function
 *
 * TVM's ArgBinder (src/tir/transforms/arg_binder.cc and make_packed_api.cc of its releases)
 * writes "Assert fail: CONDITION, MESSAGE" for each property of an argument that it checks. The
 * message names the argument and the property; the condition names the variable, or the extent
 * that the message omits. Each kind has a reader below. */
#include "hostcode/internal/hostcode.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/num.h"

/* --- pieces of text --------------------------------------------------------------------- */

/* Returns the first place of `what` in s; s.len: there is none. */
static size_t assertion_find(struct mpk_span s, const char *what)
{
	const uint8_t *at = s.len ? memmem(s.data, s.len, what, strlen(what)) : NULL;

	return at ? (size_t)(at - s.data) : s.len;
}

/* Splits s at the first `what`, which neither part contains. */
static bool assertion_split(struct mpk_span s, const char *what, struct mpk_span *before,
			    struct mpk_span *behind)
{
	size_t at = assertion_find(s, what);

	if (at == s.len)
		return false;
	*before = mpk_span_of(s.data, at);
	*behind = mpk_span_from(s, at + strlen(what));
	return true;
}

/* Splits s at the first `what` that is outside of parentheses, brackets and quotes. */
static bool split_outside(struct mpk_span s, const char *what, struct mpk_span *before,
			  struct mpk_span *behind)
{
	size_t n = strlen(what), depth = 0;
	bool quoted = false;

	for (size_t i = 0; i + n <= s.len; i++) {
		uint8_t c = s.data[i];

		quoted ^= c == '"';
		if (quoted)
			continue;
		if (!depth && memcmp(s.data + i, what, n) == 0) {
			*before = mpk_span_of(s.data, i);
			*behind = mpk_span_from(s, i + n);
			return true;
		}
		depth += c == '(' || c == '[';
		depth -= depth && (c == ')' || c == ']');
	}
	return false;
}

/* Returns the C identifier at the beginning of s; may be empty. */
static struct mpk_span identifier(struct mpk_span s)
{
	size_t n = 0;

	while (n < s.len && (isalnum(s.data[n]) || s.data[n] == '_'))
		n++;
	return mpk_span_of(s.data, n);
}

/* Reads an index or an extent, which is never negative. */
static bool assertion_number(struct mpk_span s, int64_t *out)
{
	return mpk_parse_i64(s, out) && *out >= 0;
}

/* Removes one pair of parentheses: "(a == b)". TVM writes one pair; removing more would read the
 * text again for each. */
static struct mpk_span bare(struct mpk_span s)
{
	enum { PAIRS_MAX = 16 };
	struct mpk_span before, behind;

	for (unsigned i = 0;
	     i < PAIRS_MAX && s.len >= 2 && s.data[0] == '(' && s.data[s.len - 1] == ')'; i++) {
		struct mpk_span inside = mpk_span_of(s.data + 1, s.len - 2);

		/* "(a) + (b)" is not in a pair */
		if (split_outside(inside, ")", &before, &behind))
			break;
		s = inside;
	}
	return s;
}

/* --- a reader for each kind of assertion ------------------------------------------------- */

static bool read_count(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span text;

	a->kind = MPK_ASSERT_COUNT;
	return assertion_split(message, ": num_args should be ", &a->path, &text) &&
	       assertion_number(text, &a->number);
}

/* The condition compares "X_code", or "X.code" in older releases. */
static bool read_class(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span rest, index, condition = a->condition, ignored;

	a->kind = MPK_ASSERT_CLASS;
	if (!assertion_split(message, ": Expect arg[", &a->path, &rest) ||
	    !assertion_split(rest, "] to be ", &index, &a->value) ||
	    !assertion_number(index, &a->number))
		return false;
	while (condition.len && condition.data[0] == '(')
		condition = mpk_span_from(condition, 1);
	if (!assertion_split(condition, "_code ", &a->variable, &ignored) &&
	    !assertion_split(condition, ".code ", &a->variable, &ignored))
		a->variable = (struct mpk_span){ 0 };
	return true;
}

/* The condition is isnullptr(HANDLE). HANDLE is the argument's variable in the generated code. */
static bool read_pointer(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span ignored, behind;

	a->kind = MPK_ASSERT_POINTER;
	if (!assertion_split(message, " is expected to have non-NULL DLTensor* pointer", &a->path,
			     &ignored))
		return false;
	if (assertion_split(a->condition, "isnullptr(", &ignored, &behind))
		a->variable = identifier(behind);
	return true;
}

/* The variable is the tensor's handle in the generated code. */
static bool read_rank(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span text, ignored, behind;

	a->kind = MPK_ASSERT_RANK;
	if (!assertion_split(message, ".ndim is expected to equal ", &a->path, &text) ||
	    !assertion_number(text, &a->number))
		return false;
	if (assertion_split(a->condition, "tvm_struct_get(", &ignored, &behind))
		a->variable = identifier(behind);
	return true;
}

/* The value is a type in TVM's spelling: "float32". */
static bool read_dtype(struct mpk_span message, struct mpk_assertion *a)
{
	a->kind = MPK_ASSERT_DTYPE;
	return assertion_split(message, ".dtype is expected to be ", &a->path, &a->value);
}

/* "n == T.Cast("int32", f_X_shape[0])", or with the sides exchanged */
static bool assertion_read_shape(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span rest, index, constraint, left, right;

	a->kind = MPK_ASSERT_SHAPE;
	if (!mpk_span_starts(message, "Argument ") ||
	    !assertion_split(mpk_span_from(message, strlen("Argument ")), ".shape[", &a->path,
			     &rest) ||
	    !assertion_split(rest, "] has an unsatisfied constraint: ", &index, &constraint) ||
	    !assertion_number(index, &a->number))
		return false;
	a->value = (struct mpk_span){ 0 };
	if (!split_outside(bare(constraint), " == ", &left, &right))
		return true;
	if (assertion_find(left, "shape[") == left.len)
		a->value = bare(left);
	else if (assertion_find(right, "shape[") == right.len)
		a->value = bare(right);
	return true;
}

/* "4 == T.tvm_struct_get(X, 0, 10, "int32")" */
static bool read_device(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span constraint, left, right;

	a->kind = MPK_ASSERT_DEVICE;
	return mpk_span_starts(message, "Argument ") &&
	       assertion_split(mpk_span_from(message, strlen("Argument ")),
			       ".device_type has an unsatisfied constraint: ", &a->path,
			       &constraint) &&
	       split_outside(bare(constraint), " == ", &left, &right) &&
	       assertion_number(left, &a->number);
}

/* The assertion says only that the strides are those of a compact array. */
static bool read_strides(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span ignored;

	a->kind = MPK_ASSERT_STRIDES;
	return assertion_split(message, ".strides: expected to be compact array", &a->path,
			       &ignored);
}

/* "n * 8 == 0 or not T.isnullptr(X)" */
static bool assertion_read_data(struct mpk_span message, struct mpk_assertion *a)
{
	struct mpk_span ignored;

	a->kind = MPK_ASSERT_DATA;
	return assertion_split(message, " is expected to have non-NULL data pointer", &a->path,
			       &ignored) &&
	       assertion_split(a->condition, " == 0 or ", &a->value, &ignored);
}

/* Changes *out only if a message of a known kind was read. */
bool mpk_assertion_read(struct mpk_span text, struct mpk_assertion *out)
{
	/* The first reader whose words the message contains is used. */
	static bool (*const readers[])(struct mpk_span, struct mpk_assertion *) = {
		read_count,           read_class,  read_pointer, read_rank,           read_dtype,
		assertion_read_shape, read_device, read_strides, assertion_read_data,
	};
	static const char begin[] = "Assert fail: ";
	struct mpk_span condition, message;

	if (!mpk_span_starts(text, begin) ||
	    !split_outside(mpk_span_from(text, sizeof begin - 1), ", ", &condition, &message))
		return false;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(readers); i++) {
		struct mpk_assertion a = { .condition = condition };

		if (readers[i](message, &a)) {
			*out = a;
			return true;
		}
	}
	return false;
}

/* The condition joins the strides of all dimensions by "and". A stride may be on either side of its
 * equation: that depends on the release. */
bool mpk_assertion_stride(struct mpk_span condition, size_t index, struct mpk_span *out)
{
	struct mpk_span rest = bare(condition), part, left, right;
	char stride[32];

	(void)snprintf(stride, sizeof stride, "strides[%zu]", index);
	while (rest.len) {
		if (!split_outside(rest, " and ", &part, &rest)) {
			part = rest;
			rest = (struct mpk_span){ 0 };
		}
		if (!split_outside(bare(part), " == ", &left, &right))
			continue;
		if (assertion_find(right, stride) < right.len) {
			*out = bare(left);
			return true;
		}
		if (assertion_find(left, stride) < left.len) {
			*out = bare(right);
			return true;
		}
	}
	return false;
}

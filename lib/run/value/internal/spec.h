/* SPDX-License-Identifier: Apache-2.0 */
/* spec.h - helpers to parse values from text, shared by the files of lib/run/value */
#ifndef MPK_VALUE_INTERNAL_SPEC_H
#define MPK_VALUE_INTERNAL_SPEC_H

#include "value/value.h"

/* The text of an argument that is being parsed. */
struct mpk_spec_source {
	const char *text;
	size_t pos;
};

/* mpk_spec_bad, mpk_spec_bad_type - MPK_E_USAGE with the column of pos; the second also suggests a
 * type with a similar name */
enum mpk_code mpk_spec_bad(const struct mpk_spec_source *s, size_t pos, const char *what,
			   struct mpk_error *err);
enum mpk_code mpk_spec_bad_type(const struct mpk_spec_source *s, size_t start, struct mpk_span name,
				struct mpk_error *err);

/* mpk_spec_rest - the text that is still to be parsed */
static inline struct mpk_span mpk_spec_rest(const struct mpk_spec_source *s)
{
	return mpk_span_str(s->text + s->pos);
}

/* A kind of value that begins with a word and '='; its function gets s after the '='. */
struct mpk_value_keyword {
	const char *name;
	enum mpk_code (*parse)(struct mpk_spec_source *s, struct mpk_value *out,
			       struct mpk_error *err);
};

enum {
	MPK_KEYWORD_STR,
	MPK_KEYWORD_SHAPE,
	MPK_KEYWORD_BYTES,
	MPK_KEYWORD_DTYPE,
	MPK_KEYWORD_DEVICE,
	MPK_KEYWORD_COUNT
};

extern const struct mpk_value_keyword mpk_value_keywords[MPK_KEYWORD_COUNT];

/* mpk_tensor_fill - set every element of t from the text at text + pos
 * The text is a list with commas or spaces, with or without nested brackets; one number for all
 * elements; or "rand" or "rand:SEED": floats in [-1, 1), integers from 0 to 99, the same on every
 * machine.
 * Returns  MPK_OK; MPK_E_USAGE with the column in text; MPK_E_UNSUPPORTED: a type without a text
 *          form. On failure some elements may have been set. */
enum mpk_code mpk_tensor_fill(struct mpk_tensor *t, const char *text, size_t pos,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - the phrases that PTX declarations are made of (FORMAT.md 2) */
#ifndef MPK_PTX_INTERNAL_PARSE_H
#define MPK_PTX_INTERNAL_PARSE_H

#include "lexer/lexer.h"

/* t is the token that comes next. */
struct mpk_ptx_parser {
	struct mpk_lexer lex;
	struct mpk_token t;
};

/* A variable or parameter as it is declared. */
struct mpk_ptx_variable {
	struct mpk_span name, type;
	uint64_t bytes;
	uint32_t align;
	bool pointer;
	bool open; /* an array without a size: "x[]" */
};

static inline bool mpk_ptx_at(const struct mpk_ptx_parser *r, char c)
{
	return mpk_token_is_punct(&r->t, c);
}

/* Every function below returns MPK_OK or MPK_E_SYNTAX at the token that does not fit. */

/* mpk_ptx_step - go on to the next token */
enum mpk_code mpk_ptx_step(struct mpk_ptx_parser *r, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_wanted - fail: @what was wanted where t is */
enum mpk_code mpk_ptx_wanted(const struct mpk_ptx_parser *r, const char *what,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_take_* - a name; a number of at most max; a u32; one to three numbers, 1 for
 * those left out */
enum mpk_code mpk_ptx_take_name(struct mpk_ptx_parser *r, struct mpk_span *out,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_ptx_take_number(struct mpk_ptx_parser *r, uint64_t max, uint64_t *out,
				  struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_ptx_take_u32(struct mpk_ptx_parser *r, uint32_t *out,
			       struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_ptx_take_triple(struct mpk_ptx_parser *r, uint32_t out[3],
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_skip_past - pass over tokens up to and including stop, brackets in balance */
enum mpk_code mpk_ptx_skip_past(struct mpk_ptx_parser *r, char stop,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_take_modifiers - everything in front of a variable's name, in whatever order:
 * .align N, .v4, .u32, .ptr .global, .attribute(...). Sets all of v but the name. */
enum mpk_code mpk_ptx_take_modifiers(struct mpk_ptx_parser *r, struct mpk_ptx_variable *v,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_take_dimensions - "[24]", "[2][4]", "[]" or nothing; multiplies v->bytes */
enum mpk_code mpk_ptx_take_dimensions(struct mpk_ptx_parser *r, struct mpk_ptx_variable *v,
				      struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - the phrases that PTX declarations are made of (FORMAT.md 2) */
#ifndef MPK_PTX_INTERNAL_PARSE_H
#define MPK_PTX_INTERNAL_PARSE_H

#include "lexer/lexer.h"

/* A variable or parameter as it is declared. */
struct mpk_ptx_variable {
	struct mpk_span name, type;
	uint64_t bytes, element_bytes;
	uint32_t align;
	bool pointer;
	bool open; /* an array without a size: "x[]" */
};

/* Every function below returns MPK_OK or MPK_E_SYNTAX at the token that does not fit. */

/* mpk_ptx_wanted - fail: @what was wanted where t is */
enum mpk_code mpk_ptx_wanted(const struct mpk_lexer *r, const char *what,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_take_name - a name */
enum mpk_code mpk_ptx_take_name(struct mpk_lexer *r, struct mpk_span *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_take_numbers - one to count numbers of at most max, with commas between them; 1 for those left out */
enum mpk_code mpk_ptx_take_numbers(struct mpk_lexer *r, uint32_t max, uint32_t *out, size_t count,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_skip_past - pass over tokens up to and including stop, brackets in balance */
enum mpk_code mpk_ptx_skip_past(struct mpk_lexer *r, char stop,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_take_registers - what follows .reg: "%p<3>" declares three, "%a, %b" two
 * What is not like that is left where it is, for a compiler to refuse.
 * @count   receives how many that are no predicates are added */
enum mpk_code mpk_ptx_take_registers(struct mpk_lexer *r, uint64_t *count,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_take_variable - one declaration: everything in front of the name, in whatever order (.align N, .v4,
 * .u32, .ptr .global, .attribute(...)), the name and its dimensions ("[24]", "[2][4]", "[]" or none)
 * @like    NULL; or the variable before it in a list of names, which shares what is in front */
enum mpk_code mpk_ptx_take_variable(struct mpk_lexer *r, const struct mpk_ptx_variable *like,
				    struct mpk_ptx_variable *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - a read of PTX, and the statements in it (FORMAT.md 2 and 3) */
#ifndef MPK_PTX_INTERNAL_PARSE_H
#define MPK_PTX_INTERNAL_PARSE_H

#include "base/strmap.h"
#include "lexer/lexer.h"
#include "ptx/ptx.h"

/* A read in progress; lists are malloc'ed until the end. */
struct mpk_ptx_reader {
	struct mpk_lexer lex;
	struct mpk_arena *arena;
	struct mpk_ptx ptx;
	struct mpk_ptx_kernel *kernels;
	size_t kernel_cap;
	struct mpk_ptx_shared *shared;
	size_t shared_cap;
	struct mpk_span *functions;
	size_t function_cap;
	struct mpk_ptx_param *params;
	size_t param_cap;
	struct mpk_strmap names;
	struct mpk_token before; /* first token of the previous statement */
	const uint8_t *start;    /* first byte of the statement, including linking directives
				  * before it */
	const uint8_t *end;      /* the byte after the brace of the last body */
	bool has_target;
};

/* mpk_ptx_read_statement - the next one, which is neither .version nor .target: what it declares, in r
 * Returns  MPK_OK; MPK_E_SYNTAX at the token that does not fit, MPK_E_CONFLICT, MPK_E_NOMEM */
enum mpk_code mpk_ptx_read_statement(struct mpk_ptx_reader *r,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif

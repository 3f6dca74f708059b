/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - integer expressions over shape variables: "(n + 127) / 128"
 *
 *     sum     = term  { ("+" | "-") term }
 *     term    = unary { ("*" | "/" | "%") unary }
 *     unary   = ["-"] atom
 *     atom    = NUMBER | NAME | "(" sum ")" | ("min" | "max" | "ceildiv") "(" sum "," sum ")"
 *
 * Values are 64-bit signed. The generated code refuses overflow and division by zero;
 * "/" and "%" round towards zero as in C.
 */
#ifndef MPK_LAUNCH_INTERNAL_PARSE_H
#define MPK_LAUNCH_INTERNAL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum mpk_expr_op {
	MPK_EXPR_NUMBER,
	MPK_EXPR_NAME,
	MPK_EXPR_ADD,
	MPK_EXPR_SUB,
	MPK_EXPR_MUL,
	MPK_EXPR_DIV,
	MPK_EXPR_MOD,
	MPK_EXPR_MIN,
	MPK_EXPR_MAX,
	MPK_EXPR_CEILDIV,
};

struct mpk_expr {
	enum mpk_expr_op op;
	int64_t value;        /* MPK_EXPR_NUMBER */
	struct mpk_span name; /* MPK_EXPR_NAME; view into the text */
	const struct mpk_expr *a, *b;
	size_t at; /* byte in the text where it begins */
};

/* A position in a text that is read from left to right. */
struct mpk_scan {
	struct mpk_span text;
	size_t at;
	uint32_t line, column; /* of text.data[0], for messages; 0: unknown */
};

/* mpk_scan_space - skip blanks; returns the next byte, 0 at the end */
int mpk_scan_space(struct mpk_scan *s);

/* mpk_scan_name - an identifier [A-Za-z_][A-Za-z0-9_]*, or an empty span */
struct mpk_span mpk_scan_name(struct mpk_scan *s);

/* mpk_expr_scan - one expression; the scan is after it then
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_NOMEM.
 *          Nesting beyond 64 levels is refused. */
enum mpk_code mpk_expr_scan(struct mpk_scan *s, struct mpk_arena *arena,
			    const struct mpk_expr **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_expr_constant - true and the value when the expression has no names and no overflow */
bool mpk_expr_constant(const struct mpk_expr *e, int64_t *out);

#endif

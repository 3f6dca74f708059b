/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - launch functions: typed host functions that launch kernels, described by [[function]]
 * in the manifest
 *
 * mpk_launch_resolve parses each [[function]] and checks it against the kernel tables.
 * mpk_launch_build generates host code that checks the arguments, computes the launch extents and
 * calls the kernels through the library's imports, in the ABI of the package. For a standalone
 * library mpk_launch_put_rows writes rows for its loader instead. The language:
 *
 *     param = NAME ":" { qualifier } DTYPE [ "[" dims "]" ]
 *     qualifier = "in" | "out" | "inout" | "optional" | "divisible" NUMBER
 *     dims  = "..." | [ expression { "," expression } ]
 *
 * A dimension that is a bare name defines that name (a shape variable) at its first occurrence in a
 * parameter that is not optional. Every other dimension is checked. Integer scalar parameters are
 * names in expressions too. */
#ifndef MPK_LAUNCH_LAUNCH_H
#define MPK_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/span.h"
#include "base/strmap.h"
#include "blob/blob.h"
#include "dtype/dtype.h"
#include "kernels/kernels.h"
#include "launch/internal/hostcode.h"
#include "manifest/manifest.h"
#include "sourcecode/cfunction.h"

/* --- integer expressions over shape variables: "(n + 127) / 128" ---
 *
 *     sum     = term  { ("+" | "-") term }
 *     term    = unary { ("*" | "/" | "%") unary }
 *     unary   = ["-"] atom
 *     atom    = NUMBER | NAME | "(" sum ")" | ("min" | "max" | "ceildiv") "(" sum "," sum ")"
 *
 * Values are 64-bit signed. The generated code refuses overflow and division by zero;
 * "/" and "%" round towards zero as in C.
 */

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
	size_t at; /* offset in bytes of its beginning in the text */
};

/* A position in a text that is read from left to right. */
struct mpk_scan {
	struct mpk_span text;
	size_t at;
	uint32_t line, column; /* position of text.data[0], for messages; 0: unknown */
};

/* mpk_expr_scan - parse one expression; the scan then stands after it
 * Part of mpk_launch_resolve; public only for tests. Nesting beyond 64 levels is refused.
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_NOMEM */
enum mpk_code mpk_expr_scan(struct mpk_scan *s, struct mpk_arena *arena,
			    const struct mpk_expr **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_expr_constant - compute an expression that contains no names; false if it has names or
 * overflows */
bool mpk_expr_constant(const struct mpk_expr *e, int64_t *out);

/* --- functions --- */

enum { MPK_LAUNCH_RANK_MAX = 16, MPK_LAUNCH_ARGS_MAX = 256, MPK_LAUNCH_DIVISOR_MAX = 4096 };

enum mpk_launch_direction { MPK_LAUNCH_INOUT, MPK_LAUNCH_IN, MPK_LAUNCH_OUT };

/* A parameter of the function, or a device temporary. */
struct mpk_launch_param {
	struct mpk_span name;
	struct mpk_dtype dtype;
	enum mpk_launch_direction direction;
	bool optional; /* None may be passed; the kernel then gets a null pointer */
	bool is_tensor;
	bool any_shape;     /* "[...]": a tensor of any rank; it has no dims */
	uint32_t divisible; /* an integer or a tensor's address must be a multiple of this number;
			     * 0: no rule */
	const struct mpk_expr *const *dims;
	const struct mpk_span *dim_texts; /* each dimension as written, for messages */
	size_t rank;
	struct mpk_pos pos;
};

/* A name that expressions may use: a bound dimension or an integer scalar. */
struct mpk_launch_var {
	struct mpk_span name;
	size_t param, dim; /* dim is SIZE_MAX for a scalar parameter */
};

enum mpk_launch_arg_kind {
	MPK_ARG_PARAM,
	MPK_ARG_TEMP,
	MPK_ARG_INT,
	MPK_ARG_REAL,
	MPK_ARG_LITERAL,
	MPK_ARG_NULL, /* a null pointer for a missing buffer */
};

/* One argument of a kernel. */
struct mpk_launch_arg {
	enum mpk_launch_arg_kind kind;
	size_t index;                /* index of the parameter (PARAM: a tensor; REAL: a float
				      * scalar) or temporary (TEMP) */
	const struct mpk_expr *expr; /* INT */
	double literal;              /* LITERAL: a floating constant */
	struct mpk_span text;        /* as written */
	struct mpk_dtype dtype;      /* type of the kernel's parameter */
};

struct mpk_launch_extent {
	const struct mpk_expr *expr; /* NULL: not given, so the extent is 1 */
	struct mpk_span text;
};

/* Use of a C function's result. */
enum mpk_launch_returns {
	MPK_RETURNS_NOTHING, /* none: there is no result, or it is ignored */
	MPK_RETURNS_STATUS,  /* it is a status: every value but 0 is an error */
	MPK_RETURNS_VALUE,   /* it is the result of the launch function */
};

struct mpk_launch_step {
	const struct mpk_cfunction *callee; /* C function to call instead of a kernel; NULL: none */
	enum mpk_launch_returns returns;
	const char *kernel; /* key of the kernel, or name of the C function */
	const char *id;     /* id of the module that contains the kernel */
	size_t module, row; /* kernels: index of the module in the manifest, and of the row in its
			     * table */
	const struct mpk_launch_arg *args;
	size_t arg_count;
	struct mpk_launch_extent grid[3], block[3], cluster[3], shared;
	const enum mpk_launch_tag *tags;
	size_t tag_count;
};

struct mpk_launch {
	const char *name;
	enum mpk_generation gen;
	int32_t device_type; /* enum mpk_dl_device, the device of its tensors */
	bool on_host;        /* it calls C functions and its tensors are in host memory */
	bool plain_pointers; /* data is an address to which an offset can be added (not so in
			      * OpenCL) */
	const struct mpk_launch_param *params, *temps;
	size_t param_count, temp_count;
	const struct mpk_launch_var *vars;
	size_t var_count;
	const struct mpk_launch_step *steps;
	size_t step_count;
	bool broken; /* invalid: not all fields are set */
};

/* mpk_launch_resolve - parse and check every [[function]] of a manifest
 * A manifest that is not valid is looked at, too, for what does not hang on its other mistakes.
 * @report  receives every problem with its line and column
 * @out     receives manifest->launch_count elements in arena; set also after MPK_E_SYNTAX, with
 *          those that do not hold marked broken
 * Returns  MPK_OK when report gained no errors; MPK_E_SYNTAX otherwise; MPK_E_NOMEM */
enum mpk_code mpk_launch_resolve(const struct mpk_manifest *manifest, struct mpk_arena *arena,
				 struct mpk_report *report, const struct mpk_launch **out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* A C function that a launch function calls, and where the manifest names it. */
struct mpk_called {
	const char *symbol, *function;
	uint32_t line, column;
};

/* How the generated code finds kernels and functions of the runtime. */
enum mpk_launch_mode {
	MPK_LAUNCH_IMPORTS,    /* a loader fills context pointers; kernels are imports */
	MPK_LAUNCH_SYSTEM_LIB, /* linked into a program: the runtime's functions by name */
};

/* mpk_launch_build - host code of launch functions, ready to be printed as C or LLVM IR
 * @prefix      of a system library, "" otherwise; goes into symbol names
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_launch_build(const struct mpk_launch *launches, size_t count,
			       enum mpk_launch_mode mode, const char *prefix,
			       struct mpk_arena *arena, struct mpk_host_unit *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_put_rows - launch functions of a standalone library: rows of tables, as C, for the loader's own source
 * (launch/standalone/loader.h), which checks and launches by them; tensors in host memory are accepted too and copied
 * @kernels  "MODULE.KERNEL" to its index in the loader's table
 * Returns   MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_launch_put_rows(const struct mpk_launch *launches, size_t count,
				  const struct mpk_strmap *kernels, struct mpk_arena *arena,
				  struct mpk_strbuf *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_build_entries - the functions that a loader looks for in such a library: each hands its row over
 * Returns   MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_launch_build_entries(const struct mpk_launch *launches, size_t count,
				       struct mpk_arena *arena, struct mpk_host_unit *out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_param_parse - one parameter text; a piece of mpk_launch_resolve, for tests
 * @out     set also for a tensor of which only the type is none, with a dtype of 0 bits
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_NOMEM */
enum mpk_code mpk_launch_param_parse(const struct mpk_toml_str *text, struct mpk_arena *arena,
				     struct mpk_launch_param *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif

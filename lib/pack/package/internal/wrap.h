/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - what the parts of mpk_wrap_manifest share */
#ifndef MPK_PACKAGE_INTERNAL_WRAP_H
#define MPK_PACKAGE_INTERNAL_WRAP_H

#include "base/strmap.h"
#include "code/info.h"
#include "cubin/cubin.h"
#include "package/wrap.h"
#include "triton/triton.h"

/* One argument of a kernel. */
struct mpk_wrap_arg {
	const char *text;        /* the value that the function passes: a name, an expression,
				  * "none" */
	const char *declaration; /* type of the function's parameter of that name; NULL: it is not
				  * one */
	const char *title;       /* its name, else its number, for messages */
	const char *doubt;       /* a sentence for the reader of the manifest; NULL */
	struct mpk_dtype type;   /* its type in the kernel's table */
};

/* A kernel that is being described. */
struct mpk_wrap {
	const struct mpk_wrap_file *file;
	const struct mpk_wrap_options *how;
	const struct mpk_cubin *cubin;
	const struct mpk_cubin_kernel *kernel;
	const struct mpk_triton *triton;    /* NULL: not Triton's */
	const struct mpk_code_info *source; /* CUDA C++ that declares it; NULL */
	struct mpk_span ir;
	struct mpk_arena *arena;
	struct mpk_error *err;
	struct mpk_wrap_arg *args; /* as many arguments as the kernel takes */
	size_t given;              /* number of those that the launcher does not add */
};

/* mpk_wrap_read_notes - what lies beside the cubin: sets triton, ir and source
 * Returns  as mpk_wrap_manifest */
enum mpk_code mpk_wrap_read_notes(struct mpk_wrap *w) MPK_MUST_CHECK;

/* mpk_wrap_read_args - what the kernel takes, from a signature, the IR or a declaration, held to the cubin's sizes
 * Returns  as mpk_wrap_manifest */
enum mpk_code mpk_wrap_read_args(struct mpk_wrap *w) MPK_MUST_CHECK;

/* mpk_wrap_split - the items of a list between commas that are in no brackets, without blanks
 * @out     *count items in arena, views of text
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_wrap_split(const char *text, struct mpk_arena *arena, const struct mpk_span **out,
			     size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

#endif

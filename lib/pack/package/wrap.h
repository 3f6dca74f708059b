/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - a manifest that makes cubins callable, from what their compilers noted beside them
 *
 * `mpack init` of a cubin has only sizes of parameters, and asks. Here a compiler's notes say
 * how each kernel is launched and what it takes. Nothing is guessed: what no file says must be
 * given, or the error says what is missing. */
#ifndef MPK_PACKAGE_WRAP_H
#define MPK_PACKAGE_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

/* A cubin and the files beside it; missing ones are empty. Borrowed. */
struct mpk_wrap_file {
	const char *path; /* path for the manifest */
	struct mpk_span bytes;
	const char *meta_path;
	struct mpk_span meta; /* Triton's metadata or IR, or CUDA C++ that declares the kernels */
	struct mpk_span ir;   /* Triton's IR */
};

/* What the user gave, as texts; NULL: nothing. */
struct mpk_wrap_options {
	const char *name; /* name of the package; NULL: that of the first file */
	const char *
		signature; /* what the one kernel takes: items between commas, each a type of Triton's ("*fp32:16"),
				* a parameter of mpack.toml(5) ("a: in float16[M, K]"), or an expression of these ("M") */
	const char *grid, *block, *cluster; /* up to three expressions between commas */
	const char *shared;                 /* bytes, an expression */
	bool cooperative, programmatic;
};

/* mpk_wrap_manifest - append the manifest of a standalone package with a function for each kernel
 * Without a grid its extents are three more parameters of each function. Kernels of one name get numbers after the
 * names of their functions, in the order of the files.
 * @arena   scratch
 * Returns  MPK_OK; with the file in err: MPK_E_UNSUPPORTED: no cubin, a type or descriptor that no launch passes, a fact
 *          that nobody gave; MPK_E_CONFLICT: notes and cubin contradict each other, such as by the name of the kernel;
 *          MPK_E_SYNTAX, MPK_E_CORRUPT: a file or a text does not read; MPK_E_USAGE: options that the notes leave no
 *          room for; MPK_E_NOMEM */
enum mpk_code mpk_wrap_manifest(const struct mpk_wrap_file *files, size_t count,
				const struct mpk_wrap_options *how, struct mpk_arena *arena,
				struct mpk_strbuf *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

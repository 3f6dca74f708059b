/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - makes a manifest for cubins from the notes that their compilers wrote beside them
 *
 * A cubin alone tells only the sizes of parameters, so `mpack init` has to ask. The notes tell how
 * each kernel is launched and which arguments it takes. Nothing is guessed: facts that are in no
 * file must be given by the user, or the error names them. */
#ifndef MPK_PACKAGE_WRAP_H
#define MPK_PACKAGE_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

/* A cubin and the files beside it; missing files are empty. Borrowed. */
struct mpk_wrap_file {
	const char *path; /* path to write into the manifest */
	struct mpk_span bytes;
	const char *meta_path;
	struct mpk_span meta; /* Triton's metadata or IR, or CUDA C++ that declares the kernels */
	struct mpk_span ir;   /* Triton's IR */
};

/* Options of the user, as text; NULL if not given. */
struct mpk_wrap_options {
	const char *name;      /* name of the package; NULL: the name of the first file */
	const char *signature; /* the arguments of the only kernel, separated by commas. Each is a
			    * Triton type ("*fp32:16"), a parameter of mpack.toml(5) ("a: in
			    * float16[M, K]"), or an expression of these ("M") */
	const char *grid, *block, *cluster; /* up to three expressions between commas */
	const char *shared;                 /* expression for the number of bytes */
	bool cooperative, programmatic;
};

/* mpk_wrap_manifest - append the manifest of a standalone package with a function for each kernel
 * Without a grid, each function gets three more parameters for it. If kernels have the same name,
 * their functions' names get numbers, in the order of the files.
 * @arena   scratch memory
 * Returns  MPK_OK; with the file's name in err: MPK_E_UNSUPPORTED: not a cubin, a type or
 *          descriptor that a launch cannot pass, a fact that is missing; MPK_E_CONFLICT: notes and
 *          cubin contradict each other, such as in a kernel's name; MPK_E_SYNTAX, MPK_E_CORRUPT: an
 *          invalid file or text; MPK_E_USAGE: options that contradict the notes; MPK_E_NOMEM */
enum mpk_code mpk_wrap_manifest(const struct mpk_wrap_file *files, size_t count,
				const struct mpk_wrap_options *how, struct mpk_arena *arena,
				struct mpk_strbuf *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

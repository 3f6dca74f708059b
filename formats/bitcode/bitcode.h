/* SPDX-License-Identifier: Apache-2.0 */
/* bitcode.h - LLVM IR as bitcode: what it is for, who wrote it, and its functions (FORMAT.md)
 *
 * A reader of our own and not LLVM's: that one accepts what its own release and older ones wrote, makes a module of
 * all of it in memory, and is a library that most installations lack. Here bodies of functions are passed over by
 * their lengths, so that a library of 50 MB is listed in milliseconds, and any release's bitcode is read, NVVM's
 * dialect, too.
 */
#ifndef MPK_FORMATS_BITCODE_BITCODE_H
#define MPK_FORMATS_BITCODE_BITCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_bitcode_function {
	struct mpk_span name; /* its symbol; empty: it has none */
	bool is_kernel; /* the host starts it: by its calling convention, or by !nvvm.annotations */
	bool is_declared;    /* it has no body here */
	bool is_local;       /* internal or private: a linker does not see it */
	struct mpk_span cpu; /* its attribute "target-cpu"; empty: none */
};

struct mpk_bitcode {
	struct mpk_span producer; /* "LLVM19.1.7"; empty: from before LLVM 3.8 */
	struct mpk_span compiler; /* the first of !llvm.ident: "clang version 19.1.7" */
	struct mpk_span triple;   /* "nvptx64-nvidia-cuda"; empty: none */
	struct mpk_span layout;   /* the data layout */
	struct mpk_span source;   /* the name of its source; empty: none */
	/* The processor that the code is for, where all that name one name the same: "sm_90". */
	struct mpk_span cpu;
	bool has_cpus;                                /* they name several: cpu is empty */
	const struct mpk_bitcode_function *functions; /* in file order, declarations, too */
	size_t function_count;
	size_t defined_count, kernel_count; /* of these */
	size_t global_count;                /* variables, declared ones, too */
	size_t module_count;                /* more than 1: several in one file, as for ThinLTO */
	bool is_wrapped;                    /* in the wrapper of Darwin */
	uint64_t used;                      /* bytes up to the end of the last block */
};

/* mpk_bitcode_is - whether the bytes begin as bitcode or its wrapper does */
bool mpk_bitcode_is(struct mpk_span bytes);

/* mpk_bitcode_head - what is said before the first function: the lists are empty, used is 0
 * mpk_bitcode_read - all of struct mpk_bitcode; bodies of functions are not read
 * mpk_bitcode_verify - the same, and every block and record, bodies included, has to read
 * @bytes   possibly with more bytes after it; borrowed
 * @arena   receives lists and texts
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload": no bitcode, a wrapper or block that reaches beyond
 *          the end, a record or abbreviation that is none, a name outside of its table; MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_bitcode_head(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_bitcode *out, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_bitcode_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_bitcode *out, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_bitcode_verify(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_bitcode *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

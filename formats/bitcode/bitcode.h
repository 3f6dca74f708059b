/* SPDX-License-Identifier: Apache-2.0 */
/* bitcode.h - LLVM IR as bitcode: its target, the compiler that wrote it, and its functions
 * (FORMAT.md)
 *
 * LLVM's own reader is not used: it accepts only bitcode of its own release and older ones, builds
 * the whole module in memory, and is a library that most installations lack. This reader skips the
 * bodies of functions by their lengths, so that a library of 50 MB is listed in milliseconds, and
 * reads the bitcode of any release, also NVVM's dialect. */
#ifndef MPK_FORMATS_BITCODE_BITCODE_H
#define MPK_FORMATS_BITCODE_BITCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_bitcode_function {
	struct mpk_span name; /* symbol; empty: none */
	bool is_kernel;       /* the host launches it, according to its calling convention or
			 * !nvvm.annotations */
	bool is_declared;     /* it has no body in this module */
	bool is_local;        /* internal or private: linkers do not see it */
	struct mpk_span cpu;  /* attribute "target-cpu"; empty: none */
};

struct mpk_bitcode {
	struct mpk_span producer; /* "LLVM19.1.7"; empty: written before LLVM 3.8 */
	struct mpk_span compiler; /* first entry of !llvm.ident: "clang version 19.1.7" */
	struct mpk_span triple;   /* "nvptx64-nvidia-cuda"; empty: none */
	struct mpk_span layout;   /* the data layout */
	struct mpk_span source;   /* name of the source file; empty: none */
	/* The processor that the functions name, if all name the same: "sm_90". */
	struct mpk_span cpu;
	bool has_cpus;                                /* functions name different processors; cpu is
						       * empty */
	const struct mpk_bitcode_function *functions; /* in file order, with declarations */
	size_t function_count;
	size_t defined_count, kernel_count; /* number of definitions and of kernels among them */
	size_t global_count;                /* number of variables, with declared ones */
	size_t module_count; /* number of modules; several in one file as for ThinLTO */
	bool is_wrapped;     /* inside the wrapper of Darwin */
	uint64_t used;       /* bytes up to the end of the last block */
};

/* mpk_bitcode_is - whether the bytes begin with the magic number of bitcode or its wrapper */
bool mpk_bitcode_is(struct mpk_span bytes);

/* mpk_bitcode_head - read everything before the first function: the lists are empty, used is 0
 * mpk_bitcode_read - read all fields of struct mpk_bitcode; bodies of functions are skipped
 * mpk_bitcode_verify - as mpk_bitcode_read, and every block and record must read, bodies included
 * @bytes   more bytes may follow the bitcode; borrowed
 * @arena   receives lists and texts
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload": not bitcode, a wrapper or block that
 *          extends beyond the end, an invalid record or abbreviation, a name outside of its table;
 *          MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_bitcode_head(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_bitcode *out, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_bitcode_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_bitcode *out, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_bitcode_verify(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_bitcode *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.h - CUDA's assembly text: its target and the kernels that it defines (FORMAT.md)
 *
 * Declarations are read; instructions are only counted by kind. */
#ifndef MPK_FORMATS_PTX_PTX_H
#define MPK_FORMATS_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dwarf/dwarf.h"
#include "work/work.h"

struct mpk_ptx_param {
	struct mpk_span name;
	struct mpk_span type; /* "u64", "f32", "b8" */
	uint64_t bytes;       /* bytes of the whole parameter, including arrays and vectors */
	uint32_t align;       /* bytes */
	bool pointer;         /* has the attribute .ptr */
};

struct mpk_ptx_kernel {
	struct mpk_span name;
	const struct mpk_ptx_param *params;
	size_t param_count;
	uint32_t max_threads[3]; /* .maxntid; an omitted number is 1; zeros: not given */
	uint32_t block[3];       /* .reqntid; zeros: not given */
	uint32_t cluster[3];     /* .reqnctapercluster; zeros: not given */
	uint32_t min_blocks;     /* .minnctapersm; 0: not given */
	uint32_t max_registers;  /* .maxnreg; 0: not given */
	uint64_t registers;      /* number of virtual registers that its body declares, without
				  * predicates */
	uint64_t local_bytes;    /* bytes of .local variables that its body declares */
	bool has_body;           /* false: only a declaration */
	struct mpk_span text;    /* the definition, from .visible or .weak to its brace; empty
				  * without a body */
};

/* Stands for the index of a kernel in variables outside of all kernels, which any kernel may use. */
#define MPK_PTX_MODULE SIZE_MAX

struct mpk_ptx_shared {
	struct mpk_span name;
	uint64_t bytes; /* 0 if dynamic */
	uint32_t align; /* bytes */
	bool dynamic;   /* .extern: its size is given at launch */
	size_t kernel;  /* index of the kernel that declares it, or MPK_PTX_MODULE */
};

struct mpk_ptx {
	unsigned major, minor;                /* .version */
	unsigned sm;                          /* 90 for sm_90 */
	char suffix;                          /* 'a' or 'f', or NUL */
	unsigned address_bits;                /* 32 or 64 */
	bool debug;                           /* .target ..., debug */
	const struct mpk_ptx_kernel *kernels; /* .entry, in file order */
	size_t kernel_count;
	const struct mpk_ptx_shared *shared; /* in file order */
	size_t shared_count;
	const struct mpk_span *functions; /* names of .func, which no driver launches */
	size_t function_count;
};

/* mpk_ptx_is - whether the text begins with .version and a number, after comments */
bool mpk_ptx_is(struct mpk_span bytes);

/* mpk_ptx_read - read the declarations of a PTX text
 * @bytes   the text; NULs at its end do not count; borrowed
 * @arena   receives the lists; names are views of bytes
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column (a declaration that does not parse,
 *          no .version or .target, braces that do not match, an unfinished comment or
 *          string); MPK_E_CORRUPT with the offset in "payload" (a NUL inside the text);
 *          MPK_E_CONFLICT (two kernels of one name); MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_ptx_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_ptx *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_count_instructions - count the statements in a piece of PTX by kind
 * @piece   a kernel's text, or whole statements of a body
 * Returns  false: it has an unfinished comment or string
 * Format   FORMAT.md 5 */
bool mpk_ptx_count_instructions(struct mpk_span piece, struct mpk_work *out);

/* mpk_ptx_lines - the source lines of statements, according to .loc
 * @text    NULs at its end do not count
 * @arena   receives rows and names
 * @out     from and to are offsets in the text; sorted, not overlapping
 * Returns  MPK_OK, also with none; MPK_E_SYNTAX with line and column (unfinished comment or
 *          string); MPK_E_NOMEM
 * Format   FORMAT.md 6 */
enum mpk_code mpk_ptx_lines(struct mpk_span text, struct mpk_arena *arena,
			    const struct mpk_dwarf_row **out, size_t *count,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_read_head - read only .version and .target, which come first
 * @out     major, minor, sm and suffix are set, all else is zero
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column */
enum mpk_code mpk_ptx_read_head(struct mpk_span bytes, struct mpk_ptx *out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.h - CUDA machine code for one architecture (FORMAT.md)
 *
 * A cubin is an ELF file. Code is not interpreted: the figures are those that the assembler stored. */
#ifndef MPK_FORMATS_CUBIN_CUBIN_H
#define MPK_FORMATS_CUBIN_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "dwarf/dwarf.h"
#include "work/work.h"

struct mpk_cubin_param {
	uint32_t offset; /* bytes from the first parameter; valid up to 32 KiB */
	uint32_t bytes;
};

struct mpk_cubin_kernel {
	struct mpk_span name;
	uint64_t code_off; /* offset of the machine code in the file */
	uint64_t code_bytes;
	uint32_t registers;    /* registers of a thread; 0: not known */
	uint64_t shared_bytes; /* static shared memory of a block; as drivers count it, without the
			        * part that the system reserves from sm_90 on */
	bool has_stack;        /* false: the stack is not known, because of recursion or functions
			        * that are linked later */
	uint32_t stack_bytes;  /* stack of a thread, with spills and everything that it calls */
	uint64_t bank0_bytes;  /* constant bank 0: the values of the launch, and parameters */
	uint32_t barriers;
	uint32_t max_threads[3];              /* __launch_bounds__; zeros: not given */
	uint32_t block[3];                    /* required block size; zeros: any */
	uint32_t cluster[3];                  /* required cluster size in blocks; zeros: any */
	const struct mpk_cubin_param *params; /* in the order of the declaration */
	size_t param_count;
	uint32_t param_bytes; /* bytes of all parameters, padding included */
};

struct mpk_cubin {
	unsigned sm;          /* 90 for sm_90 */
	bool arch_specific;   /* sm_90a: runs on this architecture only */
	bool family_specific; /* sm_100f: set from the options in its note, because the code is that
			       * for sm_100 */
	unsigned abi;         /* ELF ABI version: 7 up to CUDA 12, 8 from CUDA 13 */
	bool relocatable;     /* made with -rdc=true: must be linked before it can be loaded */
	uint64_t constant_bytes; /* __constant__ variables */
	uint64_t global_bytes;   /* __device__ variables */
	struct mpk_span tool;    /* "Cuda compilation tools, release 13.0, V13.0.88"; may be
				   * empty */
	struct mpk_span options; /* the assembler's command line; may be empty */
	struct mpk_span
		debug_ptx; /* the PTX that it was made from, with a NUL after each line; empty:
			    * compiled without -lineinfo and -G */
	const struct mpk_cubin_kernel *kernels; /* in the order of the symbol table */
	size_t kernel_count;
};

/* mpk_cubin_is - whether the header is that of an ELF file for CUDA */
bool mpk_cubin_is(struct mpk_span bytes);

/* mpk_cubin_read - list the kernels of a cubin with their figures
 * @bytes   the whole file; borrowed
 * @arena   receives kernels and parameters; names are views of bytes
 * Returns  MPK_OK, also for a cubin without kernels;
 *          MPK_E_CORRUPT with the offset in "payload" (not a cubin, parts beyond the end,
 *          no symbol table, a kernel without code, broken attributes);
 *          MPK_E_UNSUPPORTED (32-bit or big-endian); MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 5 */
enum mpk_code mpk_cubin_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_cubin *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_read_head - read the facts about the whole file, without kernels
 * @out     sm, arch_specific, family_specific, abi, relocatable, tool and options are set, all else
 *          is zero
 * Returns  as mpk_cubin_read */
enum mpk_code mpk_cubin_read_head(struct mpk_span bytes, struct mpk_cubin *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* Number of instructions of a kernel that access local memory. */
struct mpk_cubin_local {
	uint32_t stores, loads; /* at fixed offsets in the stack, as for spilled registers */
	uint32_t computed;      /* loads and stores at other addresses, as for arrays */
};

/* mpk_cubin_local_accesses - count accesses to local memory
 * @code    machine code of a kernel, whole instructions
 * Returns  false: the instructions of an architecture before sm_70 are not known, or these are not
 *          instructions
 * Format   FORMAT.md 8 */
bool mpk_cubin_local_accesses(unsigned sm, struct mpk_span code, struct mpk_cubin_local *out);

/* mpk_cubin_count_instructions - count instructions by kind
 * @code    machine code of a kernel, whole instructions
 * Returns  false: the instructions of an architecture before sm_70 are not known, or these are not
 *          instructions
 * Format   FORMAT.md 9 */
bool mpk_cubin_count_instructions(unsigned sm, struct mpk_span code, struct mpk_work *out);

/* The scheduling of an instruction, which the compiler stores in the instruction from sm_70 on. */
struct mpk_cubin_control {
	uint8_t stall; /* cycles before the warp may issue its next instruction */
	bool yield;    /* another warp may issue an instruction in between */
	/* 0 to 5: the scoreboard barrier that is set until the result is written, or the operands are read;
	 * 7: none */
	uint8_t write, read;
	uint8_t wait;  /* bit i: waits until barrier i is clear */
	uint8_t reuse; /* bit i: operand i stays in the reuse cache */
};

/* mpk_cubin_control - read the scheduling of an instruction
 * @instruction  16 bytes of code for sm_70 or later
 * Format   FORMAT.md 10 */
struct mpk_cubin_control mpk_cubin_control(const uint8_t *instruction);

/* mpk_cubin_lines - the source lines of the machine code in a cubin
 * @bytes   the whole file; borrowed
 * @arena   receives rows and names
 * @out     from and to are offsets in the file, which distinguish the kernels; sorted by address
 * Returns  MPK_OK, also with none (compiled without -lineinfo and -G); MPK_E_CORRUPT;
 *          MPK_E_UNSUPPORTED; MPK_E_NOMEM
 * Format   FORMAT.md 11 */
enum mpk_code mpk_cubin_lines(struct mpk_span bytes, struct mpk_arena *arena,
			      const struct mpk_dwarf_row **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_code - the machine code in a section, ".text.add"
 * Returns  a view of bytes; empty: there is no such section, or it has no bytes */
struct mpk_span mpk_cubin_code(struct mpk_span bytes, struct mpk_span section);

/* A section in which two cubins differ. */
struct mpk_cubin_difference {
	struct mpk_span name; /* ".text.add", or "ELF header" */
	bool is_code; /* a driver uses it; false: debug information, a note or a table of names */
};

/* mpk_cubin_compare - the sections in which two cubins differ, with those that only one of them has
 * Symbols are compared, not their numbers.
 * @out     in arena, in the order of a, then of b; names are views
 * Returns  MPK_OK; as mpk_cubin_read */
enum mpk_code mpk_cubin_compare(struct mpk_span a, struct mpk_span b, struct mpk_arena *arena,
				const struct mpk_cubin_difference **out, size_t *count,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_strip - remove the debug sections of a cubin: .debug_*, .nv_debug_*, their relocations,
 * and the corresponding sections of the second form of code that cubins for sm_100 and later have
 * Kernels and everything else that is loaded stay unchanged; so do section numbers.
 * @bytes   the whole file; borrowed by out
 * @out     is appended to; unchanged if there is nothing to remove
 * @dropped receives the bytes of these sections
 * Returns  MPK_OK; MPK_E_CORRUPT: parts beyond the end, overlapping tables; MPK_E_UNSUPPORTED;
 *          MPK_E_NOMEM
 * Format   FORMAT.md 7 */
enum mpk_code mpk_cubin_strip(struct mpk_span bytes, struct mpk_rope *out, uint64_t *dropped,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif

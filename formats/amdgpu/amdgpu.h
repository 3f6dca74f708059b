/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.h - machine code for an AMD GPU: its target, and what its kernels need (FORMAT.md)
 *
 * The figures of kernels are those that the compiler stored in the metadata, which `llvm-readelf
 * --notes` prints. Of the instructions only their number of each kind is found. */
#ifndef MPK_FORMATS_AMDGPU_AMDGPU_H
#define MPK_FORMATS_AMDGPU_AMDGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_dwarf_row; /* dwarf/dwarf.h */
struct mpk_work;      /* work/work.h */

enum {
	MPK_AMDGPU_TARGET = 40,
	MPK_AMDGPU_EM = 224,
	MPK_AMDGPU_ABI_AT = 8, /* offset of e_ident[EI_ABIVERSION] */
};

struct mpk_amdgpu_arg {
	struct mpk_span name, type_name; /* as OpenCL C spells them; empty: not known */
	struct mpk_span value_kind;      /* "global_buffer", "by_value", "hidden_block_count_x" */
	struct mpk_span address_space;   /* "global"; empty: not a pointer */
	uint64_t offset, bytes;
	bool read_only; /* the kernel does not write the memory that it points to */
};

/* A number that is not in the metadata: not every compiler stores all of them. */
#define MPK_AMDGPU_UNTOLD UINT32_MAX
#define MPK_AMDGPU_UNTOLD_BYTES UINT64_MAX

struct mpk_amdgpu_kernel {
	struct mpk_span name, symbol; /* "saxpy"; the symbol of its descriptor, "saxpy.kd" */
	uint32_t sgprs, vgprs;        /* scalar registers of a wave, vector registers of a lane */
	uint32_t agprs;               /* accumulators among vgprs; 0: none */
	uint32_t sgpr_spills, vgpr_spills;
	uint64_t lds_bytes;     /* static LDS memory of a work group */
	uint64_t scratch_bytes; /* scratch memory of a lane, spills included */
	bool dynamic_stack;     /* calls need more scratch memory, of unknown size */
	uint64_t kernarg_bytes; /* bytes of all arguments, hidden ones included */
	uint32_t max_threads;   /* most work items of a work group; 0: not known */
	uint32_t block[3];      /* required size of a work group; zeros: any */
	uint32_t wavefront;     /* lanes of a wave, 32 or 64; 0: not known */
	bool wgp_mode; /* from gfx10 on: a work group may use both compute units of a work group processor */
	const struct mpk_amdgpu_arg *args; /* in the order of the declaration, then hidden ones */
	size_t arg_count;
	size_t visible_args;  /* number of arguments that a launch passes */
	struct mpk_span code; /* empty: no symbol gives its place */
};

struct mpk_amdgpu {
	char target[MPK_AMDGPU_TARGET]; /* "gfx90a", "gfx90a:sramecc+:xnack-", "gfx11-generic"; a
					 * number for an unknown processor */
	unsigned version;               /* version of the code object ABI, 2 to 6; 0: not known */
	bool has_metadata;              /* false: there is no list of kernels, as in version 2 */
	const struct mpk_amdgpu_kernel *kernels; /* in the order of the metadata */
	size_t kernel_count;
	bool shares_code; /* the kernels have more bytes of code together than the file */
	struct mpk_span
		printf_formats; /* list of format strings in the metadata, as MessagePack; may be
				 * empty */
};

/* mpk_amdgpu_is - whether the header is that of an ELF file for AMD GPUs */
bool mpk_amdgpu_is(struct mpk_span bytes);

/* mpk_amdgpu_read_head - read the target of a code object, from its first 64 bytes
 * @out     target and version are set, all else is zero
 * Returns  MPK_OK; MPK_E_CORRUPT: not a code object, or cut off */
enum mpk_code mpk_amdgpu_read_head(struct mpk_span bytes, struct mpk_amdgpu *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_amdgpu_read - list the kernels of a code object with their figures
 * @bytes   the whole file; borrowed
 * @arena   receives kernels and arguments; names are views of bytes
 * Returns  MPK_OK, also for one without metadata or kernels; MPK_E_CORRUPT with the offset in
 *          "payload" (no code object, parts beyond the end, broken metadata);
 *          MPK_E_UNSUPPORTED (32-bit or big-endian); MPK_E_NOMEM
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_amdgpu_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_amdgpu *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_amdgpu_count_instructions - count what the instructions in a part of a kernel's code do
 * @target  as in struct mpk_amdgpu
 * @code    whole instructions
 * Returns  true and sets *out; false: the instructions of this processor are not known (before gfx8;
 *          gfx12.5), an encoding is not, or the last instruction is cut off
 * Format   FORMAT.md 5 */
bool mpk_amdgpu_count_instructions(const char *target, struct mpk_span code, struct mpk_work *out);

/* mpk_amdgpu_lines - the source lines of the machine code of a linked code object
 * @arena   receives rows and names
 * @out     sorted; from and to are offsets in bytes
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_UNSUPPORTED; MPK_E_NOMEM
 * Format   FORMAT.md 6 */
enum mpk_code mpk_amdgpu_lines(struct mpk_span bytes, struct mpk_arena *arena,
			       const struct mpk_dwarf_row **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_amdgpu_processor - the name of known processor i, generic ones included; NULL: i is too large */
const char *mpk_amdgpu_processor(size_t i);

/* mpk_amdgpu_runs - whether code for a target runs on a device: the same processor, or a generic
 * one that covers it, and no feature that is on for one and off for the other
 * @target, @device   spelled as in struct mpk_amdgpu; a device without features has them on or off */
bool mpk_amdgpu_runs(const char *target, const char *device);

#endif

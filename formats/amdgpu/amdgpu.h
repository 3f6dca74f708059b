/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.h - machine code for an AMD GPU: for which, and what its kernels need (FORMAT.md)
 *
 * Nothing of the code is interpreted: the figures are those that the compiler noted beside it, as
 * `llvm-readelf --notes` prints them.
 */
#ifndef MPK_FORMATS_AMDGPU_AMDGPU_H
#define MPK_FORMATS_AMDGPU_AMDGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum { MPK_AMDGPU_TARGET = 40, MPK_AMDGPU_EM = 224 };

struct mpk_amdgpu_arg {
	struct mpk_span name, type_name; /* of OpenCL C; empty: not known */
	struct mpk_span value_kind;      /* "global_buffer", "by_value", "hidden_block_count_x" */
	struct mpk_span address_space;   /* "global"; empty: no pointer */
	uint64_t offset, bytes;
	bool read_only; /* the kernel does not write where it points to */
};

/* A number that the metadata do not have: not every compiler notes all of them. */
#define MPK_AMDGPU_UNTOLD UINT32_MAX
#define MPK_AMDGPU_UNTOLD_BYTES UINT64_MAX

struct mpk_amdgpu_kernel {
	struct mpk_span name, symbol; /* "saxpy", and of its descriptor "saxpy.kd" */
	uint32_t sgprs, vgprs;        /* registers of a wave and of a lane */
	uint32_t agprs;               /* among those of a lane; 0 also where there are none */
	uint32_t sgpr_spills, vgpr_spills;
	uint64_t lds_bytes;     /* static, of a work group */
	uint64_t scratch_bytes; /* of a lane, spills included */
	bool dynamic_stack;     /* and more, as calls need it */
	uint64_t kernarg_bytes; /* all arguments, hidden ones included */
	uint32_t max_threads;   /* of a work group; 0: not known */
	uint32_t block[3];      /* required size of a work group; zeros: any */
	uint32_t wavefront;     /* lanes: 32 or 64; 0: not known */
	bool wgp_mode; /* from gfx10 on: a work group may use both compute units of a work group processor */
	const struct mpk_amdgpu_arg *args; /* in the order of the declaration, then hidden ones */
	size_t arg_count;
	size_t visible_args;  /* those a launch passes */
	struct mpk_span code; /* empty: no symbol tells where it is */
};

struct mpk_amdgpu {
	char target[MPK_AMDGPU_TARGET]; /* "gfx90a", "gfx90a:sramecc+:xnack-", "gfx11-generic";
					 * a number for a processor that has no name here */
	unsigned version;               /* of the code object's ABI: 2 to 6; 0: not known */
	bool has_metadata;              /* false: the kernels are not listed, as in version 2 */
	const struct mpk_amdgpu_kernel *kernels; /* in the order of the metadata */
	size_t kernel_count;
	struct mpk_span
		printf_formats; /* the metadata's list of them, in MessagePack; may be empty */
};

/* mpk_amdgpu_is - whether the bytes begin as an ELF file for AMD GPUs does */
bool mpk_amdgpu_is(struct mpk_span bytes);

/* mpk_amdgpu_read_head - for which GPU a code object is, from its first 64 bytes
 * @out     target and version are filled, the rest is zero
 * Returns  MPK_OK; MPK_E_CORRUPT: no code object, or cut off */
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

/* mpk_amdgpu_processor - the names of all processors that are known, also generic ones, by an index; NULL: no more */
const char *mpk_amdgpu_processor(size_t i);

/* mpk_amdgpu_runs - whether code for one target runs on a device: the same processor, or a generic
 * one that is generic for it, and no feature that one has on and the other off
 * @target, @device   as above; a device without features is one of either sort */
bool mpk_amdgpu_runs(const char *target, const char *device);

#endif

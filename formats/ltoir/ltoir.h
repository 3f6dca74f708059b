/* SPDX-License-Identifier: Apache-2.0 */
/* ltoir.h - NVVM IR for link-time optimisation in the container that nvcc -dlto writes: .ltoir
 * files (FORMAT.md)
 *
 * The IR itself is masked, and only NVIDIA's linker reads it. The header gives its architecture,
 * and the LLVM version of its dialect. */
#ifndef MPK_FORMATS_LTOIR_LTOIR_H
#define MPK_FORMATS_LTOIR_LTOIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct mpk_ltoir {
	unsigned major, minor;             /* version of the container */
	unsigned ir_major, ir_minor;       /* version of NVVM IR */
	unsigned debug_major, debug_minor; /* version of its debug information */
	unsigned llvm_major, llvm_minor;   /* version of the LLVM that can read the bitcode */
	unsigned sm;                       /* 90 for compute_90 */
	bool arch_specific;                /* only for compute_90a */
	uint64_t ir_bytes;                 /* bytes after the header */
};

/* mpk_ltoir_is - whether the bytes begin with the magic number of such a container */
bool mpk_ltoir_is(struct mpk_span bytes);

/* mpk_ltoir_read - read the header
 * @bytes   the whole file; borrowed during the call only
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload": cut off, fields without an end or
 *          beyond the header, no architecture, nothing after the header
 * Format   FORMAT.md */
enum mpk_code mpk_ltoir_read(struct mpk_span bytes, struct mpk_ltoir *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif

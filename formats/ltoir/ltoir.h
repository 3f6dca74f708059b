/* SPDX-License-Identifier: Apache-2.0 */
/* ltoir.h - NVVM IR for link-time optimisation in the container of nvcc -dlto: .ltoir files (FORMAT.md)
 *
 * The IR itself is masked, and no tool but NVIDIA's linker reads it. Its header tells for which architecture it is, and
 * which LLVM its dialect is of.
 */
#ifndef MPK_FORMATS_LTOIR_LTOIR_H
#define MPK_FORMATS_LTOIR_LTOIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct mpk_ltoir {
	unsigned major, minor;             /* of the container */
	unsigned ir_major, ir_minor;       /* of NVVM IR */
	unsigned debug_major, debug_minor; /* of its debug information */
	unsigned llvm_major, llvm_minor;   /* whose bitcode it is */
	unsigned sm;                       /* 90 for compute_90 */
	bool arch_specific;                /* for compute_90a alone */
	uint64_t ir_bytes;                 /* of what follows the header */
};

/* mpk_ltoir_is - whether the bytes begin as such a container does */
bool mpk_ltoir_is(struct mpk_span bytes);

/* mpk_ltoir_read - the header
 * @bytes   all of it; borrowed only during the call
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload": cut off, fields without an end or beyond the header, no
 *          architecture, nothing after the header
 * Format   FORMAT.md */
enum mpk_code mpk_ltoir_read(struct mpk_span bytes, struct mpk_ltoir *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif

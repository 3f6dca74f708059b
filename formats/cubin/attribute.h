/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.h - the attribute lists of cubins: .nv.info, .nv.info.KERNEL, .nv.compat (FORMAT.md 4) */
#ifndef MPK_FORMATS_CUBIN_ATTRIBUTE_H
#define MPK_FORMATS_CUBIN_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/span.h"

/* Attributes that are read; the numbers are NVIDIA's. */
enum {
	MPK_CUBIN_MAX_THREADS = 0x05,    /* u32 x, y, z */
	MPK_CUBIN_COMPAT_CLASS = 0x09,   /* .nv.compat: 1 = this architecture only */
	MPK_CUBIN_PARAM_BANK = 0x0a,     /* u32 symbol, u16 offset, u16 bytes */
	MPK_CUBIN_REQUIRED_BLOCK = 0x10, /* u32 x, y, z */
	MPK_CUBIN_FRAME_BYTES = 0x11,    /* u32 symbol, u32 bytes */
	MPK_CUBIN_STACK_BYTES = 0x12,    /* u32 symbol, u32 bytes; all ones: nobody knows */
	MPK_CUBIN_PARAM = 0x17,          /* u32, u16 ordinal, u16 offset, u32 packed */
	MPK_CUBIN_PARAM_BYTES = 0x19,    /* u16 */
	MPK_CUBIN_REGISTERS = 0x2f,      /* u32 symbol, u32 count */
	MPK_CUBIN_CLUSTER = 0x3d,        /* u32 x, y, z */
	MPK_CUBIN_PARAM_V2 = 0x45,       /* u32, u16 ordinal, u16 offset, u16 bytes, u16 */
	MPK_CUBIN_BARRIERS = 0x4c,       /* u8 */
};

struct mpk_cubin_attribute {
	uint8_t id;
	uint16_t value;       /* of the short forms; 0 for lists */
	struct mpk_span data; /* of the long form, else empty */
	uint64_t off;         /* of the attribute in the payload */
};

/* mpk_cubin_attribute_next - the next attribute of a section; the cursor must not be at its end
 * Returns  MPK_OK; MPK_E_CORRUPT (cut off, or of an unknown form) */
enum mpk_code mpk_cubin_attribute_next(struct mpk_cursor *c, struct mpk_cubin_attribute *out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_attribute_need - MPK_E_CORRUPT unless data has at least n bytes */
enum mpk_code mpk_cubin_attribute_need(const struct mpk_cubin_attribute *a, size_t n,
				       struct mpk_error *err) MPK_MUST_CHECK;

#endif

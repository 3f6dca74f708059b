/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.h - element types as TVM writes them, and the names of DLPack's numbers (FORMAT.md) */
#ifndef MPK_FORMATS_DTYPE_DTYPE_H
#define MPK_FORMATS_DTYPE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "dtype/dlpack.h"

/* The same as DLDataType; also stored as these 4 bytes. */
struct mpk_dtype {
	uint8_t code;   /* enum mpk_dtype_code, or a later DLPack code */
	uint8_t bits;   /* bits of one lane */
	uint16_t lanes; /* 1 for scalars; a negative int16 is a scalable vector */
};

enum { MPK_DTYPE_TEXT = 40 }; /* bytes for any printed dtype with its NUL */

/* mpk_dtype_print - TVM's spelling: "float32", "handle", "int8x4", "bool", "void"
 * @out     MPK_DTYPE_TEXT bytes
 * Returns  out. Never fails: unknown codes print as "custom[CODE]BITS". */
const char *mpk_dtype_print(struct mpk_dtype t, char out[MPK_DTYPE_TEXT]);

/* mpk_dtype_print_short - print the short spelling: "f32", "bf16", "u8x4", "f8_e4m3fn"; a type
 * without one as mpk_dtype_print does
 * @out     MPK_DTYPE_TEXT bytes
 * Returns  out */
const char *mpk_dtype_print_short(struct mpk_dtype t, char out[MPK_DTYPE_TEXT]);

/* mpk_dl_device_name - the name of a device type, "cpu", "cuda", ..., for DLPack's number; NULL: no
 * module of TVM uses the number */
const char *mpk_dl_device_name(int64_t type);

/* mpk_dl_device_find - the number of a device type, by such a name
 * Returns  true and sets *out; false for other names */
bool mpk_dl_device_find(struct mpk_span name, int32_t *out);

/* mpk_dtype_parse - parse TVM's or NumPy's names ("float32", "bool", "handle", "bfloat16",
 * "float8_e4m3fn", "int32x4", "uint1") and short ones ("f32", "i64", "u8", "bf16", "f8_e5m2")
 * "bool" is {6, 8, 1}; "uint1" is the spelling of TVM up to 0.22.
 * Returns  true and sets *out; false: not a dtype */
bool mpk_dtype_parse(struct mpk_span text, struct mpk_dtype *out);

/* mpk_dtype_suggest - the type that a word means which is not the name of a type here
 * Knows words of C, CUDA, NumPy and PyTorch ("half", "double", "torch.float32", "int32_t").
 * Returns  the name of a type, static; NULL: none is near */
const char *mpk_dtype_suggest(struct mpk_span text);

/* mpk_dtype_bytes - bytes of one element: ceil(bits * lanes / 8); 0 for void */
size_t mpk_dtype_bytes(struct mpk_dtype t);

/* mpk_dtype_number_bytes - bytes that are reversed together when the byte order changes: those of a
 * lane, or of half a complex number; 1 if several elements share a byte */
size_t mpk_dtype_number_bytes(struct mpk_dtype t);

/* mpk_dtype_is_bool - {6,8}, or {uint,1} as TVM up to 0.22 wrote it */
bool mpk_dtype_is_bool(struct mpk_dtype t);

/* mpk_dtype_is_real - floating point of IEEE or bfloat of any width, but not a small float with a
 * name of its own */
bool mpk_dtype_is_real(struct mpk_dtype t);

/* mpk_dtype_equal - same code, bits and lanes */
bool mpk_dtype_equal(struct mpk_dtype a, struct mpk_dtype b);

/* mpk_dtype_read, mpk_dtype_write - the four bytes of a dtype: u8 code, u8 bits, u16 lanes,
 * little-endian
 * @what    name of the field in errors
 * Returns  MPK_OK; MPK_E_CORRUPT: too few bytes */
enum mpk_code mpk_dtype_read(struct mpk_cursor *c, const char *what, struct mpk_dtype *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_dtype_write(struct mpk_rope *r, struct mpk_dtype t);

/* The device that has a tensor's bytes; the same as DLDevice. */
struct mpk_dldevice {
	int32_t type; /* enum mpk_dl_device */
	int32_t id;
};

static inline bool mpk_dldevice_equal(struct mpk_dldevice a, struct mpk_dldevice b)
{
	return a.type == b.type && a.id == b.id;
}

/* mpk_dldevice_is_host - whether the CPU can read and write the memory */
static inline bool mpk_dldevice_is_host(struct mpk_dldevice d)
{
	return d.type == MPK_DL_CPU || d.type == MPK_DL_CUDA_HOST;
}

#endif

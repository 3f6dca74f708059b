/* SPDX-License-Identifier: Apache-2.0 */
/* ffi_data.h - values that hold no functions as cells of tvm-ffi, and back; for ffi.c */
#ifndef MPK_ABI_INTERNAL_FFI_DATA_H
#define MPK_ABI_INTERNAL_FFI_DATA_H

#include "abi/convention.h"

/* mpk_ffi_encode_data - a value that is neither function nor array, as an owned cell
 * Returns  as mpk_ffi_encode */
enum mpk_code mpk_ffi_encode_data(enum mpk_convention conv, const struct mpk_value *v,
				  struct mpk_ffi_any *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ffi_decode_data - a cell that holds neither function nor array, as a value
 * Returns  as mpk_ffi_decode */
enum mpk_code mpk_ffi_decode_data(enum mpk_convention conv, const struct mpk_ffi_any *any,
				  enum mpk_lifetime lifetime, struct mpk_value *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif

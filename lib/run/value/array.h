/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - what NumPy's files hold as tensors; for file.c and param_file.c */
#ifndef MPK_VALUE_ARRAY_H
#define MPK_VALUE_ARRAY_H

#include "base/error.h"
#include "base/rope.h"
#include "npy/npy.h"
#include "value/tensor.h"

/* Bytes from which on content is used where it lies in a file, if it is aligned as kernels want
 * it; smaller content is copied. */
enum { MPK_IN_PLACE_FROM = 1 << 16 };

/* mpk_array_settle - give opaque elements ("V2") the type that ml_dtypes means by them: bfloat16
 * Returns  MPK_OK, also for elements that say what they are; MPK_E_UNSUPPORTED: nobody knows */
enum mpk_code mpk_array_settle(struct mpk_npy *npy, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_array_put - append the elements of a compact host tensor as files have them: little-endian
 * @rope    borrows the tensor's memory where this machine has them so
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_array_put(const struct mpk_tensor *t, struct mpk_rope *rope,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_array_write - append an .npy file with a compact host tensor: header and elements
 * The lanes of vectors become the innermost dimension; elements of less than a byte get one each.
 * @rope    borrows the tensor's memory where elements need no change
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for a type NumPy and ml_dtypes do not have; MPK_E_NOMEM */
enum mpk_code mpk_array_write(const struct mpk_tensor *t, struct mpk_rope *rope,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_array_copy - a tensor with a copy of the elements, in the byte order of this machine
 * @npy     of packed elements, where the file is NumPy's (is_opaque), each has a byte
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE, MPK_E_NOMEM */
enum mpk_code mpk_array_copy(const struct mpk_npy *npy, struct mpk_tensor **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif

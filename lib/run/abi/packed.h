/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h - arguments in a convention's own layout, made once and passed as often as wanted
 *
 * A kernel of a model is called thousands of times with tensors that stay where they are: its
 * arguments are laid out beforehand and the call is the call alone. Tensors are passed as
 * DLTensor pointers, which compiled code of every release takes; nothing is counted or
 * allocated. Whatever an argument points to must stay until the last call.
 */
#ifndef MPK_ABI_PACKED_H
#define MPK_ABI_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "abi/internal/layout.h"
#include "base/error.h"
#include "blob/blob.h"
#include "value/value.h"

struct mpk_packed {
	enum mpk_convention conv;
	size_t count;
	struct mpk_ffi_any *cells;   /* tvm-ffi; else NULL */
	union mpk_tvm_value *values; /* legacy; else NULL */
	int *codes;                  /* of values */
};

/* mpk_packed_bytes - the memory that count arguments take, a multiple of 16 */
size_t mpk_packed_bytes(enum mpk_convention conv, size_t count);

/* mpk_packed_at - arguments, all null, in memory of mpk_packed_bytes bytes, aligned to 16 */
struct mpk_packed mpk_packed_at(enum mpk_convention conv, void *memory, size_t count);

/* mpk_packed_set_... - argument i, below count; pointers are borrowed */
void mpk_packed_set_tensor(const struct mpk_packed *p, size_t i, struct mpk_dltensor *t);
void mpk_packed_set_int(const struct mpk_packed *p, size_t i, int64_t value);
void mpk_packed_set_pointer(const struct mpk_packed *p, size_t i, void *pointer);

/* mpk_packed_set - a value of any kind that needs no object
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for shapes, arrays, functions, modules, storages, objects:
 *          those are passed by mpk_conv_call */
enum mpk_code mpk_packed_set(const struct mpk_packed *p, size_t i, const struct mpk_value *v,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_packed_call - call host code at an address with these arguments
 * @result  what it returned, owned; NULL: nothing is expected, a returned object is released
 * Returns  as mpk_conv_call */
enum mpk_code mpk_packed_call(const struct mpk_packed *p, void *address, struct mpk_value *result,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif

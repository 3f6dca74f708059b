/* SPDX-License-Identifier: Apache-2.0 */
/* ffi_object.h - heap objects with the exact layouts of tvm-ffi, 0.21's and the current
 * one
 *
 * Objects are made by us or by the module; either side may hold and drop either's. `conv`
 * is MPK_CONV_FFI or MPK_CONV_FFI021 and decides header and type indices.
 */
#ifndef MPK_ABI_FFI_OBJECT_H
#define MPK_ABI_FFI_OBJECT_H

#include "abi/internal/layout.h"
#include "base/error.h"
#include "blob/blob.h"

/* Type indices that the two number differently. */
struct mpk_ffi_types {
	int32_t array, map, shape, tensor;
	size_t header;  /* bytes before an object's cell */
	bool has_small; /* small strings and bytes */
};

/* mpk_ffi_types_of - the numbers of a convention; static storage */
const struct mpk_ffi_types *mpk_ffi_types_of(enum mpk_convention conv);

/* mpk_ffi_cell - what stands behind the header */
void *mpk_ffi_cell(enum mpk_convention conv, void *object);

/* mpk_ffi_object_type - the type index in an object's header */
int32_t mpk_ffi_object_type(enum mpk_convention conv, const void *object);

/* mpk_ffi_hold, mpk_ffi_drop - count strong references; the last drop runs the deleter */
void mpk_ffi_hold(enum mpk_convention conv, void *object);
void mpk_ffi_drop(enum mpk_convention conv, void *object);

/* mpk_ffi_any_drop - release what an owned cell holds and make it None */
void mpk_ffi_any_drop(enum mpk_convention conv, struct mpk_ffi_any *any);

/* The makers return an object with one strong reference, or NULL when memory is out. */
void *mpk_ffi_make_text(enum mpk_convention conv, int32_t type, struct mpk_span text);
void *mpk_ffi_make_shape(enum mpk_convention conv, const int64_t *extents, size_t ndim);
/* takes a reference of its own to the tensor */
void *mpk_ffi_make_tensor(enum mpk_convention conv, struct mpk_tensor *tensor);
/* target is borrowed: set it to NULL in the cell before it goes */
void *mpk_ffi_make_function(enum mpk_convention conv, mpk_ffi_safe_call *call,
			    struct mpk_function *target);
/* takes a reference of its own to the target */
void *mpk_ffi_make_held_function(enum mpk_convention conv, mpk_ffi_safe_call *call,
				 struct mpk_function *target);
/* A value that tvm-ffi has no layout for, or one whose layout is its own business: module code
 * carries it and gives it back. Takes a reference of its own. */
void *mpk_ffi_make_box(enum mpk_convention conv, int32_t type, const struct mpk_value *v);
void *mpk_ffi_make_error(enum mpk_convention conv, struct mpk_span kind, struct mpk_span message);

/* mpk_ffi_box_value - what mpk_ffi_make_box put into an object; NULL: another made it. Borrowed */
const struct mpk_value *mpk_ffi_box_value(enum mpk_convention conv, const void *object);

/* mpk_ffi_own_function - the function behind an object of mpk_ffi_make_(held_)function; NULL: another
 * made the object, or its function is gone. Borrowed */
struct mpk_function *mpk_ffi_own_function(enum mpk_convention conv, void *object);

#endif

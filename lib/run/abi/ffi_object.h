/* SPDX-License-Identifier: Apache-2.0 */
/* ffi_object.h - heap objects with the exact layouts of tvm-ffi, 0.21's and the current
 * one
 *
 * Objects are made by us or by the module; either side may hold and drop either's. `conv`
 * is MPK_CONV_FFI or MPK_CONV_FFI021 and decides header and type indices.
 */
#ifndef MPK_ABI_FFI_OBJECT_H
#define MPK_ABI_FFI_OBJECT_H

#include <stdbool.h>

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

/* mpk_ffi_cell - what follows the header */
void *mpk_ffi_cell(enum mpk_convention conv, void *object);

/* mpk_ffi_hold, mpk_ffi_drop - count strong references; the last drop runs the deleter */
void mpk_ffi_hold(enum mpk_convention conv, void *object);
void mpk_ffi_drop(enum mpk_convention conv, void *object);

/* mpk_ffi_any_drop - release what an owned cell holds and make it None */
void mpk_ffi_any_drop(enum mpk_convention conv, struct mpk_ffi_any *any);

typedef void mpk_ffi_delete_fn(void *self, int flags);
typedef void mpk_ffi021_delete_fn(void *self);

/* The makers return an object with one strong reference, or NULL when memory is out. */

/* mpk_ffi_make - an object with an empty cell of cell_bytes after its header */
void *mpk_ffi_make(enum mpk_convention conv, int32_t type, size_t cell_bytes);

/* mpk_ffi_make_box - a value that tvm-ffi has no layout for, or one whose layout is its own business:
 * module code carries it and gives it back. Takes a reference of its own.
 * mpk_ffi_box_value - what it put into an object; NULL: another made it. Borrowed */
void *mpk_ffi_make_box(enum mpk_convention conv, int32_t type, const struct mpk_value *v);
const struct mpk_value *mpk_ffi_box_value(enum mpk_convention conv, const void *object);

/* mpk_ffi_make_error - an error object with copies of both texts and an empty backtrace */
void *mpk_ffi_make_error(enum mpk_convention conv, struct mpk_span kind, struct mpk_span message);

/* mpk_ffi_set_deleter - what is called when the references of an object of ours are gone, in either
 * layout; at first the memory is freed
 * mpk_ffi_has_deleter - whether an object is one for which that was set */
void mpk_ffi_set_deleter(enum mpk_convention conv, void *object, mpk_ffi_delete_fn *current,
			 mpk_ffi021_delete_fn *old);
bool mpk_ffi_has_deleter(enum mpk_convention conv, const void *object, mpk_ffi_delete_fn *current,
			 mpk_ffi021_delete_fn *old);

#endif

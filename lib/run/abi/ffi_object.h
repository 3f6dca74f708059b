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
#include "base/span.h"
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
static inline void *mpk_ffi_cell(enum mpk_convention conv, void *object)
{
	return (char *)object + (conv == MPK_CONV_FFI021 ? sizeof(struct mpk_ffi021_object)
							 : sizeof(struct mpk_ffi_object));
}

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

/* What goes with an object of ours, of the layout from 0.22 on. */
struct mpk_ffi_attached {
	void *data;
	void (*release)(void *data); /* NULL: nothing */
};

/* The cells of mpk_ffi_make_box, from 0.22 on, and of mpk_ffi_make_view. */
struct mpk_ffi_box_cell {
	struct mpk_value value;
	struct mpk_ffi_attached attached;
};

struct mpk_ffi_view_cell {
	struct mpk_dltensor dl;
	struct mpk_storage *storage; /* held */
	struct mpk_ffi_attached attached;
	size_t room;       /* dimensions */
	int64_t extents[]; /* and strides */
};

/* mpk_ffi_function_name - the name of a function whose object was made here; NULL: another made it, or it is gone */
const char *mpk_ffi_function_name(enum mpk_convention conv, void *object);

/* mpk_ffi_is_only - whether who asks has the only reference to an object of that layout
 * mpk_ffi_lend - the second one, where that is so: nobody else can see the count
 * mpk_ffi_item_drop - as mpk_ffi_any_drop, in the thread that lends: where there are these two references and no
 * other, nobody else can see the count either */
static inline bool mpk_ffi_is_only(const void *object)
{
	const struct mpk_ffi_object *o = object;

	return (uint32_t)__atomic_load_n(&o->refs, __ATOMIC_ACQUIRE) == 1;
}

static inline void *mpk_ffi_lend(void *object)
{
	struct mpk_ffi_object *o = object;

	o->padding = MPK_FFI_KEPT;
	__atomic_store_n(&o->refs, o->refs + 1, __ATOMIC_RELAXED);
	return object;
}

static inline void mpk_ffi_item_drop(enum mpk_convention conv, struct mpk_ffi_any *any)
{
	struct mpk_ffi_object *o = any->type_index >= MPK_FFI_OBJECT ? any->v_ptr : NULL;
	uint64_t refs = conv == MPK_CONV_FFI && o && o->padding == MPK_FFI_KEPT
				? __atomic_load_n(&o->refs, __ATOMIC_ACQUIRE)
				: 0;

	if ((uint32_t)refs == 2)
		__atomic_store_n(&o->refs, refs - 1, __ATOMIC_RELAXED);
	else if (o)
		mpk_ffi_drop(conv, o);
	*any = (struct mpk_ffi_any){ 0 };
}

/* mpk_ffi_make_shape - a shape with a copy of the extents, which follow its cell; NULL: zeros */
void *mpk_ffi_make_shape(enum mpk_convention conv, const int64_t *extents, size_t ndim);

/* mpk_ffi_make_view - a compact tensor in a storage, in one block of memory; of the layout from 0.22 on
 * @storage  one more reference to it is taken
 * @like     type, ndim >= 0, shape and byte_offset of the tensor; the rest is not looked at
 * Returns   NULL also where mpk_tensor_view fails
 * mpk_ffi_change_view - make an object of mpk_ffi_make_view, to which nobody else has a reference, another tensor in its
 * storage; false: it has no room for so many dimensions, or as above
 * mpk_ffi_view_storage - the storage of an object that mpk_ffi_make_view made; NULL: it did not. Borrowed
 * mpk_ffi_storage_of - the storage of a tensor object of that layout that this program made; NULL: another
 * made it, or its memory is borrowed for a call. Borrowed */
void *mpk_ffi_make_view(struct mpk_storage *storage, const struct mpk_dltensor *like);
bool mpk_ffi_change_view(void *object, const struct mpk_dltensor *like);
struct mpk_storage *mpk_ffi_view_storage(const void *object);
struct mpk_storage *mpk_ffi_storage_of(const void *tensor);

/* mpk_ffi_set_deleter - what is called when the references of an object of ours are gone, in either
 * layout; at first the memory is freed
 * mpk_ffi_has_deleter - whether an object is one for which that was set */
void mpk_ffi_set_deleter(enum mpk_convention conv, void *object, mpk_ffi_delete_fn *current,
			 mpk_ffi021_delete_fn *old);
bool mpk_ffi_has_deleter(enum mpk_convention conv, const void *object, mpk_ffi_delete_fn *current,
			 mpk_ffi021_delete_fn *old);

/* --- the error that module code or one of our functions raised in this thread ---
 *
 * C code raises by leaving kind and message here and returning non-zero. When our own
 * function fails within a call (no device, say) its code is kept, so that the outermost
 * caller still sees what went wrong and not just that something did.
 */

enum { MPK_RAISED_KIND_MAX = 64 };

struct mpk_raised {
	bool is_set;
	enum mpk_code code;             /* MPK_E_RAISED, or what our function failed with */
	char kind[MPK_RAISED_KIND_MAX]; /* "ValueError" */
	char message[sizeof((struct mpk_error *)0)->text];
};

/* mpk_raised_get - this thread's; never NULL */
struct mpk_raised *mpk_raised_get(void);

/* mpk_raised_set - raise; over-long texts are cut */
void mpk_raised_set(enum mpk_code code, struct mpk_span kind, struct mpk_span message);

/* mpk_raised_set_error - raise what one of our functions failed with */
void mpk_raised_set_error(const struct mpk_error *error);

/* mpk_raised_take - turn what is raised into *err, "Kind: message", and clear it
 * Returns  its code; MPK_E_RAISED with a sentence saying so when nothing was left */
enum mpk_code mpk_raised_take(int status, struct mpk_error *err);

#endif

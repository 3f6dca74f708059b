/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/ffi_object.h"

#include <stdlib.h>
#include <string.h>

#include "value/function.h"

static const struct mpk_ffi_types types_current = {
	.array = MPK_FFI_ARRAY,
	.map = MPK_FFI_MAP,
	.shape = MPK_FFI_SHAPE,
	.tensor = MPK_FFI_TENSOR,
	.header = sizeof(struct mpk_ffi_object),
	.has_small = true,
};
static const struct mpk_ffi_types types_021 = {
	.array = MPK_FFI021_ARRAY,
	.map = MPK_FFI021_MAP,
	.shape = MPK_FFI021_SHAPE,
	.tensor = MPK_FFI021_TENSOR,
	.header = sizeof(struct mpk_ffi021_object),
	.has_small = false,
};

const struct mpk_ffi_types *mpk_ffi_types_of(enum mpk_convention conv)
{
	return conv == MPK_CONV_FFI021 ? &types_021 : &types_current;
}

void *mpk_ffi_cell(enum mpk_convention conv, void *object)
{
	return (char *)object + mpk_ffi_types_of(conv)->header;
}

int32_t mpk_ffi_object_type(enum mpk_convention conv, const void *object)
{
	if (conv == MPK_CONV_FFI021)
		return ((const struct mpk_ffi021_object *)object)->type_index;
	return ((const struct mpk_ffi_object *)object)->type_index;
}

void mpk_ffi_hold(enum mpk_convention conv, void *object)
{
	if (conv == MPK_CONV_FFI021)
		(void)__atomic_fetch_add(&((struct mpk_ffi021_object *)object)->refs, 1,
					 __ATOMIC_RELAXED);
	else
		(void)__atomic_fetch_add(&((struct mpk_ffi_object *)object)->refs, 1,
					 __ATOMIC_RELAXED);
}

#define WEAK_ONE (UINT64_C(1) << 32)
#define STRONG_OF(refs) ((refs) & (WEAK_ONE - 1))

static void drop_current(struct mpk_ffi_object *o)
{
	uint64_t before = __atomic_fetch_sub(&o->refs, 1, __ATOMIC_ACQ_REL);

	if (before == (WEAK_ONE | 1)) {
		if (o->deleter)
			o->deleter(o, MPK_FFI_DELETE_STRONG | MPK_FFI_DELETE_WEAK);
		return;
	}
	if (STRONG_OF(before) != 1)
		return;
	if (o->deleter)
		o->deleter(o, MPK_FFI_DELETE_STRONG);
	before = __atomic_fetch_sub(&o->refs, WEAK_ONE, __ATOMIC_ACQ_REL);
	if (before == WEAK_ONE && o->deleter)
		o->deleter(o, MPK_FFI_DELETE_WEAK);
}

void mpk_ffi_drop(enum mpk_convention conv, void *object)
{
	struct mpk_ffi021_object *old = object;

	if (!object)
		return;
	if (conv != MPK_CONV_FFI021)
		drop_current(object);
	else if (__atomic_fetch_sub(&old->refs, 1, __ATOMIC_ACQ_REL) == 1 && old->deleter)
		old->deleter(old);
}

void mpk_ffi_any_drop(enum mpk_convention conv, struct mpk_ffi_any *any)
{
	if (any->type_index >= MPK_FFI_OBJECT)
		mpk_ffi_drop(conv, any->v_ptr);
	*any = (struct mpk_ffi_any){ 0 };
}

/* --- making them -------------------------------------------------------------------- */

static void delete_plain(void *self, int flags)
{
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static void delete_plain_021(void *self)
{
	free(self);
}

/* The tensor itself is kept behind the DLTensor that the module sees. */
struct tensor_cell {
	struct mpk_dltensor dl;
	struct mpk_tensor *kept;
};

static void delete_tensor(void *self, int flags)
{
	struct tensor_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, self);

	if (flags & MPK_FFI_DELETE_STRONG)
		mpk_tensor_drop(cell->kept);
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static void delete_tensor_021(void *self)
{
	struct tensor_cell *cell = mpk_ffi_cell(MPK_CONV_FFI021, self);

	mpk_tensor_drop(cell->kept);
	free(self);
}

static void delete_box(void *self, int flags)
{
	if (flags & MPK_FFI_DELETE_STRONG)
		mpk_value_drop(mpk_ffi_cell(MPK_CONV_FFI, self));
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static void delete_box_021(void *self)
{
	mpk_value_drop(mpk_ffi_cell(MPK_CONV_FFI021, self));
	free(self);
}

/* Told by their deleter, which nobody else can have. */
static void delete_function(void *self, int flags)
{
	delete_plain(self, flags);
}

static void delete_function_021(void *self)
{
	delete_plain_021(self);
}

/* A function as a value: the object holds it. */
static void delete_held_function(void *self, int flags)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, self);

	if (flags & MPK_FFI_DELETE_STRONG)
		mpk_function_drop(cell->target);
	delete_plain(self, flags);
}

static void delete_held_function_021(void *self)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI021, self);

	mpk_function_drop(cell->target);
	delete_plain_021(self);
}

typedef void delete_fn(void *self, int flags);
typedef void delete021_fn(void *self);

static void set_deleter(enum mpk_convention conv, void *object, delete_fn *current,
			delete021_fn *old)
{
	if (conv == MPK_CONV_FFI021)
		((struct mpk_ffi021_object *)object)->deleter = old;
	else
		((struct mpk_ffi_object *)object)->deleter = current;
}

static bool has_deleter(enum mpk_convention conv, const void *object, delete_fn *current,
			delete021_fn *old)
{
	if (conv == MPK_CONV_FFI021)
		return ((const struct mpk_ffi021_object *)object)->deleter == old;
	return ((const struct mpk_ffi_object *)object)->deleter == current;
}

static void *make(enum mpk_convention conv, int32_t type, size_t cell_bytes)
{
	void *object = calloc(1, mpk_ffi_types_of(conv)->header + cell_bytes);

	if (!object)
		return NULL;
	if (conv == MPK_CONV_FFI021)
		*(struct mpk_ffi021_object *)object = (struct mpk_ffi021_object){
			.type_index = type,
			.refs = 1,
			.deleter = delete_plain_021,
		};
	else
		*(struct mpk_ffi_object *)object = (struct mpk_ffi_object){
			.refs = WEAK_ONE | 1,
			.type_index = type,
			.deleter = delete_plain,
		};
	return object;
}

void *mpk_ffi_make_text(enum mpk_convention conv, int32_t type, struct mpk_span text)
{
	struct mpk_ffi_text_cell *cell;
	void *object = make(conv, type, sizeof *cell + text.len + 1);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	if (text.len)
		memcpy(cell + 1, text.data, text.len);
	cell->data = (const char *)(cell + 1);
	cell->size = text.len;
	return object;
}

void *mpk_ffi_make_shape(enum mpk_convention conv, const int64_t *extents, size_t ndim)
{
	struct mpk_ffi_shape_cell *cell;
	void *object =
		make(conv, mpk_ffi_types_of(conv)->shape, sizeof *cell + ndim * sizeof extents[0]);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	if (ndim)
		memcpy(cell + 1, extents, ndim * sizeof extents[0]);
	cell->data = (const int64_t *)(const void *)(cell + 1);
	cell->size = ndim;
	return object;
}

void *mpk_ffi_make_tensor(enum mpk_convention conv, struct mpk_tensor *tensor)
{
	struct tensor_cell *cell;
	void *object = make(conv, mpk_ffi_types_of(conv)->tensor, sizeof *cell);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	cell->dl = tensor->dl;
	cell->kept = mpk_tensor_hold(tensor);
	set_deleter(conv, object, delete_tensor, delete_tensor_021);
	return object;
}

/* 0.21's cell has no cpp_call; ours stands behind, where nobody looks. */
void *mpk_ffi_make_function(enum mpk_convention conv, mpk_ffi_safe_call *call,
			    struct mpk_function *target)
{
	struct mpk_ffi_function_cell *cell;
	void *object = make(conv, MPK_FFI_FUNCTION, sizeof *cell);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	cell->safe_call = call;
	cell->target = target;
	set_deleter(conv, object, delete_function, delete_function_021);
	return object;
}

struct mpk_function *mpk_ffi_own_function(enum mpk_convention conv, void *object)
{
	const struct mpk_ffi_function_cell *cell = mpk_ffi_cell(conv, object);

	return has_deleter(conv, object, delete_function, delete_function_021) ||
			       has_deleter(conv, object, delete_held_function,
					   delete_held_function_021)
		       ? cell->target
		       : NULL;
}

void *mpk_ffi_make_held_function(enum mpk_convention conv, mpk_ffi_safe_call *call,
				 struct mpk_function *target)
{
	void *object = mpk_ffi_make_function(conv, call, target);

	if (!object)
		return NULL;
	(void)mpk_function_hold(target);
	set_deleter(conv, object, delete_held_function, delete_held_function_021);
	return object;
}

void *mpk_ffi_make_box(enum mpk_convention conv, int32_t type, const struct mpk_value *v)
{
	struct mpk_value *cell;
	void *object = make(conv, type, sizeof *cell);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	*cell = mpk_value_hold(*v);
	set_deleter(conv, object, delete_box, delete_box_021);
	return object;
}

const struct mpk_value *mpk_ffi_box_value(enum mpk_convention conv, const void *object)
{
	if (!has_deleter(conv, object, delete_box, delete_box_021))
		return NULL;
	return (const struct mpk_value *)((const char *)object + mpk_ffi_types_of(conv)->header);
}

static void keep_backtrace(void *self, const struct mpk_ffi_bytes *text, int32_t mode)
{
	/* C code has no frames worth showing; whoever appends some loses nothing else */
	(void)self;
	(void)text;
	(void)mode;
}

void *mpk_ffi_make_error(enum mpk_convention conv, struct mpk_span kind, struct mpk_span message)
{
	struct mpk_ffi_error_cell *cell;
	void *object = make(conv, MPK_FFI_ERROR, sizeof *cell + kind.len + message.len + 2);
	char *text;

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	text = (char *)(cell + 1);
	if (kind.len)
		memcpy(text, kind.data, kind.len);
	if (message.len)
		memcpy(text + kind.len + 1, message.data, message.len);
	cell->kind = (struct mpk_ffi_bytes){ text, kind.len };
	cell->message = (struct mpk_ffi_bytes){ text + kind.len + 1, message.len };
	cell->backtrace = (struct mpk_ffi_bytes){ text + kind.len, 0 };
	cell->update_backtrace = keep_backtrace;
	return object;
}

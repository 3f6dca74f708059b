/* SPDX-License-Identifier: Apache-2.0 */
/* ffi_object.c - objects of tvm-ffi: headers, counts of references, boxes, views; values that need none; what code of a
 * thread raised
 *
 * The layouts are those of tvm-ffi's C API (include/tvm/ffi/c_api.h) and of the object header of
 * 0.21, field by field: module code reads them without asking. Which of our objects an object is,
 * its deleter says, which nobody else can have.
 *
 * Module code raises by storing kind and message and returning non-zero. Both conventions store
 * into the same place here, so an error passes through calls of either. A real libtvm_ffi.so keeps
 * an error of its own, which then gets each raise too.
 */
#include "abi/ffi_object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/internal/data.h"
#include "text/escape.h"

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

/* TVM 0.21 numbered its objects differently and had no small strings; 0.22 and later agree. */
const struct mpk_ffi_types *mpk_ffi_types_of(enum mpk_convention conv)
{
	return conv == MPK_CONV_FFI021 ? &types_021 : &types_current;
}

/* Relaxed: who holds one reference already sees the object. */
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

/* The count of tvm-ffi: strong references in the low half, weak ones in the high half, and all
 * strong ones together hold one weak one. When the last strong and the only weak one go at once,
 * one call of the deleter does both. */
static void drop_current(struct mpk_ffi_object *o)
{
	uint64_t before = __atomic_load_n(&o->refs, __ATOMIC_ACQUIRE);

	/* nobody else has it, who could take or give a reference meanwhile */
	if (before != (WEAK_ONE | 1))
		before = __atomic_fetch_sub(&o->refs, 1, __ATOMIC_ACQ_REL);
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

/* Objects of 0.21 have strong references alone. */
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

/* Type indices below MPK_FFI_OBJECT are values in the cell itself. */
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

static void delete_box(void *self, int flags)
{
	struct mpk_ffi_box_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, self);

	if (flags & MPK_FFI_DELETE_STRONG) {
		if (cell->attached.release)
			cell->attached.release(cell->attached.data);
		mpk_value_drop(&cell->value);
	}
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static void delete_box_021(void *self)
{
	mpk_value_drop(mpk_ffi_cell(MPK_CONV_FFI021, self));
	free(self);
}

void mpk_ffi_set_deleter(enum mpk_convention conv, void *object, mpk_ffi_delete_fn *current,
			 mpk_ffi021_delete_fn *old)
{
	if (conv == MPK_CONV_FFI021)
		((struct mpk_ffi021_object *)object)->deleter = old;
	else
		((struct mpk_ffi_object *)object)->deleter = current;
}

bool mpk_ffi_has_deleter(enum mpk_convention conv, const void *object, mpk_ffi_delete_fn *current,
			 mpk_ffi021_delete_fn *old)
{
	if (conv == MPK_CONV_FFI021)
		return ((const struct mpk_ffi021_object *)object)->deleter == old;
	return ((const struct mpk_ffi_object *)object)->deleter == current;
}

/* Zeroed, as readers of a cell may look at members that only later releases set. */
void *mpk_ffi_make(enum mpk_convention conv, int32_t type, size_t cell_bytes)
{
	size_t bytes = mpk_ffi_types_of(conv)->header + cell_bytes;
	void *object = malloc(bytes); /* calloc takes nothing out of a thread's cache */

	if (!object)
		return NULL;
	memset(object, 0, bytes);
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

void *mpk_ffi_make_box(enum mpk_convention conv, int32_t type, const struct mpk_value *v)
{
	struct mpk_ffi_box_cell *cell;
	void *object = mpk_ffi_make(conv, type, sizeof *cell);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	cell->value = mpk_value_hold(*v);
	mpk_ffi_set_deleter(conv, object, delete_box, delete_box_021);
	return object;
}

const struct mpk_value *mpk_ffi_box_value(enum mpk_convention conv, const void *object)
{
	if (!mpk_ffi_has_deleter(conv, object, delete_box, delete_box_021))
		return NULL;
	return (const struct mpk_value *)((const char *)object + mpk_ffi_types_of(conv)->header);
}

/* --- views ------------------------------------------------------------------------------------ */

enum { VIEW_NDIM = 4 }; /* room that each has at least */

static void delete_view(void *self, int flags)
{
	struct mpk_ffi_view_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, self);

	if (flags & MPK_FFI_DELETE_STRONG) {
		if (cell->attached.release)
			cell->attached.release(cell->attached.data);
		mpk_storage_drop(cell->storage);
	}
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static bool fits(const struct mpk_storage *storage, const struct mpk_dltensor *t)
{
	uint64_t bytes;

	return mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &bytes, NULL) == MPK_OK &&
	       t->byte_offset <= storage->bytes && bytes <= storage->bytes - t->byte_offset;
}

/* Row-major strides, as mpk_tensor_view has them; a product that does not fit is not used. */
static void fill_view(struct mpk_ffi_view_cell *cell, const struct mpk_dltensor *like)
{
	int64_t stride = 1;

	cell->dl.dtype = like->dtype;
	cell->dl.ndim = like->ndim;
	cell->dl.byte_offset = like->byte_offset;
	cell->dl.strides = cell->extents + cell->room;
	for (int32_t i = like->ndim - 1; i >= 0; i--) {
		cell->dl.shape[i] = like->shape[i];
		cell->dl.strides[i] = stride;
		if (__builtin_mul_overflow(stride, like->shape[i], &stride))
			stride = 0;
	}
}

void *mpk_ffi_make_view(struct mpk_storage *storage, const struct mpk_dltensor *like)
{
	size_t room = like->ndim > VIEW_NDIM ? (size_t)like->ndim : VIEW_NDIM;
	struct mpk_ffi_view_cell *cell;
	void *object;

	if (!fits(storage, like))
		return NULL;
	object = mpk_ffi_make(MPK_CONV_FFI, MPK_FFI_TENSOR,
			      sizeof *cell + 2 * room * sizeof cell->extents[0]);
	if (!object)
		return NULL;
	cell = mpk_ffi_cell(MPK_CONV_FFI, object);
	cell->dl.device = storage->device;
	cell->dl.data = storage->data;
	cell->dl.shape = cell->extents;
	cell->room = room;
	cell->storage = mpk_storage_hold(storage);
	fill_view(cell, like);
	mpk_ffi_set_deleter(MPK_CONV_FFI, object, delete_view, NULL);
	return object;
}

bool mpk_ffi_change_view(void *object, const struct mpk_dltensor *like)
{
	struct mpk_ffi_view_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, object);

	if ((size_t)like->ndim > cell->room || !fits(cell->storage, like))
		return false;
	fill_view(cell, like);
	return true;
}

struct mpk_storage *mpk_ffi_view_storage(const void *object)
{
	const struct mpk_ffi_view_cell *cell =
		(const void *)((const char *)object + sizeof(struct mpk_ffi_object));

	return mpk_ffi_has_deleter(MPK_CONV_FFI, object, delete_view, NULL) ? cell->storage : NULL;
}

/* --- values of either convention ------------------------------------------------------------- */

/* Bits are the same in both families of conventions; only the number of the kind differs. */
bool mpk_plain_of(const struct mpk_value *v, struct mpk_plain *out)
{
	*out = (struct mpk_plain){ MPK_FFI_NONE, MPK_TVM_NULL, { .v_int64 = 0 } };
	switch (v->kind) {
	case MPK_VALUE_NONE:
		return true;
	case MPK_VALUE_BOOL:
		/* every legacy release takes an integer; the code for bool came with 0.18 */
		*out = (struct mpk_plain){ MPK_FFI_BOOL, MPK_TVM_INT, { .v_int64 = v->boolean } };
		return true;
	case MPK_VALUE_INT:
		*out = (struct mpk_plain){ MPK_FFI_INT, MPK_TVM_INT, { .v_int64 = v->integer } };
		return true;
	case MPK_VALUE_FLOAT:
		*out = (struct mpk_plain){ MPK_FFI_FLOAT, MPK_TVM_FLOAT, { .v_float64 = v->real } };
		return true;
	case MPK_VALUE_DTYPE:
		*out = (struct mpk_plain){ .ffi = MPK_FFI_DTYPE, .legacy = MPK_TVM_DTYPE };
		out->bits.v_type = v->dtype; /* four of eight bytes: the others stay zero */
		return true;
	case MPK_VALUE_DEVICE:
		*out = (struct mpk_plain){ MPK_FFI_DEVICE,
					   MPK_TVM_DEVICE,
					   { .v_device = v->device } };
		return true;
	case MPK_VALUE_OPAQUE:
		*out = (struct mpk_plain){ MPK_FFI_OPAQUE,
					   v->opaque ? MPK_TVM_HANDLE : MPK_TVM_NULL,
					   { .v_handle = v->opaque } };
		return true;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_TENSOR:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return false;
}

/* A view of the memory, in a storage or borrowed. */
static enum mpk_code wrap_dltensor(const struct mpk_dltensor *dl, struct mpk_storage *storage,
				   struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *t;

	if (!dl)
		return mpk_fail(err, MPK_E_RAISED, "a tensor at address 0");
	if (dl->ndim > 0 && !dl->shape)
		return mpk_fail(err, MPK_E_RAISED, "a tensor of %d dimensions has no shape",
				dl->ndim);
	MPK_TRY(mpk_tensor_wrap(dl, storage, &t, err));
	if (t->bytes && !dl->data && mpk_dldevice_is_host(dl->device)) {
		uint64_t bytes = t->bytes;

		mpk_tensor_drop(t);
		return mpk_fail(err, MPK_E_RAISED, "a tensor of %" PRIu64 " bytes has no data",
				bytes);
	}
	*out = t;
	return MPK_OK;
}

/* What nobody keeps is borrowed for the call as an argument, and copied while it is there as a result. */
enum mpk_code mpk_dltensor_decode(const struct mpk_dltensor *dl, struct mpk_storage *storage,
				  enum mpk_lifetime lifetime, struct mpk_value *out,
				  struct mpk_error *err)
{
	struct mpk_tensor *t, *copy;

	MPK_TRY(wrap_dltensor(dl, storage, &t, err));
	if (lifetime == MPK_LIFETIME_OWNED && mpk_dldevice_is_host(dl->device)) {
		enum mpk_code code = mpk_tensor_compact(t, &copy, err);

		mpk_tensor_drop(t);
		MPK_TRY(code);
		t = copy;
	}
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}

/* --- the error that code of this thread raised ------------------------------------------------ */

static _Thread_local struct mpk_raised raised;

/* A thread's own: parallel loops raise in the thread of each task. */
struct mpk_raised *mpk_raised_get(void)
{
	return &raised;
}

/* One for the process: libtvm_ffi.so has one registry and one error a thread. */
static const struct mpk_ffi_real *real;

void mpk_conv_use_real(const struct mpk_ffi_real *api)
{
	real = api;
}

const struct mpk_ffi_real *mpk_conv_real(void)
{
	return real;
}

/* Cut at the end: errors of TVM carry whole backtraces. */
static void copy_text(char *out, size_t size, struct mpk_span s)
{
	size_t n = s.len < size - 1 ? s.len : size - 1;

	if (n)
		memcpy(out, s.data, n);
	out[n] = '\0';
}

/* The real library gets the error too, as C++ code above us asks it and not us. */
void mpk_raised_set(enum mpk_code code, struct mpk_span kind, struct mpk_span message)
{
	raised.is_set = true;
	raised.code = code;
	copy_text(raised.kind, sizeof raised.kind, kind);
	copy_text(raised.message, sizeof raised.message, message);
	if (real)
		real->raise(raised.kind, raised.message);
}

/* A kind is a word of its own before the first colon, as in "ValueError: text"; a path or a
 * sentence is none. */
void mpk_raised_set_error(const struct mpk_error *error)
{
	const char *text = error->text;

	/* "Kind: message" of an error that was raised further in */
	if (error->code == MPK_E_RAISED) {
		const char *colon = strstr(text, ": ");
		size_t len = colon ? (size_t)(colon - text) : 0;

		if (len && len < MPK_RAISED_KIND_MAX && strcspn(text, " ") == len + 1) {
			mpk_raised_set(error->code, mpk_span_of(text, len),
				       mpk_span_str(colon + 2));
			return;
		}
	}
	mpk_raised_set(error->code, mpk_span_str("RuntimeError"), mpk_span_str(text));
}

/* An error of ours is one line; TVM breaks and indents its messages. */
static void join_lines(char *text)
{
	char *to = text;

	for (char *from = text; *from; from++) {
		if (*from != '\n') {
			*to++ = *from;
			continue;
		}
		from += strspn(from, " \t\n") - 1;
		if (from[1])
			*to++ = ' ';
	}
	*to = '\0';
}

enum mpk_code mpk_raised_take(int status, struct mpk_error *err)
{
	struct mpk_raised r = raised;
	char text[sizeof r.message];

	raised.is_set = false;
	if (!r.is_set)
		return mpk_fail(
			err, MPK_E_RAISED,
			"the function returned %d and stored no error, on which Python crashes: TVMFFIErrorSetRaisedFromCStr stores one (TVMAPISetLastError up to TVM 0.20)",
			status);
	join_lines(r.message);
	mpk_escape_to(mpk_span_str(r.message), text, sizeof text);
	if (r.code != MPK_E_RAISED)
		return mpk_fail(err, r.code, "%s", text);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s", MPK_QUOTE(mpk_span_str(r.kind)), text);
}

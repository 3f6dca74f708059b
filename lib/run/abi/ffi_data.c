/* SPDX-License-Identifier: Apache-2.0 */
/* ffi_data.c - numbers, texts, shapes, tensors and opaque objects as tvm-ffi lays them out
 *
 * A tensor of the module is not copied: ours is a view of the same memory and holds the
 * module's object.
 */
#include "abi/internal/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ffi_object.h"

/* --- objects of ours ------------------------------------------------------------------------- */

/* The module sees the DLTensor; the tensor that owns its memory follows it. */
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

static int32_t object_type(enum mpk_convention conv, const void *object)
{
	if (conv == MPK_CONV_FFI021)
		return ((const struct mpk_ffi021_object *)object)->type_index;
	return ((const struct mpk_ffi_object *)object)->type_index;
}

/* The bytes follow the cell, with a NUL that readers of C strings expect. */
static void *make_text_object(enum mpk_convention conv, int32_t type, struct mpk_span text)
{
	struct mpk_ffi_text_cell *cell;
	void *object = mpk_ffi_make(conv, type, sizeof *cell + text.len + 1);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	if (text.len)
		memcpy(cell + 1, text.data, text.len);
	cell->data = (const char *)(cell + 1);
	cell->size = text.len;
	return object;
}

/* The extents follow the cell; it is 16 bytes long, so they are aligned. */
void *mpk_ffi_make_shape(enum mpk_convention conv, const int64_t *extents, size_t ndim)
{
	struct mpk_ffi_shape_cell *cell;
	void *object = mpk_ffi_make(conv, mpk_ffi_types_of(conv)->shape,
				    sizeof *cell + ndim * sizeof extents[0]);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	if (extents && ndim)
		memcpy(cell + 1, extents, ndim * sizeof extents[0]);
	cell->data = (const int64_t *)(const void *)(cell + 1);
	cell->size = ndim;
	return object;
}

static void *make_tensor_object(enum mpk_convention conv, struct mpk_tensor *tensor)
{
	struct tensor_cell *cell;
	void *object = mpk_ffi_make(conv, mpk_ffi_types_of(conv)->tensor, sizeof *cell);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	cell->dl = tensor->dl;
	cell->kept = mpk_tensor_hold(tensor);
	mpk_ffi_set_deleter(conv, object, delete_tensor, delete_tensor_021);
	return object;
}

struct mpk_storage *mpk_ffi_storage_of(const void *tensor)
{
	const struct tensor_cell *cell =
		(const void *)((const char *)tensor + sizeof(struct mpk_ffi_object));

	if (mpk_ffi_has_deleter(MPK_CONV_FFI, tensor, delete_tensor, NULL))
		return cell->kept->storage;
	return mpk_ffi_view_storage(tensor);
}

/* --- values to cells ---------------------------------------------------------------- */

/* Texts of up to 7 bytes are in the cell itself from 0.22 on. */
static enum mpk_code encode_text(enum mpk_convention conv, const struct mpk_value *v,
				 struct mpk_ffi_any *out, struct mpk_error *err)
{
	bool is_bytes = v->kind == MPK_VALUE_BYTES;
	struct mpk_span text = mpk_value_text_span(v);

	*out = (struct mpk_ffi_any){ 0 };
	if (mpk_ffi_types_of(conv)->has_small && text.len <= MPK_FFI_SMALL_MAX) {
		out->type_index = is_bytes ? MPK_FFI_SMALL_BYTES : MPK_FFI_SMALL_STR;
		out->small_len = (uint32_t)text.len;
		memcpy(out->v_bytes, text.data, text.len);
		return MPK_OK;
	}
	out->type_index = is_bytes ? MPK_FFI_BYTES : MPK_FFI_STR;
	out->v_ptr = make_text_object(conv, out->type_index, text);
	return out->v_ptr ? MPK_OK : mpk_fail_nomem(err);
}

/* Takes the reference to the object over. */
static enum mpk_code give_object(int32_t type, void *object, struct mpk_ffi_any *out,
				 struct mpk_error *err)
{
	MPK_TRY_ALLOC(object, err);
	*out = (struct mpk_ffi_any){ .type_index = type, .v_ptr = object };
	return MPK_OK;
}

static enum mpk_code encode_object(enum mpk_convention conv, const struct mpk_value *v,
				   struct mpk_ffi_any *out, struct mpk_error *err)
{
	const struct mpk_ffi_types *types = mpk_ffi_types_of(conv);

	switch (v->kind) {
	case MPK_VALUE_SHAPE:
		return give_object(types->shape,
				   mpk_ffi_make_shape(conv, v->shape->extents, v->shape->ndim), out,
				   err);
	case MPK_VALUE_TENSOR:
		return give_object(types->tensor, make_tensor_object(conv, v->tensor), out, err);
	case MPK_VALUE_STORAGE:
		return give_object(MPK_FFI_STORAGE, mpk_ffi_make_box(conv, MPK_FFI_STORAGE, v), out,
				   err);
	case MPK_VALUE_MODULE:
		return give_object(MPK_FFI_MODULE, mpk_ffi_make_box(conv, MPK_FFI_MODULE, v), out,
				   err);
	case MPK_VALUE_OBJECT:
		if (!v->object->handle) /* of this program */
			return give_object(MPK_FFI_STATE, mpk_ffi_make_box(conv, MPK_FFI_STATE, v),
					   out, err);
		mpk_ffi_hold(conv, v->object->handle);
		return give_object(object_type(conv, v->object->handle), v->object->handle, out,
				   err);
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		return encode_text(conv, v, out, err);
	case MPK_VALUE_NONE:
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a value of type %s cannot be passed to this function",
			mpk_value_kind_name(v->kind));
}

enum mpk_code mpk_ffi_encode_data(enum mpk_convention conv, const struct mpk_value *v,
				  struct mpk_ffi_any *out, struct mpk_error *err)
{
	struct mpk_plain plain;

	if (!mpk_plain_of(v, &plain))
		return encode_object(conv, v, out, err);
	*out = mpk_plain_cell(&plain);
	return MPK_OK;
}

/* --- cells to values ---------------------------------------------------------------- */

/* An object of the module, kept alive by a value of ours. */
struct kept {
	struct mpk_object object;
	enum mpk_convention conv;
	char type[32];
};

static void release_kept(struct mpk_object *object)
{
	struct kept *k = (struct kept *)object;

	mpk_ffi_drop(k->conv, k->object.handle);
	free(k);
}

static void release_object(void *object)
{
	mpk_ffi_drop(MPK_CONV_FFI, object);
}

static void release_object_021(void *object)
{
	mpk_ffi_drop(MPK_CONV_FFI021, object);
}

static enum mpk_code decode_text(bool is_bytes, const void *data, size_t len, struct mpk_value *out,
				 struct mpk_error *err)
{
	return mpk_value_of_text(is_bytes ? MPK_VALUE_BYTES : MPK_VALUE_STR, mpk_span_of(data, len),
				 out, err);
}

/* Our own boxes are recognised first: they have type indices of other things. */
static enum mpk_code decode_object(enum mpk_convention conv, const struct mpk_ffi_any *any,
				   struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_ffi_types *types = mpk_ffi_types_of(conv);
	void *object = any->v_ptr;
	const struct mpk_value *boxed = mpk_ffi_box_value(conv, object);
	const struct mpk_ffi_text_cell *text = mpk_ffi_cell(conv, object);
	const struct mpk_ffi_shape_cell *shape = mpk_ffi_cell(conv, object);

	if (boxed) {
		*out = mpk_value_hold(*boxed);
		return MPK_OK;
	}
	if (any->type_index == MPK_FFI_STR || any->type_index == MPK_FFI_BYTES)
		return decode_text(any->type_index == MPK_FFI_BYTES, text->data, text->size, out,
				   err);
	if (any->type_index == types->shape)
		return mpk_value_of_shape(shape->data, shape->size, out, err);
	if (any->type_index == types->tensor) {
		/* A tensor object: a view of its memory, which knows how many hold it where it
		 * is one of ours, and holds the object of the module otherwise. */
		const struct mpk_dltensor *dl = mpk_ffi_cell(conv, object);
		struct mpk_storage *storage =
			conv == MPK_CONV_FFI ? mpk_ffi_storage_of(object) : NULL;

		if (storage)
			return mpk_dltensor_decode(dl, storage, MPK_LIFETIME_CALL, out, err);
		mpk_ffi_hold(conv, object);
		enum mpk_code code = mpk_storage_wrap(dl->data, UINT64_MAX, dl->device, object,
						      conv == MPK_CONV_FFI021 ? release_object_021
									      : release_object,
						      &storage, err);

		if (code != MPK_OK) {
			mpk_ffi_drop(conv, object);
			return code;
		}
		code = mpk_dltensor_decode(dl, storage, MPK_LIFETIME_CALL, out, err);
		mpk_storage_drop(storage);
		return code;
	}

	/* What nobody here understands is carried: module code may want it back. */
	struct kept *k = calloc(1, sizeof *k);

	MPK_TRY_ALLOC(k, err);
	atomic_init(&k->object.refs, 1);
	k->conv = conv;
	(void)snprintf(k->type, sizeof k->type, "object of type %d", object_type(conv, object));
	k->object.type = k->type;
	k->object.handle = object;
	k->object.release = release_kept;
	mpk_ffi_hold(conv, object);
	*out = (struct mpk_value){ .kind = MPK_VALUE_OBJECT, .object = &k->object };
	return MPK_OK;
}

/* The length comes from module code. */
static enum mpk_code decode_small(const struct mpk_ffi_any *any, struct mpk_value *out,
				  struct mpk_error *err)
{
	size_t len = any->small_len <= MPK_FFI_SMALL_MAX ? any->small_len : MPK_FFI_SMALL_MAX;

	return decode_text(any->type_index == MPK_FFI_SMALL_BYTES, any->v_bytes, len, out, err);
}

/* Type indices are those of TVMFFITypeIndex (tvm/ffi/c_api.h). */
enum mpk_code mpk_ffi_decode_data(enum mpk_convention conv, const struct mpk_ffi_any *any,
				  enum mpk_lifetime lifetime, struct mpk_value *out,
				  struct mpk_error *err)
{
	const struct mpk_ffi_bytes *bytes = any->v_ptr;
	struct mpk_value v = { 0 };

	switch (any->type_index) {
	case MPK_FFI_NONE:
		break;
	case MPK_FFI_INT:
		v = mpk_value_of_int(any->v_int64);
		break;
	case MPK_FFI_BOOL:
		v = mpk_value_of_bool(any->v_int64 != 0);
		break;
	case MPK_FFI_FLOAT:
		v = mpk_value_of_float(any->v_float64);
		break;
	case MPK_FFI_OPAQUE:
		v = mpk_value_of_opaque(any->v_ptr);
		break;
	case MPK_FFI_DTYPE:
		v = (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = any->v_dtype };
		break;
	case MPK_FFI_DEVICE:
		v = (struct mpk_value){ .kind = MPK_VALUE_DEVICE, .device = any->v_device };
		break;
	case MPK_FFI_DLTENSOR:
		return mpk_dltensor_decode(any->v_ptr, NULL, lifetime, out, err);
	case MPK_FFI_RAW_STR:
		return decode_text(false, any->v_c_str, strlen(any->v_c_str), out, err);
	case MPK_FFI_BYTE_ARRAY:
		return decode_text(true, bytes->data, bytes->size, out, err);
	case MPK_FFI_SMALL_STR:
	case MPK_FFI_SMALL_BYTES:
		return decode_small(any, out, err);
	default:
		if (any->type_index >= MPK_FFI_OBJECT && any->v_ptr)
			return decode_object(conv, any, out, err);
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a value of unknown type %d",
				any->type_index);
	}
	*out = v;
	return MPK_OK;
}

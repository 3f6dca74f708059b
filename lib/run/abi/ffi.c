/* SPDX-License-Identifier: Apache-2.0 */
/* ffi.c - calls in the convention of tvm-ffi, both ways: 16-byte tagged cells, reference-counted
 * objects
 *
 * A function may be called by either side, and an array is made by the real library where one is open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/internal/data.h"
#include "value/function.h"

/* --- Numbers, texts, shapes, tensors and opaque objects as tvm-ffi lays them out.
 *
 * A tensor of the module is not copied: ours is a view of the same memory and holds the module's
 * object.
 */

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

/* A value that is neither function nor array, as an owned cell
 * Returns  as mpk_ffi_encode */
static enum mpk_code ffi_encode_data(enum mpk_convention conv, const struct mpk_value *v,
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

/* A cell that holds neither function nor array, as a value
 * Returns  as mpk_ffi_decode
 *
 * Type indices are those of TVMFFITypeIndex (tvm/ffi/c_api.h).
 */
static enum mpk_code ffi_decode_data(enum mpk_convention conv, const struct mpk_ffi_any *any,
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

enum { ON_STACK = 24 }; /* a kernel launch has fewer arguments than that */

/* Calls a function of the real registry; *out is owned. */
static bool call_real(const char *name, const struct mpk_ffi_any *args, size_t count,
		      struct mpk_ffi_any *out)
{
	const struct mpk_ffi_real *real = mpk_conv_real();
	struct mpk_ffi_bytes key = { name, strlen(name) };
	void *function = NULL, *error = NULL;
	int rc = -1;

	*out = (struct mpk_ffi_any){ 0 };
	if (!real || real->get_global(&key, &function) != 0 || !function)
		return false;

	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, function);
	rc = cell->safe_call(function, args, (int32_t)count, out);
	mpk_ffi_drop(MPK_CONV_FFI, function);
	if (rc != 0) {
		real->move_raised(&error);
		mpk_ffi_drop(MPK_CONV_FFI, error);
	}
	return rc == 0;
}

static void drop_cells(enum mpk_convention conv, struct mpk_ffi_any *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mpk_ffi_any_drop(conv, &cells[i]);
	free(cells);
}

/* --- functions ---------------------------------------------------------------------- */

/* Told by their deleter, which nobody else can have. */
static void delete_function(void *self, int flags)
{
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static void delete_function_021(void *self)
{
	free(self);
}

/* A function as a value: the object holds it. */
static void delete_held_function(void *self, int flags)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, self);

	if (flags & MPK_FFI_DELETE_STRONG)
		mpk_function_drop(cell->target);
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static void delete_held_function_021(void *self)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI021, self);

	mpk_function_drop(cell->target);
	free(self);
}

/* 0.21's cell ends after safe_call. Ours is longer in both layouts, which nobody else reads. */
/* The target is borrowed: it is set to NULL in the cell before it goes. */
static void *make_function_object(enum mpk_convention conv, mpk_ffi_safe_call *call,
				  struct mpk_function *target)
{
	struct mpk_ffi_function_cell *cell;
	void *object = mpk_ffi_make(conv, MPK_FFI_FUNCTION, sizeof *cell);

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	cell->safe_call = call;
	cell->target = target;
	mpk_ffi_set_deleter(conv, object, delete_function, delete_function_021);
	return object;
}

/* The function of an object of the makers above; NULL: another made the object, or its function is
 * gone. Borrowed. */
static struct mpk_function *own_function(enum mpk_convention conv, void *object)
{
	const struct mpk_ffi_function_cell *cell = mpk_ffi_cell(conv, object);

	return mpk_ffi_has_deleter(conv, object, delete_function, delete_function_021) ||
			       mpk_ffi_has_deleter(conv, object, delete_held_function,
						   delete_held_function_021)
		       ? cell->target
		       : NULL;
}

const char *mpk_ffi_function_name(enum mpk_convention conv, void *object)
{
	const struct mpk_function *f = own_function(conv, object);

	return f ? f->name : NULL;
}

/* Takes a reference of its own to the target. */
static void *make_held_function(enum mpk_convention conv, mpk_ffi_safe_call *call,
				struct mpk_function *target)
{
	void *object = make_function_object(conv, call, target);

	if (!object)
		return NULL;
	(void)mpk_function_hold(target);
	mpk_ffi_set_deleter(conv, object, delete_held_function, delete_held_function_021);
	return object;
}

/* A function object of the module. */
struct foreign {
	struct mpk_function function;
	enum mpk_convention conv;
	void *object;
};

/* A function object that module code gave us, called like any other. */
static enum mpk_code call_foreign(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct foreign *f = (struct foreign *)self;
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(f->conv, f->object);
	struct mpk_ffi_code code = { f->conv, cell->safe_call, f->object };

	return mpk_ffi_call(&code, args, result, err);
}

static void destroy_foreign(struct mpk_function *self)
{
	struct foreign *f = (struct foreign *)self;

	mpk_ffi_drop(f->conv, f->object);
	free(f);
}

static mpk_ffi_safe_call enter_021;

static mpk_ffi_safe_call *code_of(enum mpk_convention conv, const struct mpk_function *f)
{
	if (conv == MPK_CONV_FFI021)
		return enter_021;
	return f->cells ? MPK_CODE(mpk_ffi_safe_call, f->cells) : mpk_ffi_enter;
}

static enum mpk_convention const layouts[2] = { MPK_CONV_FFI, MPK_CONV_FFI021 };

/* The module may hold a handle longer than the function lives. */
static void drop_handle(enum mpk_convention conv, void *handle)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(conv, handle);

	cell->target = NULL;
	mpk_ffi_drop(conv, handle);
}

static void drop_handles(struct mpk_function *f)
{
	for (int i = 0; i < 2; i++) {
		if (f->handles[i])
			drop_handle(layouts[i], f->handles[i]);
		f->handles[i] = NULL;
	}
}

/* Made at the first request and kept by the function, since module code stores handles for good. Two
 * threads may ask at once: the first one's is kept. */
void *mpk_conv_handle(enum mpk_convention conv, struct mpk_function *f)
{
	int i = conv == MPK_CONV_FFI021;
	void *handle, *kept = NULL;

	if (conv == MPK_CONV_LEGACY)
		return f;
	handle = __atomic_load_n(&f->handles[i], __ATOMIC_ACQUIRE);
	if (handle)
		return handle;
	handle = make_function_object(conv, code_of(conv, f), f);
	__atomic_store_n(&f->drop_handles, drop_handles, __ATOMIC_RELAXED);
	if (!handle || __atomic_compare_exchange_n(&f->handles[i], &kept, handle, false,
						   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return handle;
	drop_handle(conv, handle);
	return kept;
}

/* --- arrays --------------------------------------------------------------------------- */

/* --- any value ------------------------------------------------------------------------ */

/* Modules and storages are boxes that the real library would look into: it must not get them. */
enum mpk_code mpk_ffi_encode(enum mpk_convention conv, const struct mpk_value *v,
			     struct mpk_ffi_any *out, struct mpk_error *err)
{
	if (v->kind == MPK_VALUE_FUNCTION) {
		/* As a value the function lives as long as module code has the object; what
		 * module code looks up is borrowed (mpk_conv_handle). */
		struct mpk_function *f = v->function;
		void *object = make_held_function(conv, code_of(conv, f), f);

		MPK_TRY_ALLOC(object, err);
		*out = (struct mpk_ffi_any){ .type_index = MPK_FFI_FUNCTION, .v_ptr = object };
		return MPK_OK;
	}
	if (v->kind == MPK_VALUE_ARRAY) {
		/* How an array lies in memory is tvm-ffi's own business: where C++ code may look
		 * into it, the real library makes it; else it is ours to carry. */
		size_t count = v->array->count;
		struct mpk_ffi_any *cells;
		enum mpk_code code = MPK_OK;

		if (!mpk_conv_real()) {
			void *box = mpk_ffi_make_box(conv, mpk_ffi_types_of(conv)->array, v);

			MPK_TRY_ALLOC(box, err);
			*out = (struct mpk_ffi_any){ .type_index = mpk_ffi_types_of(conv)->array,
						     .v_ptr = box };
			return MPK_OK;
		}
		cells = calloc(count + 1, sizeof *cells);
		MPK_TRY_ALLOC(cells, err);
		for (size_t i = 0; i < count && code == MPK_OK; i++)
			code = mpk_ffi_encode(conv, &v->array->items[i], &cells[i], err);
		if (code == MPK_OK && !call_real("ffi.Array", cells, count, out))
			code = mpk_fail(err, MPK_E_UNSUPPORTED,
					"this libtvm_ffi.so makes no arrays");
		drop_cells(conv, cells, count);
		return code;
	}
	if ((v->kind == MPK_VALUE_MODULE || v->kind == MPK_VALUE_STORAGE ||
	     (v->kind == MPK_VALUE_OBJECT && !v->object->handle)) &&
	    mpk_conv_real())
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a %s of this program cannot be passed to C++ code of tvm-ffi",
				mpk_value_kind_name(v->kind));
	return ffi_encode_data(conv, v, out, err);
}

enum mpk_code mpk_ffi_decode(enum mpk_convention conv, const struct mpk_ffi_any *any,
			     enum mpk_lifetime lifetime, struct mpk_value *out,
			     struct mpk_error *err)
{
	if (any->type_index == MPK_FFI_FUNCTION && any->v_ptr) {
		/* A function that was ours comes back as itself, so that calling it does not
		 * cross the boundary twice. */
		void *object = any->v_ptr;
		struct mpk_function *own = own_function(conv, object);
		struct foreign *f;

		if (own) {
			*out = mpk_value_of_function(mpk_function_hold(own));
			return MPK_OK;
		}
		f = calloc(1, sizeof *f);
		MPK_TRY_ALLOC(f, err);
		atomic_init(&f->function.refs, 1);
		f->function.call = call_foreign;
		f->function.destroy = destroy_foreign;
		f->conv = conv;
		f->object = object;
		mpk_ffi_hold(conv, object);
		*out = mpk_value_of_function(&f->function);
		return MPK_OK;
	}
	if (any->type_index == mpk_ffi_types_of(conv)->array && any->v_ptr &&
	    !mpk_ffi_box_value(conv, any->v_ptr)) {
		/* Items are asked for through functions of the registry, which exist only with
		 * the real library. */
		struct mpk_ffi_any args[2] = { *any, { .type_index = MPK_FFI_INT } }, got;
		MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };

		if (!call_real("ffi.ArraySize", args, 1, &got) || got.v_int64 < 0)
			return ffi_decode_data(MPK_CONV_FFI, any, MPK_LIFETIME_OWNED, out, err);
		MPK_TRY(mpk_value_of_array((size_t)got.v_int64, &v, err));
		for (size_t i = 0; i < v.array->count; i++) {
			args[1].v_int64 = (int64_t)i;
			if (!call_real("ffi.ArrayGetItem", args, 2, &got))
				return mpk_fail(err, MPK_E_RAISED,
						"item %zu of an array is missing", i);

			enum mpk_code rc = mpk_ffi_decode(MPK_CONV_FFI, &got, MPK_LIFETIME_OWNED,
							  &v.array->items[i], err);
			mpk_ffi_any_drop(MPK_CONV_FFI, &got);
			MPK_TRY(rc);
		}
		*out = v;
		v = (struct mpk_value){ 0 };
		return MPK_OK;
	}
	return ffi_decode_data(conv, any, lifetime, out, err);
}

/* --- we call module code -------------------------------------------------------------- */

/* The error that the real library keeps becomes ours, unless it is one of ours anyway. */
static void fetch_real_error(void)
{
	const struct mpk_ffi_real *real = mpk_conv_real();
	struct mpk_raised *r = mpk_raised_get();
	void *object = NULL;

	if (real)
		real->move_raised(&object);
	if (!object)
		return;

	const struct mpk_ffi_error_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, object);
	struct mpk_span message = mpk_span_of(cell->message.data, cell->message.size);
	if (!r->is_set || !mpk_span_is(message, r->message)) {
		mpk_raised_set(MPK_E_RAISED, mpk_span_of(cell->kind.data, cell->kind.size),
			       message);
		mpk_ffi_drop(MPK_CONV_FFI, object);
		object = NULL;
		real->move_raised(&object); /* that raised it there again */
	}
	mpk_ffi_drop(MPK_CONV_FFI, object);
}

/* The raised error is cleared first: one that an earlier call left would be taken for this
 * one's. */
enum mpk_code mpk_ffi_call_cells(const struct mpk_ffi_code *code, const struct mpk_ffi_any *cells,
				 size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_ffi_any got = { 0 };

	mpk_raised_get()->is_set = false;

	int status = code->call(code->self, cells, (int32_t)count, &got);
	if (status) {
		fetch_real_error();
		return mpk_raised_take(status, err);
	}
	if (got.type_index == MPK_FFI_NONE)
		return MPK_OK;

	enum mpk_code rc = mpk_ffi_decode(code->conv, &got, MPK_LIFETIME_OWNED, result, err);
	mpk_ffi_any_drop(code->conv, &got);
	return rc;
}

/* Cells are owned for the time of the call; the callee takes references of its own. */
enum mpk_code mpk_ffi_call(const struct mpk_ffi_code *code, const struct mpk_args *args,
			   struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_ffi_any *cells;
	enum mpk_code rc = MPK_OK;

	if (args->count > MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%zu arguments; at most %d", args->count,
				MPK_ARGS_MAX);
	cells = calloc(args->count + 1, sizeof *cells);
	MPK_TRY_ALLOC(cells, err);
	for (size_t i = 0; i < args->count && rc == MPK_OK; i++) {
		rc = mpk_ffi_encode(code->conv, &args->values[i], &cells[i], err);
		if (rc != MPK_OK)
			mpk_error_prefix(err, "argument %zu: ", i);
	}
	if (rc == MPK_OK)
		rc = mpk_ffi_call_cells(code, cells, args->count, result, err);
	drop_cells(code->conv, cells, args->count);
	return rc;
}

/* --- module code calls us ------------------------------------------------------------- */

/* Kernels are launched with addresses and numbers. */
static enum mpk_code decode_argument(enum mpk_convention conv, const struct mpk_ffi_any *any,
				     struct mpk_value *out, struct mpk_error *err)
{
	if (any->type_index == MPK_FFI_OPAQUE)
		*out = mpk_value_of_opaque(any->v_ptr);
	else if (any->type_index == MPK_FFI_INT)
		*out = mpk_value_of_int(any->v_int64);
	else {
		*out = (struct mpk_value){ 0 };
		return mpk_ffi_decode(conv, any, MPK_LIFETIME_CALL, out, err);
	}
	return MPK_OK;
}

/* Arguments are borrowed from the caller, so tensors are views that end with the call.
 * @values  room for count; not set on entry */
static enum mpk_code call_values(enum mpk_convention conv, struct mpk_function *f,
				 const struct mpk_ffi_any *args, size_t count,
				 struct mpk_value *values, struct mpk_ffi_any *result,
				 struct mpk_error *err)
{
	struct mpk_value got = { 0 };
	enum mpk_code rc = MPK_OK;
	size_t made = 0;

	while (made < count && rc == MPK_OK) {
		rc = decode_argument(conv, &args[made], &values[made], err);
		made++;
	}
	if (rc == MPK_OK)
		rc = mpk_function_call(f, &(struct mpk_args){ values, NULL, count }, &got, err);
	while (made--)
		mpk_value_drop(&values[made]);
	if (rc == MPK_OK)
		rc = mpk_ffi_encode(conv, &got, result, err);
	mpk_value_drop(&got);
	return rc;
}

/* Host code that calls host code of its own convention goes straight on: its arguments need no
 * translation. */
static int ffi_enter(enum mpk_convention conv, void *handle, const struct mpk_ffi_any *args,
		     int32_t count, struct mpk_ffi_any *result)
{
	struct mpk_function *f = own_function(conv, handle);
	struct mpk_value small[ON_STACK], *values = small;
	struct mpk_error error;
	enum mpk_code rc;

	if (f && f->address && f->convention == conv)
		return MPK_CODE(mpk_ffi_safe_call, f->address)(NULL, args, count, result);
	if (f && count > ON_STACK && count <= MPK_ARGS_MAX)
		values = calloc((size_t)count, sizeof *values);
	if (!f)
		rc = mpk_fail(&error, MPK_E_RAISED, "the function's library was closed");
	else if (count < 0 || count > MPK_ARGS_MAX)
		rc = mpk_fail(&error, MPK_E_RAISED, "more arguments than a call may have");
	else if (!values)
		rc = mpk_fail_nomem(&error);
	else
		rc = call_values(conv, f, args, (size_t)count, values, result, &error);
	if (values != small)
		free(values);
	if (rc == MPK_OK)
		return 0;
	mpk_raised_set_error(&error);
	return -1;
}

int mpk_ffi_enter(void *handle, const struct mpk_ffi_any *args, int32_t count,
		  struct mpk_ffi_any *result)
{
	return ffi_enter(MPK_CONV_FFI, handle, args, count, result);
}

static int enter_021(void *handle, const struct mpk_ffi_any *args, int32_t count,
		     struct mpk_ffi_any *result)
{
	return ffi_enter(MPK_CONV_FFI021, handle, args, count, result);
}

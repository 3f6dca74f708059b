/* The calling convention of tvm-ffi: 16-byte tagged cells, reference-counted objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/raised.h"

static const struct mpk_ffi_real *real;

void mpk_conv_use_real(const struct mpk_ffi_real *api)
{
	real = api;
	mpk_raised_forward(api ? api->raise : NULL);
}

/* --- values to cells ---------------------------------------------------------------- */

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
	out->v_ptr = mpk_ffi_make_text(conv, out->type_index, text);
	return out->v_ptr ? MPK_OK : mpk_fail_nomem(err);
}

static enum mpk_code give_object(int32_t type, void *object, struct mpk_ffi_any *out,
				 struct mpk_error *err)
{
	if (!object)
		return mpk_fail_nomem(err);
	*out = (struct mpk_ffi_any){ .type_index = type, .v_ptr = object };
	return MPK_OK;
}

static enum mpk_code encode_function(enum mpk_convention conv, struct mpk_function *f,
				     struct mpk_ffi_any *out, struct mpk_error *err)
{
	void *handle = mpk_ffi_handle(conv, f);

	if (handle)
		mpk_ffi_hold(conv, handle);
	return give_object(MPK_FFI_FUNCTION, handle, out, err);
}

enum mpk_code mpk_ffi_encode(enum mpk_convention conv, const struct mpk_value *v,
			     struct mpk_ffi_any *out, struct mpk_error *err)
{
	const struct mpk_ffi_types *types = mpk_ffi_types_of(conv);
	struct mpk_ffi_any any = { 0 };

	switch (v->kind) {
	case MPK_VALUE_NONE:
		break;
	case MPK_VALUE_BOOL:
		any = (struct mpk_ffi_any){ .type_index = MPK_FFI_BOOL, .v_int64 = v->boolean };
		break;
	case MPK_VALUE_INT:
		any = (struct mpk_ffi_any){ .type_index = MPK_FFI_INT, .v_int64 = v->integer };
		break;
	case MPK_VALUE_FLOAT:
		any = (struct mpk_ffi_any){ .type_index = MPK_FFI_FLOAT, .v_float64 = v->real };
		break;
	case MPK_VALUE_DTYPE:
		any = (struct mpk_ffi_any){ .type_index = MPK_FFI_DTYPE, .v_dtype = v->dtype };
		break;
	case MPK_VALUE_DEVICE:
		any = (struct mpk_ffi_any){ .type_index = MPK_FFI_DEVICE, .v_device = v->device };
		break;
	case MPK_VALUE_OPAQUE:
		any = (struct mpk_ffi_any){ .type_index = MPK_FFI_OPAQUE, .v_ptr = v->opaque };
		break;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		return encode_text(conv, v, out, err);
	case MPK_VALUE_SHAPE:
		return give_object(types->shape,
				   mpk_ffi_make_shape(conv, v->shape->extents, v->shape->ndim), out,
				   err);
	case MPK_VALUE_TENSOR:
		return give_object(types->tensor, mpk_ffi_make_tensor(conv, v->tensor), out, err);
	case MPK_VALUE_FUNCTION:
		return encode_function(conv, v->function, out, err);
	case MPK_VALUE_OBJECT:
		mpk_ffi_hold(conv, v->object->handle);
		return give_object(mpk_ffi_object_type(conv, v->object->handle), v->object->handle,
				   out, err);
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_KIND_COUNT:
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a value of type %s cannot be passed to this function",
				mpk_value_kind_name(v->kind));
	}
	*out = any;
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

static enum mpk_code decode_object(enum mpk_convention conv, void *handle, struct mpk_value *out,
				   struct mpk_error *err)
{
	struct kept *k = calloc(1, sizeof *k);

	if (!k)
		return mpk_fail_nomem(err);
	atomic_init(&k->object.refs, 1);
	k->conv = conv;
	(void)snprintf(k->type, sizeof k->type, "object of type %d",
		       mpk_ffi_object_type(conv, handle));
	k->object.type = k->type;
	k->object.handle = handle;
	k->object.release = release_kept;
	mpk_ffi_hold(conv, handle);
	*out = (struct mpk_value){ .kind = MPK_VALUE_OBJECT, .object = &k->object };
	return MPK_OK;
}

static void release_tensor(struct mpk_tensor *t)
{
	enum mpk_convention conv = t->owner_bytes ? MPK_CONV_FFI021 : MPK_CONV_FFI;

	mpk_ffi_drop(conv, t->owner);
}

/* A tensor of the module: its data where it is, when compact; else a copy.
 * @object  keeps the data alive; NULL: only for the time of the call, so copy */
static enum mpk_code decode_tensor(enum mpk_convention conv, const struct mpk_dltensor *dl,
				   void *object, struct mpk_value *out, struct mpk_error *err)
{
	bool on_cpu = dl->device.type == MPK_DL_CPU || dl->device.type == MPK_DL_CUDA_HOST;
	bool in_place = mpk_dltensor_is_compact(dl) && (object || !on_cpu);
	struct mpk_tensor *t;

	if (dl->ndim < 0)
		return mpk_fail(err, MPK_E_RANGE, "a tensor of %d dimensions", dl->ndim);
	if (!in_place && !on_cpu)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor on a device whose rows are not contiguous");
	MPK_TRY(mpk_tensor_create(dl->dtype, dl->shape, (size_t)dl->ndim,
				  in_place ? MPK_TENSOR_NO_DATA : MPK_TENSOR_PRIVATE, &t, err));
	if (in_place) {
		t->dl.device = dl->device;
		t->dl.data = on_cpu && dl->data ? (char *)dl->data + dl->byte_offset : dl->data;
		t->dl.byte_offset = on_cpu ? 0 : dl->byte_offset;
	} else {
		mpk_tensor_copy_from(t, dl);
	}
	if (in_place && object) {
		mpk_ffi_hold(conv, object);
		t->owner = object;
		t->owner_bytes = conv == MPK_CONV_FFI021; /* says which layout */
		t->release = release_tensor;
	}
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}

static enum mpk_code decode_text(enum mpk_value_kind kind, const void *data, size_t len,
				 struct mpk_value *out, struct mpk_error *err)
{
	return mpk_value_of_text(kind, mpk_span_of(data, len), out, err);
}

/* A function object of the module. */
struct foreign {
	struct mpk_function function;
	enum mpk_convention conv;
	void *object;
};

static enum mpk_code call_foreign(struct mpk_function *self, const struct mpk_value *args,
				  size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct foreign *f = (struct foreign *)self;
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(f->conv, f->object);
	struct mpk_ffi_code code = { f->conv, cell->safe_call, f->object };

	return mpk_ffi_call(&code, args, count, result, err);
}

static void destroy_foreign(struct mpk_function *self)
{
	struct foreign *f = (struct foreign *)self;

	mpk_ffi_drop(f->conv, f->object);
	free(f);
}

static enum mpk_code decode_function(enum mpk_convention conv, void *object, struct mpk_value *out,
				     struct mpk_error *err)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(conv, object);
	struct foreign *f;

	/* one of ours comes back */
	if ((cell->safe_call == mpk_ffi_enter || cell->safe_call == mpk_ffi021_enter) &&
	    cell->target) {
		*out = (struct mpk_value){ .kind = MPK_VALUE_FUNCTION,
					   .function = mpk_function_hold(cell->target) };
		return MPK_OK;
	}
	f = calloc(1, sizeof *f);
	if (!f)
		return mpk_fail_nomem(err);
	atomic_init(&f->function.refs, 1);
	f->function.call = call_foreign;
	f->function.destroy = destroy_foreign;
	f->conv = conv;
	f->object = object;
	mpk_ffi_hold(conv, object);
	*out = (struct mpk_value){ .kind = MPK_VALUE_FUNCTION, .function = &f->function };
	return MPK_OK;
}

/* Calls a function of the real registry; *out is owned. */
static bool call_global(const char *name, const struct mpk_ffi_any *args, int32_t count,
			struct mpk_ffi_any *out)
{
	struct mpk_ffi_bytes key = { name, strlen(name) };
	void *function = NULL, *error = NULL;
	int rc = -1;

	*out = (struct mpk_ffi_any){ 0 };
	if (!real || real->get_global(&key, &function) != 0 || !function)
		return false;

	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, function);
	rc = cell->safe_call(function, args, count, out);
	mpk_ffi_drop(MPK_CONV_FFI, function);
	if (rc != 0) {
		real->move_raised(&error);
		mpk_ffi_drop(MPK_CONV_FFI, error);
	}
	return rc == 0;
}

/* How an array lies in memory is tvm-ffi's own business: it is asked. */
static enum mpk_code decode_array(const struct mpk_ffi_any *any, struct mpk_value *out,
				  struct mpk_error *err)
{
	struct mpk_ffi_any args[2] = { *any, { .type_index = MPK_FFI_INT } }, got;
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };

	if (!call_global("ffi.ArraySize", args, 1, &got) || got.v_int64 < 0)
		return decode_object(MPK_CONV_FFI, any->v_ptr, out, err);
	MPK_TRY(mpk_value_of_array((size_t)got.v_int64, &v, err));
	for (size_t i = 0; i < v.array->count; i++) {
		args[1].v_int64 = (int64_t)i;
		if (!call_global("ffi.ArrayGetItem", args, 2, &got))
			return mpk_fail(err, MPK_E_RAISED, "item %zu of an array is missing", i);

		enum mpk_code rc = mpk_ffi_decode(MPK_CONV_FFI, &got, &v.array->items[i], err);
		mpk_ffi_any_drop(MPK_CONV_FFI, &got);
		MPK_TRY(rc);
	}
	*out = v;
	v = (struct mpk_value){ 0 };
	return MPK_OK;
}

static enum mpk_code decode_heap(enum mpk_convention conv, const struct mpk_ffi_any *any,
				 struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_ffi_types *types = mpk_ffi_types_of(conv);
	void *object = any->v_ptr;
	const struct mpk_ffi_text_cell *text = mpk_ffi_cell(conv, object);
	const struct mpk_ffi_shape_cell *shape = mpk_ffi_cell(conv, object);

	if (any->type_index == MPK_FFI_STR || any->type_index == MPK_FFI_BYTES)
		return decode_text(any->type_index == MPK_FFI_STR ? MPK_VALUE_STR : MPK_VALUE_BYTES,
				   text->data, text->size, out, err);
	if (any->type_index == types->shape)
		return mpk_value_of_shape(shape->data, shape->size, out, err);
	if (any->type_index == types->tensor)
		return decode_tensor(conv, mpk_ffi_cell(conv, object), object, out, err);
	if (any->type_index == MPK_FFI_FUNCTION)
		return decode_function(conv, object, out, err);
	if (any->type_index == types->array)
		return decode_array(any, out, err);
	return decode_object(conv, object, out, err);
}

enum mpk_code mpk_ffi_decode(enum mpk_convention conv, const struct mpk_ffi_any *any,
			     struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_ffi_bytes *bytes = any->v_ptr;

	switch (any->type_index) {
	case MPK_FFI_NONE:
		*out = (struct mpk_value){ 0 };
		return MPK_OK;
	case MPK_FFI_INT:
		*out = mpk_value_of_int(any->v_int64);
		return MPK_OK;
	case MPK_FFI_BOOL:
		*out = mpk_value_of_bool(any->v_int64 != 0);
		return MPK_OK;
	case MPK_FFI_FLOAT:
		*out = mpk_value_of_float(any->v_float64);
		return MPK_OK;
	case MPK_FFI_OPAQUE:
		*out = mpk_value_of_opaque(any->v_ptr);
		return MPK_OK;
	case MPK_FFI_DTYPE:
		*out = (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = any->v_dtype };
		return MPK_OK;
	case MPK_FFI_DEVICE:
		*out = (struct mpk_value){ .kind = MPK_VALUE_DEVICE, .device = any->v_device };
		return MPK_OK;
	case MPK_FFI_DLTENSOR:
		return decode_tensor(conv, any->v_ptr, NULL, out, err);
	case MPK_FFI_RAW_STR:
		return decode_text(MPK_VALUE_STR, any->v_c_str, strlen(any->v_c_str), out, err);
	case MPK_FFI_BYTE_ARRAY:
		return decode_text(MPK_VALUE_BYTES, bytes->data, bytes->size, out, err);
	case MPK_FFI_SMALL_STR:
	case MPK_FFI_SMALL_BYTES:
		return decode_text(
			any->type_index == MPK_FFI_SMALL_STR ? MPK_VALUE_STR : MPK_VALUE_BYTES,
			any->v_bytes,
			any->small_len <= MPK_FFI_SMALL_MAX ? any->small_len : MPK_FFI_SMALL_MAX,
			out, err);
	default:
		if (any->type_index >= MPK_FFI_OBJECT && any->v_ptr)
			return decode_heap(conv, any, out, err);
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a value of unknown type %d",
				any->type_index);
	}
}

/* --- calling module code ------------------------------------------------------------ */

/* The error that the real library keeps becomes ours, unless it is one of ours anyway. */
static void fetch_real_error(void)
{
	struct mpk_raised *r = mpk_raised_get();
	void *object = NULL;

	if (!real)
		return;
	real->move_raised(&object);
	if (!object)
		return;

	const struct mpk_ffi_error_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, object);
	struct mpk_span message = mpk_span_of(cell->message.data, cell->message.size);
	if (!r->is_set || !mpk_span_is(message, r->message)) {
		mpk_raised_forward(NULL);
		mpk_raised_set(MPK_E_RAISED, mpk_span_of(cell->kind.data, cell->kind.size),
			       message);
		mpk_raised_forward(real->raise);
	}
	mpk_ffi_drop(MPK_CONV_FFI, object);
}

static void drop_cells(enum mpk_convention conv, struct mpk_ffi_any *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mpk_ffi_any_drop(conv, &cells[i]);
	free(cells);
}

static enum mpk_code call_cells(const struct mpk_ffi_code *code, const struct mpk_ffi_any *cells,
				size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_ffi_any got = { 0 };

	mpk_raised_get()->is_set = false;

	int status = code->call(code->self, cells, (int32_t)count, &got);
	if (status) {
		fetch_real_error();
		return mpk_raised_take(status, err);
	}

	enum mpk_code rc = mpk_ffi_decode(code->conv, &got, result, err);
	mpk_ffi_any_drop(code->conv, &got);
	return rc;
}

enum mpk_code mpk_ffi_call(const struct mpk_ffi_code *code, const struct mpk_value *args,
			   size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_ffi_any *cells;
	enum mpk_code rc = MPK_OK;

	if (count > MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%zu arguments; at most %d", count, MPK_ARGS_MAX);
	cells = calloc(count + 1, sizeof *cells);
	if (!cells)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < count && rc == MPK_OK; i++) {
		rc = mpk_ffi_encode(code->conv, &args[i], &cells[i], err);
		if (rc != MPK_OK)
			mpk_error_prefix(err, "argument %zu: ", i);
	}
	if (rc == MPK_OK)
		rc = call_cells(code, cells, count, result, err);
	drop_cells(code->conv, cells, count);
	return rc;
}

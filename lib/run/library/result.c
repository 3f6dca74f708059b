/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - results: tensors with memory of their own that callers keep as long as they like
 *
 * Executors give a caller storages that they do not touch while somebody holds them, and those are handed
 * on as they are. What a function returns of its inputs, of weights, or of memory that compiled code
 * keeps, is copied: a caller may write to his results.
 */
#include "library/internal/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/vec.h"

/* --- taking apart ----------------------------------------------------------------------------- */

/* @t       taken over, also on failure */
static enum mpk_code push(struct mpk_run_tensors *tensors, struct mpk_tensor *t,
			  struct mpk_error *err)
{
	if (!mpk_vec_reserve(&tensors->items, &tensors->cap, tensors->count + 1,
			     sizeof(struct mpk_tensor *))) {
		mpk_tensor_drop(t);
		return mpk_fail_nomem(err);
	}
	tensors->items[tensors->count++] = t;
	return MPK_OK;
}

/* @ndim    0: one element; 1: count of them */
static enum mpk_code push_elements(struct mpk_run_tensors *tensors, struct mpk_dtype dtype,
				   size_t ndim, struct mpk_span bytes, int64_t count,
				   struct mpk_error *err)
{
	struct mpk_tensor *t;

	MPK_TRY(mpk_tensor_create(dtype, &count, ndim, MPK_STORAGE_PRIVATE, &t, err));
	if (bytes.len)
		memcpy(mpk_dltensor_data(&t->dl), bytes.data, bytes.len);
	return push(tensors, t, err);
}

static enum mpk_code push_plain(struct mpk_run_tensors *tensors, const struct mpk_value *v,
				struct mpk_error *err)
{
	static const struct mpk_dtype int64 = { MPK_DTYPE_INT, 64, 1 },
				      float64 = { MPK_DTYPE_FLOAT, 64, 1 },
				      boolean = { MPK_DTYPE_BOOL, 8, 1 },
				      uint8 = { MPK_DTYPE_UINT, 8, 1 };
	const uint8_t bit = v->kind == MPK_VALUE_BOOL && v->boolean;
	struct mpk_span text;

	if (v->kind == MPK_VALUE_BOOL)
		return push_elements(tensors, boolean, 0, mpk_span_of(&bit, 1), 1, err);
	if (v->kind == MPK_VALUE_INT)
		return push_elements(tensors, int64, 0, mpk_span_of(&v->integer, 8), 1, err);
	if (v->kind == MPK_VALUE_FLOAT)
		return push_elements(tensors, float64, 0, mpk_span_of(&v->real, 8), 1, err);
	if (v->kind == MPK_VALUE_SHAPE)
		return push_elements(tensors, int64, 1,
				     mpk_span_of(v->shape->extents, 8 * v->shape->ndim),
				     (int64_t)v->shape->ndim, err);
	if (v->kind != MPK_VALUE_STR && v->kind != MPK_VALUE_BYTES)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a result is no tensor: %s",
				mpk_value_kind_name(v->kind));
	text = mpk_value_text_span(v);
	return push_elements(tensors, uint8, 1, text, (int64_t)text.len, err);
}

static enum mpk_code collect(struct mpk_run_tensors *tensors, const struct mpk_value *v,
			     unsigned depth, struct mpk_error *err)
{
	if (v->kind == MPK_VALUE_NONE)
		return MPK_OK;
	if (v->kind == MPK_VALUE_TENSOR)
		return push(tensors, mpk_tensor_hold(v->tensor), err);
	if (v->kind != MPK_VALUE_ARRAY)
		return push_plain(tensors, v, err);
	if (depth == MPK_RUN_NEST_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a result with more than %d tuples nested",
				MPK_RUN_NEST_MAX);
	for (size_t i = 0; i < v->array->count; i++)
		MPK_TRY(collect(tensors, &v->array->items[i], depth + 1, err));
	return MPK_OK;
}

enum mpk_code mpk_run_tensors_collect(struct mpk_run_tensors *tensors, const struct mpk_value *v,
				      struct mpk_error *err)
{
	return collect(tensors, v, 0, err);
}

void mpk_run_tensors_fini(struct mpk_run_tensors *tensors)
{
	for (size_t i = 0; i < tensors->count; i++)
		mpk_tensor_drop(tensors->items[i]);
	free(tensors->items);
}

/* --- memory of its own ------------------------------------------------------------------------ */

/* Whether any byte of a tensor may be one of an argument. What devices call their memory is an address, or the
 * same for the same memory. */
static bool lies_over(const struct mpk_tensor *t, const struct mpk_run_arg *args, size_t count)
{
	uintptr_t begin = (uintptr_t)mpk_dltensor_data(&t->dl);

	for (size_t i = 0; i < count; i++) {
		const struct mpk_tensor *arg = args[i].value.tensor;
		uintptr_t first;

		if (args[i].value.kind != MPK_VALUE_TENSOR || !t->bytes || !arg->bytes)
			continue;
		if (arg->storage && arg->storage == t->storage)
			return true;
		first = (uintptr_t)mpk_dltensor_data(&arg->dl);
		if (begin < first + arg->bytes && first < begin + t->bytes)
			return true;
	}
	return false;
}

/* A storage of an executor's is its caller's until he drops it. A tensor that others hold, too, is a weight, or
 * what compiled code keeps; so may be memory of another origin that others hold. */
static bool is_own(const struct mpk_tensor *t)
{
	if (!t->storage || !mpk_refs_is_only(&t->refs))
		return false;
	return mpk_allocator_owns(t->storage) || mpk_refs_is_only(&t->storage->refs);
}

static bool is_handed_on(const struct mpk_tensor *t, const struct mpk_run_arg *args, size_t count)
{
	bool aligned = !mpk_dldevice_is_host(t->dl.device) ||
		       (uintptr_t)mpk_dltensor_data(&t->dl) % MPK_STORAGE_ALIGN == 0;

	return is_own(t) && aligned && mpk_dltensor_is_compact(&t->dl) &&
	       !lies_over(t, args, count);
}

enum mpk_code mpk_run_settle(struct mpkr_model *model, struct mpk_error *err)
{
	return model->stream.is_set ? MPK_OK
				    : mpk_devices_sync(mpk_runtime_devices(model->runtime), err);
}

static enum mpk_code copy_on_device(struct mpkr_model *model, const struct mpk_tensor *t,
				    struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_runtime_devices(model->runtime);
	enum mpk_code code;

	if (!mpk_dltensor_is_compact(&t->dl))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a result is on a device and its rows are not contiguous");
	MPK_TRY(mpk_devices_empty(devices, t, t->dl.device, out, err));
	code = mpk_devices_copy(devices, &t->dl, &(*out)->dl, t->bytes, err);
	if (code == MPK_OK)
		code = mpk_run_settle(model, err);
	if (code != MPK_OK)
		mpk_tensor_drop(*out);
	return code;
}

enum mpk_code mpk_run_own(struct mpkr_model *model, struct mpk_tensor **tensor,
			  const struct mpk_run_arg *args, size_t count, struct mpk_dldevice home,
			  struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_runtime_devices(model->runtime);
	struct mpk_tensor *t = *tensor, *host, *own;
	bool to_host = mpk_dldevice_is_host(home), is_host = mpk_dldevice_is_host(t->dl.device);
	enum mpk_code code;

	if ((to_host ? is_host : mpk_dldevice_equal(home, t->dl.device)) &&
	    is_handed_on(t, args, count))
		return MPK_OK;
	if (!to_host && mpk_dldevice_equal(home, t->dl.device)) {
		MPK_TRY(copy_on_device(model, t, &own, err));
	} else {
		MPK_TRY(mpk_devices_copy_to_host(devices, &t->dl, &own, err));
		if (!to_host) {
			host = own;
			code = mpk_devices_send(devices, host, home, &own, err);
			mpk_tensor_drop(host);
			MPK_TRY(code);
		}
	}
	mpk_tensor_drop(t);
	*tensor = own;
	return MPK_OK;
}

/* A tuple is made anew: what the function returned may be kept by it. Tensors that nobody else holds are handed on.
 */
static enum mpk_code own_value_at(const struct mpk_run_call *c, struct mpk_value *v,
				  const struct mpk_dldevice *home, bool takes, unsigned depth,
				  struct mpk_value *out, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	*out = (struct mpk_value){ 0 };
	if (v->kind == MPK_VALUE_TENSOR) {
		struct mpk_tensor *t = takes ? v->tensor : mpk_tensor_hold(v->tensor);

		if (takes)
			*v = *out;
		code = mpk_run_own(c->f->model, &t, c->args, c->arg_count,
				   home ? *home : t->dl.device, err);
		if (code != MPK_OK)
			mpk_tensor_drop(t);
		else
			*out = mpk_value_of_tensor(t);
		return code;
	}
	/* a model that nests them deeper would overflow the stack */
	if (v->kind != MPK_VALUE_ARRAY || depth == MPK_RUN_NEST_MAX) {
		*out = mpk_value_hold(*v);
		return MPK_OK;
	}
	MPK_TRY(mpk_value_of_array(v->array->count, out, err));
	out->array->tag = v->array->tag;
	takes = takes && mpk_refs_is_only(&v->array->refs);
	for (size_t i = 0; i < v->array->count && code == MPK_OK; i++)
		code = own_value_at(c, &v->array->items[i], home, takes, depth + 1,
				    &out->array->items[i], err);
	if (code != MPK_OK)
		mpk_value_drop(out);
	return code;
}

enum mpk_code mpk_run_own_value(const struct mpk_run_call *c, struct mpk_value *v,
				const struct mpk_dldevice *home, bool takes, struct mpk_value *out,
				struct mpk_error *err)
{
	return own_value_at(c, v, home, takes, 0, out, err);
}

/* --- as a caller has it ----------------------------------------------------------------------- */

struct held_result {
	struct mpkr_result base;
	struct mpk_tensor *tensor;
	struct mpkr_model *model; /* the memory may be its runtime's */
};

_Static_assert(sizeof(struct mpkr_tensor) == sizeof(struct mpk_dltensor), "exactly DLTensor");

static void delete_result(struct mpkr_result *self)
{
	struct held_result *held = (struct held_result *)self;

	mpk_tensor_drop(held->tensor);
	mpk_run_model_drop(held->model);
	free(held);
}

/* Up to TVM 0.22 bool is called an integer of one bit. */
struct mpkr_dtype mpk_run_public_type(struct mpk_dtype t)
{
	if (mpk_dtype_is_bool(t))
		return (struct mpkr_dtype){ MPKR_DTYPE_BOOL, 8, t.lanes };
	return (struct mpkr_dtype){ t.code, t.bits, t.lanes };
}

struct mpkr_result *mpk_run_result(struct mpkr_model *model, struct mpk_tensor *tensor)
{
	struct held_result *held = calloc(1, sizeof *held);
	const struct mpk_dltensor *dl = &tensor->dl;

	if (!held)
		return NULL;
	held->tensor = tensor;
	held->model = mpk_run_model_hold(model);
	held->base = (struct mpkr_result){
		.version = { 1, 0 },
		.manager_ctx = held,
		.deleter = delete_result,
		.tensor = { .data = dl->data ? (char *)dl->data + dl->byte_offset : NULL,
			    .device = { dl->device.type, dl->device.id },
			    .ndim = dl->ndim,
			    .dtype = mpk_run_public_type(dl->dtype),
			    .shape = tensor->extents,
			    .strides = tensor->extents + dl->ndim },
	};
	return &held->base;
}

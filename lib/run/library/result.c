/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - tensors for callers: results, kinds of inputs and outputs, and values other than
 * tensors
 *
 * Results are tensors with their own memory, which callers may keep as long as they like. Executors
 * do not touch a storage as long as someone holds it, so such results are passed on without a copy.
 * If a function returns one of its inputs, a weight, or memory that compiled code keeps, the result
 * is a copy, since callers may write to results.
 */
#include "library/internal/library.h"

#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "base/lock.h"
#include "base/vec.h"
#include "value/element.h"

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

/* @ndim    0: a single element; 1: count elements */
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

/* Whether a tensor may share bytes with an argument. On devices, equal memory has equal or
 * comparable handles. */
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

/* Whether a result may be passed on. An executor's storage belongs to its holder until it is freed.
 * A tensor with other references is a weight or kept by compiled code. */
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

/* --- as a caller has it ----------------------------------------------------------------------- */

struct held_result {
	struct mpkr_result base;
	struct mpk_tensor *tensor;
	struct mpkr_model *model; /* held, since the memory may belong to its runtime */
};

_Static_assert(sizeof(struct mpkr_tensor) == sizeof(struct mpk_dltensor), "exactly DLTensor");

static void delete_result(struct mpkr_result *self)
{
	struct held_result *held = (struct held_result *)self;

	mpk_tensor_drop(held->tensor);
	mpk_run_model_drop(held->model);
	free(held);
}

/* Up to TVM 0.22 bool is an integer type of one bit. */
static struct mpkr_dtype public_type(struct mpk_dtype t)
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
			    .dtype = public_type(dl->dtype),
			    .shape = tensor->extents,
			    .strides = tensor->extents + dl->ndim },
	};
	return &held->base;
}

/* --- what inputs and outputs are to a caller, and what he says of them himself ----------------- */

static enum mpkr_kind public_kind(const struct mpk_type *type)
{
	switch (type->kind) {
	case MPK_TYPE_ANY:
	case MPK_TYPE_NAMED:
		break;
	case MPK_TYPE_TENSOR:
		return MPKR_KIND_TENSOR;
	case MPK_TYPE_SHAPE:
		return MPKR_KIND_SHAPE;
	case MPK_TYPE_SCALAR:
		return MPKR_KIND_NUMBER;
	case MPK_TYPE_STRING:
		return MPKR_KIND_TEXT;
	case MPK_TYPE_TUPLE:
	case MPK_TYPE_FUNCTION:
		return MPKR_KIND_OTHER;
	}
	return MPKR_KIND_ANY;
}

enum mpkr_kind mpk_run_kind(const struct mpkr_function *f, size_t i)
{
	enum mpkr_kind kind = i < f->input_count ? public_kind(f->inputs[i].type) : MPKR_KIND_ANY;

	if (kind == MPKR_KIND_ANY && i < f->expected_count)
		return (enum mpkr_kind)f->expected[i];
	return kind;
}

static void put_extents(const struct mpk_type *type, struct mpkr_type *out)
{
	if (!type->ranked || type->ndim > MPKR_RANK_MAX)
		return;
	out->ndim = (int32_t)type->ndim;
	for (size_t i = 0; i < type->ndim; i++)
		out->shape[i] = mpk_type_symbol(type, i).len ? -1 : type->shape[i];
}

static int describe(const struct mpk_run_leaf *leaf, enum mpkr_kind kind, struct mpkr_type *out)
{
	*out = (struct mpkr_type){
		.kind = kind,
		.name = leaf->name,
		.dtype = public_type(leaf->type->dtype),
		.ndim = -1,
	};
	put_extents(leaf->type, out);
	return MPKR_OK;
}

int mpkr_input(const mpkr_function *f, size_t i, struct mpkr_type *out)
{
	if (!f || !out || i >= f->input_count)
		return MPKR_E_NOT_FOUND;
	return describe(&f->inputs[i], mpk_run_kind(f, i), out);
}

int mpkr_output(const mpkr_function *f, size_t i, struct mpkr_type *out)
{
	if (!f || !out || i >= f->output_count)
		return MPKR_E_NOT_FOUND;
	return describe(&f->outputs[i], public_kind(f->outputs[i].type), out);
}

static enum mpk_code expect_kind(struct mpkr_function *f, size_t i, enum mpkr_kind kind,
				 struct mpk_error *err)
{
	uint8_t *grown;

	if ((unsigned)kind > MPKR_KIND_TEXT)
		return mpk_fail(err, MPK_E_USAGE, "a kind that no input can have: %d", (int)kind);
	if (i >= MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_USAGE, "input %zu: at most %d are passed", i,
				MPK_ARGS_MAX);
	if (i < f->input_count && public_kind(f->inputs[i].type) != MPKR_KIND_ANY) {
		if (kind == public_kind(f->inputs[i].type))
			return MPK_OK;
		return mpk_fail(err, MPK_E_USAGE, "the file says what input %zu is", i);
	}
	if (i >= f->expected_count) {
		grown = realloc(f->expected, i + 1);
		MPK_TRY_ALLOC(grown, err);
		memset(grown + f->expected_count, MPKR_KIND_ANY, i + 1 - f->expected_count);
		f->expected = grown;
		f->expected_count = i + 1;
	}
	f->expected[i] = (uint8_t)kind;
	return MPK_OK;
}

int mpkr_expect(mpkr_function *f, size_t i, enum mpkr_kind kind, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (!f)
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
	else if (expect_kind(f, i, kind, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}

/* --- whether it holds together ----------------------------------------------------------------- */

enum mpk_code mpk_run_check_tensor(const struct mpk_dltensor *t, const char *what, size_t i,
				   struct mpk_error *err)
{
	uint64_t bytes;
	struct mpk_error size;

	if (t->ndim < 0 || t->ndim > MPK_TENSOR_NDIM_MAX)
		return mpk_fail(err, MPK_E_USAGE,
				"%s %zu has %d dimensions; at most %d are possible", what, i,
				t->ndim, MPK_TENSOR_NDIM_MAX);
	if (t->ndim && !t->shape)
		return mpk_fail(err, MPK_E_USAGE, "%s %zu has no shape", what, i);
	if (!t->dtype.bits || !t->dtype.lanes)
		return mpk_fail(err, MPK_E_USAGE, "%s %zu has elements of no bits", what, i);
	if (mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &bytes, &size) != MPK_OK)
		return mpk_fail(err, MPK_E_USAGE, "%s %zu: %s", what, i, size.text);
	if (bytes && !t->data)
		return mpk_fail(err, MPK_E_USAGE, "%s %zu has no data", what, i);
	return MPK_OK;
}

enum mpk_code mpk_run_check_value(const struct mpkr_model *model, const struct mpkr_arg *arg,
				  size_t i, struct mpk_error *err)
{
	if (arg->tensor)
		return mpk_fail(err, MPK_E_USAGE, "input %zu is a tensor and a value", i);
	if (arg->value->model != model)
		return mpk_fail(err, MPK_E_USAGE, "input %zu is a value of another model", i);
	return MPK_OK;
}

/* --- numbers, shapes, texts ------------------------------------------------------------------- */

/* A batch of a language model passes the numbers of its sequences as one shape. */
enum { EXTENTS_MAX = 1 << 16 };

/* Values other than tensors are read on the host. */
static enum mpk_code host_elements(const struct mpk_dltensor *t, size_t i, const char *wanted,
				   struct mpk_tensor **out, struct mpk_error *err)
{
	if (!mpk_dldevice_is_host(t->device))
		return mpk_fail(err, MPK_E_USAGE, "input %zu is %s: it is passed in host memory", i,
				wanted);
	MPK_TRY(mpk_tensor_create(t->dtype, t->shape, (size_t)t->ndim, MPK_STORAGE_PRIVATE, out,
				  err));
	mpk_tensor_copy_from(*out, t);
	return MPK_OK;
}

static bool number_of(const struct mpk_tensor *t, struct mpk_value *out)
{
	struct mpk_element e;

	if (mpk_tensor_count(t) != 1)
		return false;
	e = mpk_element_load(t->dl.dtype, mpk_dltensor_data(&t->dl));
	switch (e.class) {
	case MPK_ELEMENT_BOOL:
		*out = mpk_value_of_bool(e.i != 0);
		return true;
	case MPK_ELEMENT_INT:
		*out = mpk_value_of_int(e.i);
		return true;
	case MPK_ELEMENT_UINT:
		*out = mpk_value_of_int((int64_t)e.u);
		return true;
	case MPK_ELEMENT_FLOAT:
		*out = mpk_value_of_float(e.f);
		return true;
	case MPK_ELEMENT_NONE:
		break;
	}
	return false;
}

static bool is_int64(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_INT && t.bits == 64 && t.lanes == 1;
}

static bool is_bytes(struct mpk_dtype t)
{
	return t.code <= MPK_DTYPE_UINT && t.bits == 8 && t.lanes == 1;
}

static enum mpk_code place_number(const struct mpk_dltensor *t, size_t i, struct mpk_value *out,
				  struct mpk_error *err)
{
	struct mpk_tensor *host;
	bool fits;

	MPK_TRY(host_elements(t, i, "a number", &host, err));
	fits = number_of(host, out);
	mpk_tensor_drop(host);
	if (!fits)
		return mpk_fail(err, MPK_E_USAGE,
				"input %zu is a number: it is passed as one integer, float or bool",
				i);
	return MPK_OK;
}

static enum mpk_code place_shape(const struct mpk_dltensor *t, size_t i, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_tensor *host;
	enum mpk_code code;

	if (t->ndim != 1 || !is_int64(t->dtype) || t->shape[0] > EXTENTS_MAX)
		return mpk_fail(
			err, MPK_E_USAGE,
			"input %zu is a shape: it is passed as int64 of one dimension, at most %d",
			i, EXTENTS_MAX);
	MPK_TRY(host_elements(t, i, "a shape", &host, err));
	code = mpk_value_of_shape(mpk_dltensor_data(&host->dl), (size_t)t->shape[0], out, err);
	mpk_tensor_drop(host);
	return code;
}

static enum mpk_code place_text(const struct mpk_dltensor *t, size_t i, struct mpk_value *out,
				struct mpk_error *err)
{
	struct mpk_tensor *host;
	enum mpk_code code;

	if (t->ndim != 1 || !is_bytes(t->dtype))
		return mpk_fail(err, MPK_E_USAGE,
				"input %zu is a text: it is passed as uint8 of one dimension", i);
	MPK_TRY(host_elements(t, i, "a text", &host, err));
	code = mpk_value_of_text(MPK_VALUE_STR, mpk_tensor_span(host), out, err);
	mpk_tensor_drop(host);
	return code;
}

enum mpk_code mpk_run_place_plain(enum mpkr_kind kind, const struct mpk_dltensor *t, size_t i,
				  struct mpk_value *out, struct mpk_error *err)
{
	if (kind == MPKR_KIND_NUMBER)
		return place_number(t, i, out, err);
	return (kind == MPKR_KIND_SHAPE ? place_shape : place_text)(t, i, out, err);
}

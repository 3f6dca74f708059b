/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - inputs: a caller's tensors or values, where the function wants them
 *
 * Compiled code takes for granted that host memory begins at a multiple of MPK_STORAGE_ALIGN and has no gaps.
 * What lies so is used where it lies, also by a function that writes to it. Everything else is copied; what a
 * function that is no model wrote to such a copy is brought back.
 */
#include "library/internal/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/machine.h"
#include "library/inspect.h"
#include "program/device_kind.h"
#include "runtime/devices.h"
#include "text/escape.h"
#include "value/element.h"

/* A batch of a language model passes the numbers of its sequences as one shape. */
enum { EXTENTS_MAX = 1 << 16 };

/* --- what a caller passes --------------------------------------------------------------------- */

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

/* What is no tensor to the function is read by the processor. */
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

/* --- numbers, shapes, texts ------------------------------------------------------------------- */

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

/* --- tensors ---------------------------------------------------------------------------------- */

static struct mpk_dldevice run_place_of(const struct mpkr_function *f, size_t i)
{
	const struct mpk_type *type = i < f->input_count ? f->inputs[i].type : NULL;

	if (type && type->kind == MPK_TYPE_TENSOR && type->device && type->device != f->where.type)
		return (struct mpk_dldevice){ .type = type->device };
	return f->where;
}

/* The caller's tensor as the code sees it: in memory of the CPU, also where that is pinned, and with no offset. */
static struct mpk_dltensor plain(const struct mpk_dltensor *t)
{
	struct mpk_dltensor dl = *t;

	if (mpk_dldevice_is_host(dl.device))
		dl.device = (struct mpk_dldevice){ MPK_DL_CPU, 0 };
	if (dl.data)
		dl.data = (char *)dl.data + dl.byte_offset;
	dl.byte_offset = 0;
	return dl;
}

static enum mpk_code place_on_host(const struct mpk_dltensor *t, struct mpk_run_arg *out,
				   struct mpk_error *err)
{
	const struct mpk_dltensor dl = plain(t);
	struct mpk_tensor *made;

	out->is_copy = (uintptr_t)dl.data % MPK_STORAGE_ALIGN != 0 || !mpk_dltensor_is_compact(&dl);
	if (out->is_copy)
		MPK_TRY(mpk_tensor_create(dl.dtype, dl.shape, (size_t)dl.ndim, MPK_STORAGE_PRIVATE,
					  &made, err));
	else
		MPK_TRY(mpk_tensor_wrap(&dl, NULL, &made, err));
	if (out->is_copy)
		mpk_tensor_copy_from(made, &dl);
	out->value = mpk_value_of_tensor(made);
	return MPK_OK;
}

enum mpk_code mpk_run_send(struct mpkr_model *model, struct mpk_tensor *tensor, const char *scope,
			   struct mpk_dldevice where, struct mpk_tensor **out,
			   struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_runtime_devices(model->runtime);

	if (scope && scope[0] && where.type != MPK_DL_CPU)
		return mpk_texture_send(devices, tensor, scope, where, out, err);
	return mpk_devices_send(devices, tensor, where, out, err);
}

static enum mpk_code send_to_device(const struct mpkr_function *f, const struct mpk_dltensor *t,
				    struct mpk_dldevice where, const char *scope,
				    struct mpk_run_arg *out, struct mpk_error *err)
{
	struct mpk_run_arg host = { 0 };
	struct mpk_tensor *sent;
	enum mpk_code code;

	MPK_TRY(place_on_host(t, &host, err));
	code = mpk_run_send(f->model, host.value.tensor, scope, where, &sent, err);
	mpk_value_drop(&host.value);
	MPK_TRY(code);
	out->is_copy = true;
	out->value = mpk_value_of_tensor(sent);
	return MPK_OK;
}

/* Memory of a device is used where it lies. OpenCL's belongs to a context that is not ours. */
static enum mpk_code place_device_memory(const struct mpk_dltensor *t, struct mpk_dldevice where,
					 size_t i, struct mpk_run_arg *out, struct mpk_error *err)
{
	const struct mpk_dltensor dl = plain(t);
	struct mpk_tensor *made;

	if (!mpk_run_has_addresses(t->device) || !mpk_dldevice_equal(t->device, where))
		return mpk_fail(
			err, MPK_E_USAGE,
			"input %zu is in memory of device %d of type %d; the function takes it in host memory%s%s",
			i, t->device.id, t->device.type,
			mpk_run_has_addresses(where) ? " or on another device of kind " : "",
			mpk_run_has_addresses(where)
				? mpk_device_kind_name(mpk_device_kind_from(where.type))
				: "");
	if (!mpk_dltensor_is_compact(&dl))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"input %zu is on a device and its rows are not contiguous", i);
	MPK_TRY(mpk_tensor_wrap(&dl, NULL, &made, err));
	out->value = mpk_value_of_tensor(made);
	return MPK_OK;
}

static enum mpk_code place_tensor(const struct mpkr_function *f, const struct mpk_dltensor *t,
				  size_t i, struct mpk_run_arg *out, struct mpk_error *err)
{
	const struct mpk_type *type = i < f->input_count ? f->inputs[i].type : NULL;
	struct mpk_dldevice where = run_place_of(f, i);

	if (!mpk_dldevice_is_host(t->device))
		return place_device_memory(t, where, i, out, err);
	if (mpk_dldevice_is_host(where))
		return place_on_host(t, out, err);
	return send_to_device(f, t, where, type ? type->scope : NULL, out, err);
}

static enum mpk_code place_passed_tensor(const struct mpkr_function *f,
					 const struct mpkr_tensor *in, size_t i,
					 struct mpk_run_arg *out, struct mpk_error *err)
{
	const struct mpk_dltensor *t = (const struct mpk_dltensor *)(const void *)in;
	enum mpkr_kind kind;

	if (!t)
		return MPK_OK;
	MPK_TRY(mpk_run_check_tensor(t, "input", i, err));
	out->from = t;
	kind = mpk_run_kind(f, i);
	if (kind >= MPKR_KIND_NUMBER && kind <= MPKR_KIND_TEXT)
		return mpk_run_place_plain(kind, t, i, &out->value, err);
	if (kind <= MPKR_KIND_TENSOR)
		return place_tensor(f, t, i, out, err);
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"input %zu is no tensor, and nothing that is passed as one", i);
}

/* --- passed -------------------------------------------------------------------------------------- */

/* A tensor of a value, where the function wants it. What was brought there is a copy. */
static enum mpk_code place_value_tensor(const struct mpkr_function *f, struct mpk_tensor *t,
					size_t i, struct mpk_run_arg *out, struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_runtime_devices(f->model->runtime);
	struct mpk_dldevice where = run_place_of(f, i);
	struct mpk_tensor *host, *placed;
	enum mpk_code code;

	out->from = &t->dl;
	if (mpk_dldevice_equal(t->dl.device, where)) {
		out->value = mpk_value_of_tensor(mpk_tensor_hold(t));
		return MPK_OK;
	}
	if (mpk_dldevice_is_host(t->dl.device))
		host = mpk_tensor_hold(t);
	else
		MPK_TRY(mpk_devices_copy_to_host(devices, &t->dl, &host, err));
	code = mpk_devices_send(devices, host, where, &placed, err);
	mpk_tensor_drop(host);
	MPK_TRY(code);
	out->is_copy = true;
	out->value = mpk_value_of_tensor(placed);
	return MPK_OK;
}

static enum mpk_code place_value(const struct mpkr_function *f, const struct mpkr_arg *in, size_t i,
				 struct mpk_run_arg *out, struct mpk_error *err)
{
	const struct mpk_value *v = &in->value->value;
	enum mpkr_kind kind = mpk_run_kind(f, i);

	MPK_TRY(mpk_run_check_value(f->model, in, i, err));
	if (v->kind != MPK_VALUE_TENSOR) {
		out->value = mpk_value_hold(*v);
		return MPK_OK;
	}
	if (kind >= MPKR_KIND_NUMBER && kind <= MPKR_KIND_TEXT)
		return mpk_run_place_plain(kind, &v->tensor->dl, i, &out->value, err);
	return place_value_tensor(f, v->tensor, i, out, err);
}

enum mpk_code mpk_run_place(const struct mpkr_function *f, const struct mpkr_arg *in, size_t i,
			    struct mpk_run_arg *out, struct mpk_error *err)
{
	return in->value ? place_value(f, in, i, out, err)
			 : place_passed_tensor(f, in->tensor, i, out, err);
}

/* --- back ------------------------------------------------------------------------------------- */

/* What is there now, as a compact host tensor. */
static enum mpk_code fetch_copy(const struct mpkr_function *f, struct mpk_tensor *t,
				struct mpk_tensor **out, struct mpk_error *err)
{
	if (mpk_dldevice_is_host(t->dl.device)) {
		*out = mpk_tensor_hold(t);
		return MPK_OK;
	}
	return mpk_devices_copy_to_host(mpk_runtime_devices(f->model->runtime), &t->dl, out, err);
}

static enum mpk_code write_if_changed(const struct mpk_tensor *now, const struct mpk_dltensor *to,
				      struct mpk_error *err)
{
	struct mpk_tensor *before;

	MPK_TRY(mpk_tensor_create(to->dtype, to->shape, (size_t)to->ndim, MPK_STORAGE_PRIVATE,
				  &before, err));
	mpk_tensor_copy_from(before, to);
	if (now->bytes && memcmp(mpk_dltensor_data(&now->dl), mpk_dltensor_data(&before->dl),
				 (size_t)now->bytes) != 0)
		mpk_tensor_copy_to(now, to);
	mpk_tensor_drop(before);
	return MPK_OK;
}

enum mpk_code mpk_run_write_back(const struct mpkr_function *f, const struct mpk_run_arg *arg,
				 struct mpk_error *err)
{
	struct mpk_tensor *now;
	enum mpk_code code;

	if (!arg->is_copy)
		return MPK_OK;
	MPK_TRY(fetch_copy(f, arg->value.tensor, &now, err));
	code = write_if_changed(now, arg->from, err);
	mpk_tensor_drop(now);
	return code;
}

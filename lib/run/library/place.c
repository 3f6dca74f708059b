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

struct mpk_dldevice mpk_run_place_of(const struct mpkr_function *f, size_t i)
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
	struct mpk_dldevice where = mpk_run_place_of(f, i);

	if (!mpk_dldevice_is_host(t->device))
		return place_device_memory(t, where, i, out, err);
	if (mpk_dldevice_is_host(where))
		return place_on_host(t, out, err);
	return send_to_device(f, t, where, type ? type->scope : NULL, out, err);
}

enum mpk_code mpk_run_place(const struct mpkr_function *f, const struct mpkr_tensor *in, size_t i,
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

/* --- calls with values instead of tensors, in steps (inspect.h) -----------------------------------
 *
 * One model may take inputs on the host and on a device, so each value is placed by itself: where the function asks for
 * it, else where the call says, else where the others are. */

/* --- what a model and its functions have ------------------------------------------------------ */

bool mpk_run_works(const mpkr_model *model)
{
	return mpk_devices_sync(mpk_runtime_devices(model->runtime), NULL) == MPK_OK;
}

struct mpk_devices *mpk_run_devices(mpkr_model *model)
{
	return mpk_runtime_devices(model->runtime);
}

void mpk_run_observe(mpkr_model *model, struct mpk_observer *first)
{
	mpk_runtime_set_observers(model->runtime, first);
}

const struct mpk_function *mpk_run_function(const mpkr_function *f)
{
	return f->function;
}

struct mpk_dldevice mpk_run_where(const mpkr_function *f)
{
	return f->where;
}

/* --- placement ------------------------------------------------------------------------------- */

static const struct mpk_param *named_param(const struct mpk_run_values *in,
					   const struct mpk_signature *signature, size_t i)
{
	struct mpk_span name = in->names ? in->names[i] : (struct mpk_span){ 0 };

	for (size_t k = 0; signature && name.len && k < signature->input_count; k++)
		if (mpk_span_equal(signature->inputs[k].name, name))
			return &signature->inputs[k];
	return signature && !name.len && i < signature->input_count ? &signature->inputs[i] : NULL;
}

/* What the call says itself must not contradict the model, which would fail later and say less. */
static enum mpk_code argument_place(const struct mpkr_function *f, const struct mpk_run_values *in,
				    const struct mpk_param *param, size_t i,
				    struct mpk_dldevice *out, struct mpk_error *err)
{
	struct mpk_dldevice said = in->places ? in->places[i] : (struct mpk_dldevice){ 0 };
	int32_t asked = param && param->type.kind == MPK_TYPE_TENSOR ? param->type.device : 0;

	*out = said.type ? said : f->where;
	if (!asked || asked == out->type)
		return MPK_OK;
	*out = (struct mpk_dldevice){ .type = asked };
	if (!said.type)
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"'%s' asks for its input %zu, '%s', on %s, and the call puts it on %s",
			MPK_QUOTE(mpk_span_str(f->name)), i, MPK_QUOTE(param->name),
			mpk_dl_device_name(asked), mpk_dl_device_name(said.type));
}

/* Tuples hold tensors that are asked for here and there. What nobody says anything of stays as it is.
 * @asked   what the function says of v; NULL: nothing
 * @out     zeroed; the caller drops it in every case */
static enum mpk_code send_value(const struct mpkr_function *f, const struct mpk_value *v,
				const struct mpk_type *asked, struct mpk_dldevice where,
				struct mpk_value *out, struct mpk_error *err)
{
	if (v->kind == MPK_VALUE_TENSOR) {
		if (asked && asked->device && asked->device != where.type)
			where = (struct mpk_dldevice){ .type = asked->device };
		MPK_TRY(mpk_run_send(f->model, v->tensor, v->tensor->scope, where, &out->tensor,
				     err));
		out->kind = MPK_VALUE_TENSOR;
		return MPK_OK;
	}
	if (v->kind != MPK_VALUE_ARRAY || !asked || asked->kind != MPK_TYPE_TUPLE ||
	    asked->field_count != v->array->count) {
		*out = mpk_value_hold(*v);
		return MPK_OK;
	}
	MPK_TRY(mpk_value_of_array(v->array->count, out, err));
	for (size_t i = 0; i < v->array->count; i++)
		MPK_TRY(send_value(f, &v->array->items[i], &asked->fields[i].type, where,
				   &out->array->items[i], err));
	return MPK_OK;
}

static enum mpk_code place_value(const struct mpkr_function *f, const struct mpk_run_values *in,
				 size_t i, struct mpk_run_arg *out, struct mpk_error *err)
{
	const struct mpk_param *param = named_param(in, f->function->signature, i);
	struct mpk_dldevice where;

	if (in->is_placed && in->is_placed[i]) {
		out->value = mpk_value_hold(in->values[i]);
		return MPK_OK;
	}
	MPK_TRY(argument_place(f, in, param, i, &where, err));
	return send_value(f, &in->values[i], param ? &param->type : NULL, where, &out->value, err);
}

/* --- calls ----------------------------------------------------------------------------------- */

static enum mpk_code place_values(struct mpk_run_call *c, const struct mpk_run_values *in,
				  struct mpk_error *err)
{
	MPK_TRY(mpk_run_call_init(c, c->f, in->count, in->count, in->names != NULL, err));
	for (size_t i = 0; i < in->count; i++) {
		MPK_TRY(place_value(c->f, in, i, &c->args[i], err));
		c->values[i] = mpk_run_borrowed(&c->args[i].value);
		if (in->names)
			c->names[i] = in->names[i];
	}
	return MPK_OK;
}

enum mpk_code mpk_run_begin(mpkr_function *f, const struct mpk_run_values *in, bool keeps_order,
			    struct mpk_run_call **out, struct mpk_error *err)
{
	struct mpk_run_call *c = calloc(1, sizeof *c);
	enum mpk_code code;

	MPK_TRY_ALLOC(c, err);
	c->f = f;
	c->keeps_order = keeps_order;
	code = place_values(c, in, err);
	if (code != MPK_OK) {
		mpk_run_end(c);
		return mpk_failed(code);
	}
	*out = c;
	return MPK_OK;
}

bool mpk_run_fits(const struct mpk_run_call *c, const struct mpk_signature *signature)
{
	struct mpk_args args = { c->values, c->names, c->value_count };
	struct mpk_value *ordered;

	for (size_t i = 0; args.names && i < args.count; i++)
		for (size_t k = 0; k < i; k++)
			if (args.names[i].len && mpk_span_equal(args.names[i], args.names[k]))
				return true;

	if (mpk_signature_order(signature, &args, &ordered, NULL) != MPK_OK)
		return false;
	free(ordered);
	return true;
}

const struct mpk_value *mpk_run_returned(const struct mpk_run_call *c)
{
	return &c->result;
}

enum mpk_code mpk_run_fetch(const struct mpk_run_call *c, size_t i, struct mpk_tensor *to,
			    struct mpk_error *err)
{
	const struct mpk_tensor *from = c->args[i].value.tensor;

	/* what lies on the host was written in place */
	if (from == to)
		return MPK_OK;
	return mpk_devices_fetch(mpk_run_devices(c->f->model), &from->dl, to, err);
}

void mpk_run_end(struct mpk_run_call *c)
{
	if (c)
		mpk_run_call_fini(c);
	free(c);
}

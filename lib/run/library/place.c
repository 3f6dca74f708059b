/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - converts the arguments of a call to values on the devices where the function wants them
 *
 * Compiled code requires that host memory is aligned to MPK_STORAGE_ALIGN and has no gaps. Such
 * tensors are used in place, also for outputs. All others are copied. If a function that is not a
 * model writes to such a copy, the data is copied back.
 */
#include "library/internal/library.h"

#include <stdlib.h>

#include "abi/convention.h"
#include "base/strbuf.h"
#include "executor/machine.h"
#include "library/inspect.h"
#include "program/device_kind.h"
#include "runtime/devices.h"
#include "text/escape.h"

/* --- tensors ---------------------------------------------------------------------------------- */

static struct mpk_dldevice run_place_of(const struct mpkr_function *f, size_t i)
{
	const struct mpk_type *type = i < f->input_count ? f->inputs[i].type : NULL;

	if (type && type->kind == MPK_TYPE_TENSOR && type->device && type->device != f->where.type)
		return (struct mpk_dldevice){ .type = type->device };
	return f->where;
}

/* Describes the caller's tensor for the code: as CPU memory, also if it is pinned, and without an
 * offset. */
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

/* @scope   the image scope on the device; NULL or "" if it is not an image */
static enum mpk_code send(struct mpkr_model *model, struct mpk_tensor *tensor, const char *scope,
			  struct mpk_dldevice where, struct mpk_tensor **out, struct mpk_error *err)
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
	code = send(f->model, host.value.tensor, scope, where, &sent, err);
	mpk_value_drop(&host.value);
	MPK_TRY(code);
	out->is_copy = true;
	out->value = mpk_value_of_tensor(sent);
	return MPK_OK;
}

/* Uses device memory in place, except OpenCL memory, which belongs to another context. */
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

/* Copies the tensor of a value to the device where the function wants it. */
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

static enum mpk_code place_arg(const struct mpkr_function *f, const struct mpkr_arg *in, size_t i,
			       struct mpk_run_arg *out, struct mpk_error *err)
{
	return in->value ? place_value(f, in, i, out, err)
			 : place_passed_tensor(f, in->tensor, i, out, err);
}

/* --- all that a call passes ------------------------------------------------------------------------- */

/* Borrows a value for a call, except a tuple, which gets a reference of its own. */
static struct mpk_value borrowed(const struct mpk_value *v)
{
	return v->kind == MPK_VALUE_ARRAY ? mpk_value_hold(*v) : *v;
}

/* Allocates arguments and values, with room for bound parameters after them. */
static enum mpk_code call_init(struct mpk_run_call *c, struct mpkr_function *f, size_t arg_count,
			       size_t value_count, bool has_names, struct mpk_error *err)
{
	has_names |= f->bound_count > 0;
	c->f = f;
	c->arg_count = arg_count;
	c->value_count = value_count + f->bound_count;
	c->args = c->few_args;
	c->values = c->few_values;
	if (arg_count > MPK_ARRAY_COUNT(c->few_args))
		c->args = calloc(arg_count, sizeof *c->args);
	if (c->value_count > MPK_ARRAY_COUNT(c->few_values))
		c->values = calloc(c->value_count, sizeof *c->values);
	if (has_names)
		c->names = calloc(c->value_count + 1, sizeof *c->names);
	MPK_TRY_ALLOC(c->args && c->values && (c->names || !has_names), err);
	if (f->model->stream.is_set) {
		struct mpk_device *device;

		MPK_TRY(mpk_devices_get(mpk_runtime_devices(f->model->runtime), f->where, &device,
					err));
		MPK_TRY(mpk_device_set_stream(device, f->model->stream.stream, err));
	}
	for (size_t i = 0; i < f->bound_count; i++) {
		c->values[value_count + i] = borrowed(&f->bound[i].value);
		c->names[value_count + i] = f->bound[i].name;
	}
	return MPK_OK;
}

static enum mpk_code fail_input_count(const struct mpkr_function *f, size_t count,
				      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	if (f->kernel)
		return mpk_fail(err, MPK_E_USAGE, "kernel '%s' takes %zu inputs, not %zu",
				f->function->name, f->input_count, count);
	mpk_signature_text(f->function->signature, &text);
	return mpk_fail(err, MPK_E_USAGE, "%zu input%s for %zu%s: %s", count, count == 1 ? "" : "s",
			f->input_count, f->bound_count ? " that bound parameters leave open" : "",
			mpk_strbuf_text(&text));
}

/* Values may be whole tuples, so the exact count is checked when they are taken. */
static enum mpk_code check_input_count(const struct mpkr_function *f, size_t count, bool has_values,
				       struct mpk_error *err)
{
	if (count > MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_USAGE, "%zu inputs; at most %d are passed", count,
				MPK_ARGS_MAX);
	if (count == f->input_count || (has_values && mpk_run_function_is_model(f)) ||
	    (!mpk_run_function_is_model(f) && !f->kernel))
		return MPK_OK;
	return fail_input_count(f, count, err);
}

/* A position in the arguments of a caller. */
struct cursor {
	const struct mpk_run_inputs *in;
	/* at: index of the next argument; leaf: its index among the inputs of the function */
	size_t at, leaf;
};

static struct mpkr_arg input_at(const struct cursor *c, size_t i)
{
	const struct mpk_run_inputs *in = c->in;

	if (in->args)
		return in->args[i];
	return (struct mpkr_arg){ .tensor = i < in->count ? in->tensors[i]
							  : in->outs[i - in->count] };
}

/* Takes the next input. A tuple passed as a whole counts as all its elements. */
static enum mpk_code take_next(struct mpk_run_call *c, struct cursor *in,
			       const struct mpk_type *type, const struct mpk_value **out,
			       struct mpk_error *err)
{
	const struct mpkr_arg arg = input_at(in, in->at);
	struct mpk_run_arg *placed = &c->args[in->at++];

	MPK_TRY(place_arg(c->f, &arg, in->leaf, placed, err));
	in->leaf += type ? mpk_run_count_leaves(type) : 1;
	*out = &placed->value;
	return MPK_OK;
}

/* Rebuilds tuples, unless one is passed as a whole. */
static enum mpk_code put_together(struct mpk_run_call *c, struct cursor *in,
				  const struct mpk_type *type, struct mpk_value *out, bool is_owned,
				  struct mpk_error *err)
{
	const struct mpk_value *v;

	if (type->kind != MPK_TYPE_TUPLE ||
	    (in->at < c->arg_count && mpk_run_value_is_tuple(input_at(in, in->at).value))) {
		if (in->at == c->arg_count)
			return fail_input_count(c->f, c->arg_count, err);
		MPK_TRY(take_next(c, in, type, &v, err));
		*out = is_owned || v->kind == MPK_VALUE_ARRAY ? mpk_value_hold(*v) : *v;
		return MPK_OK;
	}
	MPK_TRY(mpk_value_of_array(type->field_count, out, err));
	for (size_t i = 0; i < type->field_count; i++)
		MPK_TRY(put_together(c, in, &type->fields[i].type, &out->array->items[i], true,
				     err));
	return MPK_OK;
}

static enum mpk_code place_all(struct mpk_run_call *c, const struct mpk_run_inputs *passed,
			       struct mpk_error *err)
{
	const struct mpkr_function *f = c->f;
	struct cursor in = { .in = passed };
	const struct mpk_value *v;

	for (size_t i = 0; i < c->arg_count && !mpk_run_function_is_model(f); i++) {
		MPK_TRY(take_next(c, &in, NULL, &v, err));
		c->values[i] = borrowed(v);
	}
	if (!mpk_run_function_is_model(f))
		return MPK_OK;
	for (size_t i = 0; i < f->open_count; i++)
		MPK_TRY(put_together(c, &in, f->open[i], &c->values[i], false, err));
	return in.at == c->arg_count ? MPK_OK : fail_input_count(f, c->arg_count, err);
}

static enum mpk_code check_out(const struct mpk_run_call *c, const struct mpkr_tensor *tensor,
			       size_t i, struct mpk_error *err)
{
	const struct mpk_dltensor *out = (const struct mpk_dltensor *)(const void *)tensor;

	if (!out)
		return mpk_fail(err, MPK_E_USAGE, "output %zu is NULL", i);
	MPK_TRY(mpk_run_check_tensor(out, "output", i, err));
	if (mpk_dldevice_is_host(out->device))
		return MPK_OK;
	if (!mpk_run_has_addresses(out->device) || !mpk_dldevice_equal(out->device, c->f->where))
		return mpk_fail(
			err, MPK_E_USAGE,
			"output %zu is in memory of device %d of type %d, where the function is not",
			i, out->device.id, out->device.type);
	if (!mpk_dltensor_is_compact(out))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"output %zu is on a device and its rows are not contiguous", i);
	return MPK_OK;
}

enum mpk_code mpk_run_call_begin(struct mpk_run_call *c, struct mpkr_function *f,
				 const struct mpk_run_inputs *in, struct mpk_error *err)
{
	bool is_model = mpk_run_function_is_model(f);
	size_t count = in->count + (is_model ? 0 : in->out_count);

	MPK_TRY(check_input_count(f, count, in->args != NULL, err));
	MPK_TRY(call_init(c, f, count, is_model ? f->open_count : count, false, err));
	for (size_t i = 0; i < in->out_count; i++)
		MPK_TRY(check_out(c, in->outs[i], i, err));
	return place_all(c, in, err);
}

/* --- values as somebody typed them (inspect.h) --------------------------------------------------------- */

/* A model's inputs may be on different devices, so each value is placed separately: where the
 * function requires it, else where the call says, else where the other values are. */

static const struct mpk_param *named_param(const struct mpk_run_values *in,
					   const struct mpk_signature *signature, size_t i)
{
	struct mpk_span name = in->names ? in->names[i] : (struct mpk_span){ 0 };

	for (size_t k = 0; signature && name.len && k < signature->input_count; k++)
		if (mpk_span_equal(signature->inputs[k].name, name))
			return &signature->inputs[k];
	return signature && !name.len && i < signature->input_count ? &signature->inputs[i] : NULL;
}

/* A place given by the call must not contradict the model: the error would come later and be less
 * clear. */
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

/* Tensors in tuples may be wanted on different devices. If nothing is known about a value, it stays
 * where it is.
 * @asked   the function's type for v; NULL if unknown
 * @out     zeroed; the caller frees it in every case */
static enum mpk_code send_value(const struct mpkr_function *f, const struct mpk_value *v,
				const struct mpk_type *asked, struct mpk_dldevice where,
				struct mpk_value *out, struct mpk_error *err)
{
	if (v->kind == MPK_VALUE_TENSOR) {
		if (asked && asked->device && asked->device != where.type)
			where = (struct mpk_dldevice){ .type = asked->device };
		MPK_TRY(send(f->model, v->tensor, v->tensor->scope, where, &out->tensor, err));
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

static enum mpk_code place_typed(const struct mpkr_function *f, const struct mpk_run_values *in,
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

static enum mpk_code place_values(struct mpk_run_call *c, const struct mpk_run_values *in,
				  struct mpk_error *err)
{
	MPK_TRY(call_init(c, c->f, in->count, in->count, in->names != NULL, err));
	for (size_t i = 0; i < in->count; i++) {
		MPK_TRY(place_typed(c->f, in, i, &c->args[i], err));
		c->values[i] = borrowed(&c->args[i].value);
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

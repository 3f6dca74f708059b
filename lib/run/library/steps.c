/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - calls with values instead of tensors, in steps: placed, repeated, fetched (inspect.h)
 *
 * One model may take inputs on the host and on a device, so each value is placed by itself: where the function asks for
 * it, else where the call says, else where the others are.
 */
#include "library/internal/library.h"

#include <stdlib.h>

#include "executor/machine.h"
#include "library/inspect.h"
#include "runtime/devices.h"
#include "text/escape.h"

/* --- what a model and its functions have ------------------------------------------------------ */

bool mpk_run_works(const mpkr_model *model)
{
	return mpk_devices_sync(mpk_runtime_devices(model->runtime), NULL) == MPK_OK;
}

struct mpk_devices *mpk_run_devices(mpkr_model *model)
{
	return mpk_runtime_devices(model->runtime);
}

const struct mpk_function *mpk_run_function(const mpkr_function *f)
{
	return f->function;
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

static enum mpk_code fetch_argument(const struct mpk_run_call *c, size_t i, struct mpk_tensor *to,
				    struct mpk_error *err)
{
	const struct mpk_tensor *from = c->args[i].value.tensor;

	/* what lies on the host was written in place */
	if (from == to)
		return MPK_OK;
	return mpk_devices_fetch(mpk_run_devices(c->f->model), &from->dl, to, err);
}

enum mpk_code mpk_run_fetch(struct mpk_run_call *c, const struct mpk_value *args,
			    const bool *is_out, struct mpk_value *returned, struct mpk_error *err)
{
	static const struct mpk_dldevice host = { MPK_DL_CPU, 0 };
	struct mpk_value v = c->result;

	for (size_t i = 0; i < c->arg_count; i++)
		if (is_out[i])
			MPK_TRY(fetch_argument(c, i, args[i].tensor, err));
	return mpk_run_own_value(c, &v, &host, false, returned, err);
}

void mpk_run_end(struct mpk_run_call *c)
{
	if (c)
		mpk_run_call_fini(c);
	free(c);
}

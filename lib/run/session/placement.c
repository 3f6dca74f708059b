/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - one model may take inputs on the host and on a device: each is placed by itself */
#include "session/internal/placement.h"

#include "runtime/textures.h"
#include "text/escape.h"

static const struct mpk_param *param_of(const struct mpk_call *call,
					const struct mpk_signature *signature, size_t i)
{
	struct mpk_span name = call->names ? call->names[i] : (struct mpk_span){ 0 };

	for (size_t k = 0; signature && name.len && k < signature->input_count; k++)
		if (mpk_span_equal(signature->inputs[k].name, name))
			return &signature->inputs[k];
	return signature && !name.len && i < signature->input_count ? &signature->inputs[i] : NULL;
}

static enum mpk_code place_of(const struct mpk_call *call, const struct mpk_param *param, size_t i,
			      struct mpk_dldevice others, struct mpk_dldevice *out,
			      struct mpk_error *err)
{
	struct mpk_dldevice said = call->places ? call->places[i] : (struct mpk_dldevice){ 0 };
	int32_t asked = param && param->type.kind == MPK_TYPE_TENSOR ? param->type.device : 0;

	*out = said.type ? said : others;
	if (!asked || asked == out->type)
		return MPK_OK;
	*out = (struct mpk_dldevice){ .type = asked };
	if (!said.type)
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"'%s' asks for its input %zu, '%s', on %s, and the call puts it on %s",
			MPK_QUOTE(mpk_span_str(call->function)), i, MPK_QUOTE(param->name),
			mpk_dl_device_name(asked), mpk_dl_device_name(said.type));
}

static enum mpk_code send_tensor(struct mpk_devices *devices, struct mpk_tensor *tensor,
				 struct mpk_dldevice where, struct mpk_value *out,
				 struct mpk_error *err)
{
	if (tensor->scope && where.type != MPK_DL_CPU)
		MPK_TRY(mpk_texture_send(devices, tensor, tensor->scope, where, &out->tensor, err));
	else
		MPK_TRY(mpk_devices_send(devices, tensor, where, &out->tensor, err));
	out->kind = MPK_VALUE_TENSOR;
	return MPK_OK;
}

/* Tuples hold tensors that are asked for here and there. What nobody says anything of stays as it is.
 * @asked   what the function says of v; NULL: nothing */
static enum mpk_code send_value(struct mpk_devices *devices, const struct mpk_value *v,
				const struct mpk_type *asked, struct mpk_dldevice where,
				struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value sent = { 0 };

	if (v->kind == MPK_VALUE_TENSOR) {
		if (asked && asked->device && asked->device != where.type)
			where = (struct mpk_dldevice){ .type = asked->device };
		return send_tensor(devices, v->tensor, where, out, err);
	}
	if (v->kind != MPK_VALUE_ARRAY || !asked || asked->kind != MPK_TYPE_TUPLE ||
	    asked->field_count != v->array->count) {
		*out = mpk_value_hold(*v);
		return MPK_OK;
	}
	MPK_TRY(mpk_value_of_array(v->array->count, &sent, err));
	for (size_t i = 0; i < v->array->count; i++)
		MPK_TRY(send_value(devices, &v->array->items[i], &asked->fields[i].type, where,
				   &sent.array->items[i], err));
	*out = sent;
	sent = (struct mpk_value){ 0 };
	return MPK_OK;
}

enum mpk_code mpk_call_send(struct mpk_devices *devices, const struct mpk_call *call,
			    const struct mpk_signature *signature, size_t i,
			    struct mpk_dldevice others, struct mpk_value *out,
			    struct mpk_error *err)
{
	const struct mpk_param *param = param_of(call, signature, i);
	struct mpk_dldevice where;

	MPK_TRY(place_of(call, param, i, others, &where, err));
	return send_value(devices, &call->args[i], param ? &param->type : NULL, where, out, err);
}

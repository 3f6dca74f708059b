/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - in the child: the function that is called, and its arguments where it wants them
 *
 * The library is loaded for the first call that needs it, and only once, also when that fails: each
 * later call gets the same sentence. One model may take inputs on the host and on a device, so each
 * argument is placed by itself: where the function asks for it, else where the call says, else where
 * the others are. Inputs that a file of parameters has come after those of the call, by name (params.c).
 */
#include "session/internal/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "executor/executor.h"
#include "executor/relay/relay.h"
#include "runtime/devices.h"
#include "runtime/kernels.h"
#include "runtime/library.h"
#include "runtime/textures.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "value/param_file.h"

/* --- constants from a file of parameters ------------------------------------------------------ */

static enum mpk_code find_constant(void *user, struct mpk_span name, struct mpk_tensor **out,
				   struct mpk_error *err)
{
	struct mpk_param_file *file = user;
	size_t index;

	if (!mpk_param_file_find(file, name, &index))
		return MPK_OK;
	return mpk_param_file_tensor(file, index, true, out, err);
}

/* --- placement ------------------------------------------------------------------------------- */

static const struct mpk_param *named_param(const struct mpk_call *call,
					   const struct mpk_signature *signature, size_t i)
{
	struct mpk_span name = call->names ? call->names[i] : (struct mpk_span){ 0 };

	for (size_t k = 0; signature && name.len && k < signature->input_count; k++)
		if (mpk_span_equal(signature->inputs[k].name, name))
			return &signature->inputs[k];
	return signature && !name.len && i < signature->input_count ? &signature->inputs[i] : NULL;
}

/* What the call says itself must not contradict the model, which would fail later and say less. */
static enum mpk_code argument_place(const struct mpk_call *call, const struct mpk_param *param,
				    size_t i, struct mpk_dldevice others, struct mpk_dldevice *out,
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

static enum mpk_code send_argument_tensor(struct mpk_devices *devices, struct mpk_tensor *tensor,
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
static enum mpk_code send_argument_value(struct mpk_devices *devices, const struct mpk_value *v,
					 const struct mpk_type *asked, struct mpk_dldevice where,
					 struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value sent = { 0 };

	if (v->kind == MPK_VALUE_TENSOR) {
		if (asked && asked->device && asked->device != where.type)
			where = (struct mpk_dldevice){ .type = asked->device };
		return send_argument_tensor(devices, v->tensor, where, out, err);
	}
	if (v->kind != MPK_VALUE_ARRAY || !asked || asked->kind != MPK_TYPE_TUPLE ||
	    asked->field_count != v->array->count) {
		*out = mpk_value_hold(*v);
		return MPK_OK;
	}
	MPK_TRY(mpk_value_of_array(v->array->count, &sent, err));
	for (size_t i = 0; i < v->array->count; i++)
		MPK_TRY(send_argument_value(devices, &v->array->items[i], &asked->fields[i].type,
					    where, &sent.array->items[i], err));
	*out = sent;
	sent = (struct mpk_value){ 0 };
	return MPK_OK;
}

/* Argument `i` of a call, its tensors where they are to be.
 * @signature  of the function; NULL: it has none of its own, and asks for nothing that is known
 * @others  where tensors are of which nobody says anything
 * @out     zeroed; the caller drops it in every case */
static enum mpk_code send_argument(struct mpk_devices *devices, const struct mpk_call *call,
				   const struct mpk_signature *signature, size_t i,
				   struct mpk_dldevice others, struct mpk_value *out,
				   struct mpk_error *err)
{
	const struct mpk_param *param = named_param(call, signature, i);
	struct mpk_dldevice where;

	MPK_TRY(argument_place(call, param, i, others, &where, err));
	return send_argument_value(devices, &call->args[i], param ? &param->type : NULL, where, out,
				   err);
}

/* --- opening --------------------------------------------------------------------------------- */

static struct mpk_devices *devices_of(const struct mpk_session *s)
{
	return mpk_runtime_devices(s->runtime);
}

void mpk_session_end_call(struct mpk_session *s)
{
	for (size_t i = 0; s->args && i < s->arg_count; i++)
		mpk_value_drop(&s->args[i]);
	free(s->args);
	free(s->names);
	mpk_function_drop(s->function);
	s->args = NULL;
	s->names = NULL;
	s->arg_count = 0;
	s->function = NULL;
}

static enum mpk_code load_library(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_host_code code;

	MPK_TRY(mpk_library_check(&s->work->library, err));
	MPK_TRY(mpk_library_code(&s->work->library, &s->arena, &code, err));
	return mpk_library_open(s->runtime, &code, &s->library, err);
}

/* Loads the library unless it is loaded; tries that only once. */
static enum mpk_code need_library(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_error *failure = &s->work->unloadable;

	if (failure->code == MPK_OK && (s->library || load_library(s, failure) == MPK_OK))
		return MPK_OK;
	*err = *failure;
	return mpk_failed(err->code);
}

/* Constants that the library leaves to a file; before a function of it is looked up. */
static enum mpk_code bind_late(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_param_file *params = s->call->params;

	if (!params || params == s->bound)
		return MPK_OK;
	s->bound = params;
	return mpk_relay_bind_library(s->library, find_constant, params, err);
}

/* Models get the devices before the look-up, as they are loaded by it. */
static enum mpk_code open_function(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_dldevice where = s->call->device;

	if (where.type == 0)
		where.type = MPK_DL_CPU;
	const struct mpk_dldevice devices[] = { { .type = MPK_DL_CPU }, where };

	MPK_TRY(need_library(s, err));
	MPK_TRY(mpk_runtime_set_devices(s->runtime, s->is_turned ? devices : &where,
					s->is_turned ? 2 : 1, err));
	mpk_runtime_guess_devices(s->runtime, s->call->device_is_guess);
	MPK_TRY(bind_late(s, err));
	MPK_TRY(mpk_library_find(s->library, s->call->function, &s->function, err));
	s->where = s->call->device;
	return MPK_OK;
}

/* A kernel says itself for which kind of device it is; the user may choose the number. */
static enum mpk_code open_kernel(struct mpk_session *s, const struct mpk_tree *tree,
				 struct mpk_error *err)
{
	struct mpk_kernel_found found;

	s->where = s->call->device;
	if (!tree)
		return mpk_fail(err, MPK_E_NOTFOUND,
				"no kernel '%s': the library has no blob, so there are no modules",
				MPK_QUOTE(mpk_span_str(s->call->function)));
	if (!s->kernels)
		MPK_TRY(mpk_kernel_set_create(s->runtime, tree, &s->kernels, err));
	MPK_TRY(mpk_kernel_set_find(s->kernels, s->call->function, s->call->kernel, s->where,
				    &found, err));
	s->function = found.function;
	s->where = found.where;
	return MPK_OK;
}

static enum mpk_code send_tensor(struct mpk_session *s, size_t index, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_tensor *t;
	enum mpk_code code;

	MPK_TRY(mpk_param_file_tensor(s->call->params, index, mpk_dldevice_is_host(s->where), &t,
				      err));
	code = mpk_devices_send(devices_of(s), t, s->where, &out->tensor, err);
	mpk_tensor_drop(t);
	MPK_TRY(code);
	mpk_runtime_loaded(s->runtime, out->tensor->bytes);
	out->kind = MPK_VALUE_TENSOR;
	return MPK_OK;
}

/* Sent one by one, so that a file of many GiB is not in memory twice. */
static enum mpk_code send_param(struct mpk_session *s, const struct mpk_param_choice *p,
				struct mpk_error *err)
{
	struct mpk_value *arg = &s->args[s->arg_count];

	if (p->is_tuple)
		MPK_TRY(mpk_value_of_array(p->count, arg, err));
	s->names[s->arg_count++] = p->name; /* from here on it is dropped with the others */
	if (!p->is_tuple)
		return send_tensor(s, p->indices[0], arg, err);
	for (size_t i = 0; i < p->count; i++)
		MPK_TRY(send_tensor(s, p->indices[i], &arg->array->items[i], err));
	return MPK_OK;
}

/* The call's arguments, and room for as many more. */
static enum mpk_code send_args(struct mpk_session *s, size_t more, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;
	size_t room = call->arg_count + more + 1;

	s->args = calloc(room, sizeof *s->args);
	s->names = call->names || more ? calloc(room, sizeof *s->names) : NULL;
	MPK_TRY_ALLOC(s->args && (s->names || !(call->names || more)), err);
	s->arg_count = call->arg_count;
	for (size_t i = 0; i < call->arg_count; i++) {
		if (call->names)
			s->names[i] = call->names[i];
		if (call->kept && call->kept[i].len)
			MPK_TRY(mpk_kept_get(&s->kept, call->kept[i], &s->args[i], err));
		else
			MPK_TRY(send_argument(devices_of(s), call, s->function->signature, i,
					      s->where, &s->args[i], err));
	}
	return MPK_OK;
}

/* A file of parameters for all cases is left aside for functions that are no models. */
static enum mpk_code send_all(struct mpk_session *s, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_param_choice *chosen;
	enum mpk_code code;
	size_t count;

	if (!s->call->params || (!s->function->signature && s->call->params_for_models))
		return send_args(s, 0, err);
	MPK_TRY(mpk_params_choose(s->call, s->function->signature, &scratch, &chosen, &count, err));
	code = send_args(s, count, err);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < chosen[i].count; k++)
			mpk_child_load(s->side,
				       mpk_param_file_bytes(s->call->params, chosen[i].indices[k]));
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = send_param(s, &chosen[i], err);
	return code;
}

static enum mpk_code check_watch(const struct mpk_session *s, struct mpk_error *err)
{
	if (s->function->signature || !mpk_watch_is_asked(&s->call->watch))
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"'%s' is no model: there are no operators in it that could be seen",
			MPK_QUOTE(mpk_span_str(s->call->function)));
}

/* The device is used before arguments are sent, as module code that asks for "the current
 * device" means this one. */
enum mpk_code mpk_session_begin_call(struct mpk_session *s, struct mpk_error *err)
{
	if (s->call->kernel)
		MPK_TRY(open_kernel(s, s->work->library.tree, err));
	else
		MPK_TRY(open_function(s, err));
	MPK_TRY(check_watch(s, err));
	if (s->where.type == 0)
		s->where.type = MPK_DL_CPU;
	MPK_TRY(mpk_devices_use(devices_of(s), s->where, err));
	return send_all(s, err);
}

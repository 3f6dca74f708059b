/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "executor/executor.h"
#include "runtime/devices.h"
#include "runtime/kernels.h"
#include "runtime/library.h"
#include "session/internal/argument_hint.h"
#include "session/internal/params.h"
#include "session/internal/placement.h"
#include "session/internal/reply.h"
#include "session/internal/watch.h"
#include "text/escape.h"
#include "value/param_file.h"

/* What lives from the first call to the last, and what belongs to the current one.
 * Zero-initialised. */
struct session {
	struct mpk_session_work *work;
	struct mpk_child_side *side;
	pid_t process; /* the one that was started for it */
	struct mpk_arena arena;
	struct mpk_runtime *runtime;
	struct mpk_library *library;    /* NULL while only kernels were called */
	struct mpk_kernel_set *kernels; /* NULL while no kernel was called by itself */

	struct mpk_order order;
	const struct mpk_call *call;
	struct mpk_function *function;
	struct mpk_dldevice where; /* of the tensors */
	bool is_turned;            /* the model's first device is the CPU, against the guess */
	struct mpk_value *args;    /* the call's, then those of its file of parameters */
	struct mpk_span *names;    /* of args; NULL: none has one */
	size_t arg_count;
	const struct mpk_param_file *bound; /* whose late-bound constants executables have */
};

static struct mpk_devices *devices_of(const struct session *s)
{
	return mpk_runtime_devices(s->runtime);
}

static void end_call(struct session *s)
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

static void session_fini(struct session *s)
{
	mpk_library_close(s->library);
	mpk_kernel_set_destroy(s->kernels);
	mpk_runtime_destroy(s->runtime);
	mpk_arena_fini(&s->arena);
}

/* --- opening ------------------------------------------------------------------------ */

static enum mpk_code load_library(struct session *s, struct mpk_error *err)
{
	struct mpk_host_code code;

	MPK_TRY(mpk_library_check(&s->work->library, err));
	MPK_TRY(mpk_library_code(&s->work->library, &s->arena, &code, err));
	return mpk_library_open(s->runtime, &code, &s->library, err);
}

/* Loads the library unless it is loaded; tries that only once. */
static enum mpk_code need_library(struct session *s, struct mpk_error *err)
{
	struct mpk_error *failure = &s->work->unloadable;

	if (failure->code == MPK_OK && (s->library || load_library(s, failure) == MPK_OK))
		return MPK_OK;
	*err = *failure;
	return mpk_failed(err->code);
}

/* Constants that the library leaves to a file; before a function of it is looked up. */
static enum mpk_code bind_late(struct session *s, struct mpk_error *err)
{
	struct mpk_module **modules;
	size_t count;
	enum mpk_code code;

	if (!s->call->params || s->call->params == s->bound)
		return MPK_OK;
	MPK_TRY(mpk_library_modules(s->library, &modules, &count, err));
	code = mpk_params_bind_late(s->call->params, modules, count, err);
	free(modules);
	s->bound = s->call->params;
	return code;
}

static enum mpk_code open_function(struct session *s, struct mpk_error *err)
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

static enum mpk_code open_kernel(struct session *s, const struct mpk_tree *tree,
				 struct mpk_error *err)
{
	struct mpk_dldevice asked = s->call->device;

	s->where = asked;
	if (!tree)
		return mpk_fail(err, MPK_E_NOTFOUND,
				"no kernel '%s': the library has no blob, so there are no modules",
				MPK_QUOTE(mpk_span_str(s->call->function)));
	if (!s->kernels)
		MPK_TRY(mpk_kernel_set_create(s->runtime, tree, &s->kernels, err));
	MPK_TRY(mpk_kernel_set_find(s->kernels, s->call->function, s->call->kernel, &s->function,
				    &s->where, err));
	if (asked.type == s->where.type)
		s->where = asked;
	else if (asked.type)
		return mpk_fail(err, MPK_E_USAGE, "kernel '%s' is code for %s, not for %s",
				s->function->name,
				mpk_device_kind_name(mpk_device_kind_from(s->where.type)),
				mpk_device_kind_name(mpk_device_kind_from(asked.type)));
	return MPK_OK;
}

static enum mpk_code send_param(struct session *s, const struct mpk_param_choice *p,
				struct mpk_error *err)
{
	struct mpk_tensor *t;
	enum mpk_code code;

	MPK_TRY(mpk_param_file_tensor(s->call->params, p->index, mpk_dldevice_is_host(s->where), &t,
				      err));
	code = mpk_devices_send(devices_of(s), t, s->where, &s->args[s->arg_count].tensor, err);
	mpk_tensor_drop(t);
	MPK_TRY(code);
	mpk_runtime_loaded(s->runtime, s->args[s->arg_count].tensor->bytes);
	s->args[s->arg_count].kind = MPK_VALUE_TENSOR;
	s->names[s->arg_count++] = p->name;
	return MPK_OK;
}

/* The call's arguments, and room for as many more. */
static enum mpk_code send_args(struct session *s, size_t more, struct mpk_error *err)
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
		MPK_TRY(mpk_call_send(devices_of(s), call, s->function->signature, i, s->where,
				      &s->args[i], err));
	}
	return MPK_OK;
}

static enum mpk_code send_all(struct session *s, struct mpk_error *err)
{
	struct mpk_param_choice *chosen;
	enum mpk_code code;
	size_t count;

	if (!s->call->params || (!s->function->signature && s->call->params_for_models))
		return send_args(s, 0, err);
	MPK_TRY(mpk_params_choose(s->call, s->function->signature, &chosen, &count, err));
	code = send_args(s, count, err);
	for (size_t i = 0; i < count; i++)
		mpk_child_load(s->side, mpk_param_file_bytes(s->call->params, chosen[i].index));
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = send_param(s, &chosen[i], err);
	free(chosen);
	return code;
}

static enum mpk_code check_watch(const struct session *s, struct mpk_error *err)
{
	if (s->function->signature || !mpk_watch_is_asked(&s->call->watch))
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"'%s' is no model: there are no operators in it that could be seen",
			MPK_QUOTE(mpk_span_str(s->call->function)));
}

/* Code that forks may come back twice. The other process would report what it has as this call's result,
 * into the same reply, and take the orders that follow. */
static void leave_if_copy(const struct session *s)
{
	if (getpid() != s->process)
		_exit(0);
}

static enum mpk_code begin_call(struct session *s, struct mpk_error *err)
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

/* --- calling ------------------------------------------------------------------------ */

/* A call ends when what it started on devices has ended. */
static enum mpk_code call_once(struct session *s, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_args args = { s->args, s->names, s->arg_count };
	enum mpk_code rc = mpk_function_call(s->function, &args, result, err);

	if (rc == MPK_OK)
		return mpk_devices_sync(devices_of(s), err);
	mpk_error_at_path(err, s->call->function);
	if (s->function->address)
		mpk_argument_hint_add(&s->work->library, s->call, &s->arena, err);
	return rc;
}

static enum mpk_code call_all(struct session *s, struct mpk_watchers *watchers, double *seconds,
			      struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;
	bool watched = mpk_watch_is_asked(&call->watch);

	for (unsigned i = 0; i < call->warmup + call->repeat; i++) {
		mpk_value_drop(result);
		if (watched)
			mpk_runtime_set_observers(s->runtime, mpk_watchers_of(watchers, i));

		double start = mpk_clock_seconds();
		enum mpk_code rc = call_once(s, result, err);
		double took = mpk_clock_seconds() - start;

		leave_if_copy(s);
		MPK_TRY(rc);
		if (i < call->warmup)
			continue;
		seconds[i - call->warmup] = took;
		mpk_watchers_timed(watchers, took);
	}
	return MPK_OK;
}

/* --- results ------------------------------------------------------------------------ */

static enum mpk_code fetch_outputs(struct session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;

	for (size_t i = 0; i < call->arg_count; i++)
		if (call->is_out[i] && s->args[i].tensor != call->args[i].tensor)
			MPK_TRY(mpk_devices_fetch(devices_of(s), &s->args[i].tensor->dl,
						  call->args[i].tensor, err));
	return MPK_OK;
}

/* Tensors that the function returned, replaced by compact ones in host memory. */
static enum mpk_code fetch_value(struct session *s, struct mpk_value *v, unsigned depth,
				 struct mpk_error *err)
{
	struct mpk_tensor *copy;
	enum mpk_code code;

	if (depth > MPK_WIRE_NEST_MAX)
		return MPK_OK; /* the reply will say so */
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && i < v->array->count; i++)
		MPK_TRY(fetch_value(s, &v->array->items[i], depth + 1, err));
	if (v->kind != MPK_VALUE_TENSOR)
		return MPK_OK;
	const struct mpk_dltensor *dl = &v->tensor->dl;

	if (mpk_dldevice_is_host(dl->device)) {
		code = mpk_tensor_compact(v->tensor, &copy, err);
	} else if (!mpk_dltensor_is_compact(dl)) {
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor on a device whose rows are not contiguous");
	} else {
		MPK_TRY(mpk_tensor_create(dl->dtype, dl->shape, (size_t)dl->ndim,
					  MPK_STORAGE_PRIVATE, &copy, err));
		code = mpk_devices_fetch(devices_of(s), dl, copy, err);
		if (code != MPK_OK)
			mpk_tensor_drop(copy);
	}
	MPK_TRY(code);
	mpk_value_drop(v);
	*v = mpk_value_of_tensor(copy);
	return MPK_OK;
}

/* @seconds  of each call */
static enum mpk_code reply(struct session *s, struct mpk_watchers *watchers,
			   struct mpk_span seconds, struct mpk_value *result, struct mpk_wire *wire,
			   struct mpk_error *err)
{
	MPK_TRY(fetch_outputs(s, err));
	MPK_TRY(fetch_value(s, result, 0, err));
	MPK_TRY(mpk_wire_put(wire, seconds, err));
	MPK_TRY(mpk_reply_put_outputs(s->call, wire, err));
	MPK_TRY(mpk_wire_put_value(wire, result, err));
	MPK_TRY(mpk_watchers_reply(watchers, wire, err));
	return mpk_wire_end(wire, err);
}

static enum mpk_code call_and_reply(struct session *s, struct mpk_wire *wire, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_watchers_fini) struct mpk_watchers watchers = { 0 };
	MPK_CLEANUP(mpk_value_drop) struct mpk_value result = { 0 };
	size_t bytes = s->call->repeat * sizeof(double);
	double *seconds = calloc(s->call->repeat, sizeof *seconds);
	enum mpk_code rc;

	MPK_TRY_ALLOC(seconds, err);
	rc = mpk_watchers_init(&watchers, s->call, devices_of(s), err);
	if (rc == MPK_OK)
		rc = call_all(s, &watchers, seconds, &result, err);
	mpk_runtime_set_observers(s->runtime, NULL);
	if (rc == MPK_OK)
		rc = reply(s, &watchers, mpk_span_of(seconds, bytes), &result, wire, err);
	free(seconds);
	return rc;
}

/* --- one after the other ------------------------------------------------------------ */

static enum mpk_code report(struct session *s, struct mpk_report_message m, struct mpk_error *err)
{
	m.item = s->order.item;
	return mpk_channel_report(&s->work->channel, &m, err);
}

/* Compiled functions do not tell in which order they number devices. Their kernels look before they touch
 * anything, so the other order is as good a guess when the first one fails. */
static bool may_turn(const struct session *s, enum mpk_code rc, const struct mpk_error *err)
{
	const struct mpk_watch *watch = &s->call->watch;

	return rc == MPK_E_RAISED && !s->is_turned && s->call->device_is_guess && s->function &&
	       s->function->signature && s->where.type > MPK_DL_CPU && !watch->dump &&
	       !watch->compare && strstr(err->text, ".device_type");
}

static enum mpk_code call_turned(struct session *s, struct mpk_wire *wire, struct mpk_error *err)
{
	struct mpk_error other = { 0 };
	enum mpk_code rc;

	end_call(s);
	s->is_turned = true;
	rc = begin_call(s, &other);
	if (rc == MPK_OK)
		rc = call_and_reply(s, wire, &other);
	s->is_turned = false;
	return rc == MPK_OK ? rc : mpk_failed(err->code);
}

static enum mpk_code call_ordered(struct session *s, struct mpk_wire *wire, struct mpk_error *err)
{
	bool loads = !s->library;
	enum mpk_code rc = begin_call(s, err);

	leave_if_copy(s);
	if (loads && s->library)
		MPK_TRY(report(s, (struct mpk_report_message){ .kind = MPK_REPORT_LOADED }, err));
	if (rc == MPK_OK)
		rc = call_and_reply(s, wire, err);
	return may_turn(s, rc, err) ? call_turned(s, wire, err) : rc;
}

/* A driver does not always recover from what a kernel did. */
static bool is_unusable(const struct session *s, enum mpk_code rc)
{
	return rc == MPK_E_RAISED && s->where.type > MPK_DL_CPU;
}

static void loaded(void *side, uint64_t bytes)
{
	mpk_child_loaded(side, bytes);
}

/* What was asked for and does not hold is no sandbox. */
static enum mpk_code enter_sandbox(const struct mpk_session_work *work, struct mpk_error *err)
{
	struct mpk_sandbox_state state = { .files = true, .calls = true };
	int low = work->channel.child, high = work->reply;

	if (work->library.sandbox) {
		struct mpk_sandbox s = *work->library.sandbox;

		s.kept = low < high ? (int[]){ low, high } : (int[]){ high, low };
		s.kept_count = 2;
		state = mpk_sandbox_enter(&s);
	}
	if (state.files && state.calls)
		return MPK_OK;
	return mpk_fail(err, MPK_E_LOAD,
			"the called code cannot be isolated: this system has no %s",
			state.files ? "seccomp" : "Landlock");
}

static enum mpk_code open_session(struct session *s, struct mpk_error *err)
{
	const struct mpk_library_options *library = &s->work->library;

	MPK_TRY(enter_sandbox(s->work, err));
	MPK_TRY(mpk_runtime_create(&library->runtime, &s->runtime, err));
	MPK_TRY(mpk_executors_add(s->runtime, err));
	mpk_runtime_watch_loads(s->runtime, loaded, s->side);
	/* most of a model's blob are constants */
	mpk_child_load(s->side, library->image ? library->image->blob.len : 0);
	return MPK_OK;
}

/* An error inside the call is the caller's news, not a failure of the session.
 * @opened  what opening the session failed with; MPK_OK */
static enum mpk_code do_item(struct session *s, const struct mpk_error *opened, bool *ends,
			     struct mpk_error *err)
{
	struct mpk_wire wire = { .fd = s->work->reply };
	struct mpk_report_message m = { .kind = MPK_REPORT_RETURNED };
	struct mpk_error failure = *opened;
	enum mpk_code rc = failure.code;

	s->call = s->work->items[s->order.item].call;
	s->where = (struct mpk_dldevice){ 0 };
	if (rc == MPK_OK) {
		rc = call_ordered(s, &wire, &failure);
		end_call(s);
	}
	if (rc == MPK_E_AGAIN && !s->work->library.runtime.use_real_tvm_ffi) {
		m.kind = MPK_REPORT_AGAIN;
	} else if (rc != MPK_OK) {
		m.kind = MPK_REPORT_FAILED;
		wire = (struct mpk_wire){ .fd = s->work->reply };
		MPK_TRY(mpk_wire_put(&wire, mpk_span_of(&failure, sizeof failure), err));
		MPK_TRY(mpk_wire_end(&wire, err));
	}
	m.reply_bytes = wire.off;
	m.ends = *ends = m.kind == MPK_REPORT_AGAIN || s->order.is_last || is_unusable(s, rc);
	return report(s, m, err);
}

enum mpk_code mpk_session_work_in_child(struct mpk_child_side *side, void *user,
					struct mpk_error *err)
{
	struct session s = { .work = user, .side = side, .process = getpid() };
	struct mpk_error opened = { 0 };
	enum mpk_code rc = MPK_OK;
	bool ends = false;

	if (s.work->library.enter_child)
		s.work->library.enter_child();
	mpk_channel_keep_child(&s.work->channel);
	(void)open_session(&s, &opened);
	while (rc == MPK_OK && !ends && mpk_channel_take(&s.work->channel, &s.order))
		rc = do_item(&s, &opened, &ends, err);
	session_fini(&s);
	return rc;
}

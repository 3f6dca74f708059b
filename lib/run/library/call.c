/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - calls: runs a function, copies back what it wrote, and passes results to the caller
 *
 * The caller's results and tensors are written only when nothing can fail any more.
 */
#include "library/internal/library.h"

#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "executor/machine.h"
#include "runtime/runtime.h"

static void call_fini(struct mpk_run_call *c)
{
	mpk_run_tensors_fini(&c->tensors);
	mpk_value_drop(&c->result);
	/* values borrow from args, except tuples */
	for (size_t i = 0; c->values && i < c->value_count; i++)
		if (c->values[i].kind == MPK_VALUE_ARRAY)
			mpk_value_drop(&c->values[i]);
	for (size_t i = 0; c->args && i < c->arg_count; i++)
		mpk_value_drop(&c->args[i].value);
	if (c->values != c->few_values)
		free(c->values);
	if (c->args != c->few_args)
		free(c->args);
	free(c->names);
}

/* Returns the device for results: the device of the first tensor. */
static struct mpk_dldevice home_of(const struct mpk_run_call *c)
{
	for (size_t i = 0; i < c->arg_count; i++)
		if (c->args[i].from && c->args[i].value.kind == MPK_VALUE_TENSOR)
			return c->args[i].from->device;
	return (struct mpk_dldevice){ MPK_DL_CPU, 0 };
}

/* --- the call --------------------------------------------------------------------------------- */

/* A call returns when all work that it started on devices has ended. On the caller's stream it
 * returns earlier: work that the caller queues there runs after it, and copies to host memory have
 * waited. */
static enum mpk_code invoke(struct mpk_run_call *c, struct mpk_function *f, struct mpk_error *err)
{
	const struct mpk_args args = { c->values, c->names, c->value_count };

	struct mpk_devices *devices = mpk_runtime_devices(c->f->model->runtime);
	struct mpk_stop *stop = &c->f->session->stop, *before;
	unsigned operators;
	enum mpk_code code;

	mpk_value_drop(&c->result);
	atomic_store_explicit(&stop->was_seen, false, memory_order_relaxed);
	atomic_store_explicit(&stop->failed_at.is_noted, false, memory_order_relaxed);
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&mpk_devices_memory(devices, i)->was_refused, false,
				      memory_order_relaxed);
	MPK_TRY(mpk_stop_check(stop, err));
	before = mpk_stop_swap(stop);
	operators = mpk_run_open_operators();
	code = mpk_function_call(f, &args, &c->result, err);
	mpk_run_close_operators(operators);
	(void)mpk_stop_swap(before);
	if (code != MPK_OK && atomic_load(&stop->was_seen)) {
		/* earlier work has ended, so the next call may reuse its memory */
		MPK_TRY(mpk_run_settle(c->f->model, err));
		return mpk_stop_fail(stop, err);
	}
	/* compiled code loses the reason of an error */
	for (int i = 0; i < 2 && code != MPK_OK && code != MPK_E_BUDGET; i++)
		if (atomic_load(&mpk_devices_memory(devices, i)->was_refused))
			code = mpk_memory_fail(mpk_devices_memory(devices, i), err);
	MPK_TRY(code);
	return mpk_run_settle(c->f->model, err);
}

/* Whether a call may have failed because the model's code numbers its devices in the other order
 *
 * Compiled functions do not say in which order they number devices. Their kernels check the device
 * of each argument before they access it. So if the first guess fails, the other order is tried.
 * @where   the device that was guessed
 * @err     the error of the call */
static bool machine_may_turn(const struct mpk_function *f, struct mpk_dldevice where,
			     const struct mpk_error *err)
{
	return err->code == MPK_E_RAISED && f->signature && where.type > MPK_DL_CPU &&
	       strstr(err->text, ".device_type");
}

/* Finds the function for the other order of devices, because compiled functions do not say which
 * order they use. */
static enum mpk_code run_turn(const struct mpkr_function *f, struct mpk_function **out,
			      struct mpk_error *err)
{
	struct mpkr_model *model = f->model;
	const struct mpk_dldevice turned[] = { { .type = MPK_DL_CPU }, model->where };
	struct mpk_memory *before;
	enum mpk_code code, back;

	before = mpk_run_lock(model);
	code = mpk_runtime_set_devices(model->runtime, turned, MPK_ARRAY_COUNT(turned),
				       model->is_guess, err);
	if (code == MPK_OK)
		code = mpk_library_find(model->library, f->name, out, err);
	back = mpk_runtime_set_devices(model->runtime, &model->where, 1, model->is_guess, NULL);
	mpk_run_unlock(model, before);
	(void)back; /* cannot fail: a decrease always fits */
	return code;
}

static enum mpk_code run_once(struct mpk_run_call *c, struct mpk_error *err)
{
	enum mpk_code code = invoke(c, c->f->function, err);
	struct mpk_error ignored;
	struct mpk_function *turned;

	if (code == MPK_OK || c->keeps_order || !c->f->model->is_guess ||
	    !machine_may_turn(c->f->function, c->f->where, err))
		return code;
	if (run_turn(c->f, &turned, &ignored) != MPK_OK)
		return code;
	if (invoke(c, turned, &ignored) != MPK_OK) {
		mpk_function_drop(turned);
		return code;
	}
	/* names of bound parameters and types belong to the program, which both functions hold */
	mpk_function_drop(c->f->function);
	c->f->function = turned;
	return MPK_OK;
}

/* Copies the current content of a tensor to a compact host tensor. */
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

/* If a function that is not a model wrote to a copy, copies the data to the caller's tensor.
 * Unchanged memory is not written, as it may be read-only. */
static enum mpk_code write_one_back(const struct mpkr_function *f, const struct mpk_run_arg *arg,
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

static enum mpk_code write_back(struct mpk_run_call *c, size_t first, struct mpk_error *err)
{
	if (mpk_run_function_is_model(c->f))
		return MPK_OK;
	for (size_t i = first; i < c->arg_count; i++)
		MPK_TRY(write_one_back(c->f, &c->args[i], err));
	return MPK_OK;
}

/* --- results of the library ------------------------------------------------------------------- */

static enum mpk_code give_results(struct mpk_run_call *c, struct mpkr_result **results,
				  struct mpk_error *err)
{
	struct mpk_run_tensors *t = &c->tensors;
	size_t made = 0;

	for (size_t i = 0; i < t->count; i++)
		MPK_TRY(mpk_run_own(c->f->model, &t->items[i], c->args, c->arg_count, home_of(c),
				    err));
	struct mpkr_result **all = calloc(t->count + 1, sizeof(struct mpkr_result *));

	MPK_TRY_ALLOC(all, err);
	while (made < t->count && (all[made] = mpk_run_result(c->f->model, t->items[made])))
		t->items[made++] = NULL;
	if (made == t->count && made)
		memcpy(results, all, made * sizeof(struct mpkr_result *));
	for (size_t i = 0; i < made && made < t->count; i++)
		mpkr_free(all[i]);
	free(all);
	MPK_TRY_ALLOC(made == t->count, err);
	return MPK_OK;
}

struct wanted {
	struct mpkr_result **results;
	size_t room;
	size_t *count;
};

static enum mpk_code call(struct mpk_run_call *c, mpkr_function *f,
			  const struct mpkr_tensor *const *in, size_t n,
			  const struct wanted *wanted, struct mpk_error *err)
{
	MPK_TRY(mpk_run_call_begin(c, f, &(struct mpk_run_inputs){ .tensors = in, .count = n },
				   err));
	MPK_TRY(run_once(c, err));
	MPK_TRY(write_back(c, 0, err));
	MPK_TRY(mpk_run_tensors_collect(&c->tensors, &c->result, err));
	mpk_value_drop(&c->result); /* the function's result no longer holds its elements */
	if (c->tensors.count > wanted->room) {
		*wanted->count = c->tensors.count;
		return mpk_fail(err, MPK_E_USAGE, "%zu results, and room for %zu", c->tensors.count,
				wanted->room);
	}
	MPK_TRY(give_results(c, wanted->results, err));
	*wanted->count = c->tensors.count;
	return MPK_OK;
}

static enum mpk_code call_checked(mpkr_function *f, const struct mpkr_tensor *const *in, size_t n,
				  const struct wanted *wanted, struct mpk_error *err)
{
	MPK_CLEANUP(call_fini) struct mpk_run_call c = { 0 };

	if (!f || (n && !in) || !wanted->count || (wanted->room && !wanted->results))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	return call(&c, f, in, n, wanted, err);
}

int mpkr_call(mpkr_function *function, const struct mpkr_tensor *const *in, size_t n,
	      struct mpkr_result **results, size_t room, size_t *count, struct mpkr_error *err)
{
	const struct wanted wanted = { results, room, count };
	struct mpk_error failure;
	enum mpk_code code = MPK_OK;

	if (function)
		code = mpk_run_enter(function, &failure);
	if (code != MPK_OK)
		return mpk_run_report(&failure, err);
	code = call_checked(function, in, n, &wanted, &failure);
	if (function)
		mpk_run_leave(function);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* --- results as values ------------------------------------------------------------------------ */

/* Makes a value with its own memory. A tuple is always copied: the function may have kept the one
 * it returned. Tensors without other references are passed on.
 * @home    device for tensors; NULL: leave them where they are
 * @takes   v may be taken apart, since it is not used again */
static enum mpk_code own_value(const struct mpk_run_call *c, struct mpk_value *v,
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
	/* deeper tuples would overflow the stack */
	if (v->kind != MPK_VALUE_ARRAY || depth == MPK_RUN_NEST_MAX) {
		*out = mpk_value_hold(*v);
		return MPK_OK;
	}
	MPK_TRY(mpk_value_of_array(v->array->count, out, err));
	out->array->tag = v->array->tag;
	takes = takes && mpk_refs_is_only(&v->array->refs);
	for (size_t i = 0; i < v->array->count && code == MPK_OK; i++)
		code = own_value(c, &v->array->items[i], home, takes, depth + 1,
				 &out->array->items[i], err);
	if (code != MPK_OK)
		mpk_value_drop(out);
	return code;
}

static enum mpk_code call_value(mpkr_function *f, const struct mpkr_arg *in, size_t n, bool is_sent,
				struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(call_fini) struct mpk_run_call c = { 0 };
	struct mpk_dldevice home;

	MPK_TRY(mpk_run_call_begin(&c, f, &(struct mpk_run_inputs){ .args = in, .count = n }, err));
	MPK_TRY(run_once(&c, err));
	MPK_TRY(write_back(&c, 0, err));
	home = home_of(&c);
	return own_value(&c, &c.result, is_sent ? &home : NULL, true, 0, out, err);
}

enum mpk_code mpk_run_call_value(mpkr_function *f, const struct mpkr_arg *in, size_t n,
				 bool is_sent, const struct mpk_run_stream *stream,
				 struct mpk_value *out, struct mpk_error *err)
{
	enum mpk_code code;

	MPK_TRY(mpk_run_enter(f, err));
	if (stream)
		f->model->stream = *stream;
	code = call_value(f, in, n, is_sent, out, err);
	mpk_run_leave(f);
	return code;
}

/* --- results in tensors of the caller --------------------------------------------------------- */

static const struct mpk_dltensor *public_tensor(const struct mpkr_tensor *t)
{
	return (const struct mpk_dltensor *)(const void *)t;
}

/* A bool takes one byte, even if the release gives its type one bit. */
static enum mpk_code check_fit(const struct mpk_tensor *t, const struct mpk_dltensor *out, size_t i,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
	struct mpk_type type;

	if ((mpk_dtype_equal(t->dl.dtype, out->dtype) ||
	     (mpk_dtype_is_bool(t->dl.dtype) && mpk_dtype_is_bool(out->dtype))) &&
	    t->dl.ndim == out->ndim &&
	    (!out->ndim ||
	     memcmp(t->dl.shape, out->shape, (size_t)out->ndim * sizeof *out->shape) == 0))
		return MPK_OK;
	type = mpk_type_tensor(t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, NULL);
	mpk_type_text(&type, &said);
	mpk_strbuf_puts(&said, ", not ");
	type = mpk_type_tensor(out->dtype, out->shape, (size_t)out->ndim, NULL);
	mpk_type_text(&type, &said);
	return mpk_fail(err, MPK_E_USAGE, "output %zu is %s", i, mpk_strbuf_text(&said));
}

static enum mpk_code copy_out(struct mpk_run_call *c, struct mpk_tensor **t,
			      const struct mpk_dltensor *out, struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_runtime_devices(c->f->model->runtime);

	if (!mpk_dldevice_is_host(out->device)) {
		MPK_TRY(mpk_devices_copy(devices, &(*t)->dl, out, (*t)->bytes, err));
		return mpk_run_settle(c->f->model, err);
	}
	mpk_tensor_copy_to(*t, out);
	return MPK_OK;
}

/* Everything that can fail comes before the first byte is written, except errors of a device. */
static enum mpk_code put_out(struct mpk_run_call *c, const struct mpkr_tensor *const *out, size_t m,
			     struct mpk_error *err)
{
	static const struct mpk_dldevice host = { MPK_DL_CPU, 0 };
	struct mpk_run_tensors *t = &c->tensors;

	if (t->count != m)
		return mpk_fail(err, MPK_E_USAGE, "%zu results for %zu outputs", t->count, m);
	for (size_t i = 0; i < m; i++)
		MPK_TRY(check_fit(t->items[i], public_tensor(out[i]), i, err));
	for (size_t i = 0; i < m; i++)
		if (mpk_dldevice_is_host(public_tensor(out[i])->device))
			MPK_TRY(mpk_run_own(c->f->model, &t->items[i], c->args, c->arg_count, host,
					    err));
	for (size_t i = 0; i < m; i++)
		MPK_TRY(copy_out(c, &t->items[i], public_tensor(out[i]), err));
	return MPK_OK;
}

static enum mpk_code call_into(mpkr_function *f, const struct mpkr_tensor *const *in, size_t n,
			       const struct mpkr_tensor *const *out, size_t m,
			       struct mpk_error *err)
{
	MPK_CLEANUP(call_fini) struct mpk_run_call c = { 0 };
	bool is_model;

	if (!f || (n && !in) || (m && !out))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	is_model = mpk_run_function_is_model(f);
	if (n > MPK_ARGS_MAX || m > MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_USAGE,
				"%zu inputs and %zu outputs; at most %d are passed", n, m,
				MPK_ARGS_MAX);
	MPK_TRY(mpk_run_call_begin(
		&c, f,
		&(struct mpk_run_inputs){ .tensors = in, .outs = out, .count = n, .out_count = m },
		err));
	MPK_TRY(run_once(&c, err));
	if (!is_model)
		return write_back(&c, n, err);
	MPK_TRY(mpk_run_tensors_collect(&c.tensors, &c.result, err));
	mpk_value_drop(&c.result);
	return put_out(&c, out, m, err);
}

int mpkr_call_into(mpkr_function *function, const struct mpkr_tensor *const *in, size_t n,
		   const struct mpkr_tensor *const *out, size_t m, struct mpkr_error *err)
{
	struct mpk_error failure;
	enum mpk_code code = MPK_OK;

	if (function)
		code = mpk_run_enter(function, &failure);
	if (code != MPK_OK)
		return mpk_run_report(&failure, err);
	code = call_into(function, in, n, out, m, &failure);
	if (function)
		mpk_run_leave(function);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* --- in steps (inspect.h) ----------------------------------------------------------------------- */

enum mpk_code mpk_run_once(struct mpk_run_call *c, struct mpk_observer *first,
			   const struct mpk_value **returned, struct mpk_error *err)
{
	struct mpk_runtime *runtime = c->f->model->runtime;
	enum mpk_code code;

	mpk_runtime_set_observers(runtime, first);
	code = run_once(c, err);
	mpk_runtime_set_observers(runtime, NULL);
	*returned = &c->result;
	return code;
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

	/* data on the host was written in place */
	if (from == to)
		return MPK_OK;
	return mpk_devices_fetch(mpk_runtime_devices(c->f->model->runtime), &from->dl, to, err);
}

enum mpk_code mpk_run_fetch(struct mpk_run_call *c, const struct mpk_value *args,
			    const bool *is_out, struct mpk_value *returned, struct mpk_error *err)
{
	static const struct mpk_dldevice host = { MPK_DL_CPU, 0 };
	struct mpk_value v = c->result;

	for (size_t i = 0; i < c->arg_count; i++)
		if (is_out[i])
			MPK_TRY(fetch_argument(c, i, args[i].tensor, err));
	return own_value(c, &v, &host, false, 0, returned, err);
}

void mpk_run_end(struct mpk_run_call *c)
{
	if (c)
		call_fini(c);
	free(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - calls: arguments placed, the function run, results handed over
 *
 * A caller's results and tensors are touched when nothing can fail any more.
 */
#include "library/internal/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "base/strbuf.h"
#include "runtime/runtime.h"

void mpk_run_call_fini(struct mpk_run_call *c)
{
	mpk_run_tensors_fini(&c->tensors);
	mpk_value_drop(&c->result);
	/* what values hold of args is borrowed, but for tuples */
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

enum mpk_code mpk_run_call_init(struct mpk_run_call *c, struct mpkr_function *f, size_t arg_count,
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
	if (f->model->stream.is_set)
		MPK_TRY(mpk_devices_set_stream(mpk_runtime_devices(f->model->runtime), f->where,
					       f->model->stream.stream, err));
	for (size_t i = 0; i < f->bound_count; i++) {
		c->values[value_count + i] = mpk_run_borrowed(&f->bound[i].value);
		c->names[value_count + i] = f->bound[i].name;
	}
	return MPK_OK;
}

/* As the caller passes tensors. */
static enum mpk_code call_init(struct mpk_run_call *c, struct mpkr_function *f, size_t arg_count,
			       struct mpk_error *err)
{
	return mpk_run_call_init(c, f, arg_count,
				 mpk_run_function_is_model(f) ? f->open_count : arg_count, false,
				 err);
}

/* --- arguments -------------------------------------------------------------------------------- */

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

/* Values may be tuples as a whole: what they leave open is seen when they are taken. */
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

/* What a caller passes, one after the other. */
struct inputs {
	const struct mpkr_tensor *const *tensors; /* count; NULL: args */
	const struct mpkr_tensor *const *more;    /* tensors after those */
	const struct mpkr_arg *args;
	size_t count;
	size_t at, leaf; /* the next one; what it is among the inputs of the function */
};

static struct mpkr_arg input_at(const struct inputs *in, size_t i)
{
	if (!in->tensors && !in->more)
		return in->args[i];
	return (struct mpkr_arg){ .tensor = i < in->count ? in->tensors[i]
							  : in->more[i - in->count] };
}

/* The next input. A tuple that is passed as a whole counts as what is in it. */
static enum mpk_code take_next(struct mpk_run_call *c, struct inputs *in,
			       const struct mpk_type *type, const struct mpk_value **out,
			       struct mpk_error *err)
{
	const struct mpkr_arg arg = input_at(in, in->at);
	struct mpk_run_arg *placed = &c->args[in->at++];

	MPK_TRY(mpk_run_place(c->f, &arg, in->leaf, placed, err));
	in->leaf += type ? mpk_run_count_leaves(type) : 1;
	*out = &placed->value;
	return MPK_OK;
}

/* Tuples are put together again, unless one is passed as a whole. */
static enum mpk_code put_together(struct mpk_run_call *c, struct inputs *in,
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

static enum mpk_code place_all(struct mpk_run_call *c, struct inputs in, struct mpk_error *err)
{
	const struct mpkr_function *f = c->f;
	const struct mpk_value *v;

	for (size_t i = 0; i < c->arg_count && !mpk_run_function_is_model(f); i++) {
		MPK_TRY(take_next(c, &in, NULL, &v, err));
		c->values[i] = v->kind == MPK_VALUE_ARRAY ? mpk_value_hold(*v) : *v;
	}
	if (!mpk_run_function_is_model(f))
		return MPK_OK;
	for (size_t i = 0; i < f->open_count; i++)
		MPK_TRY(put_together(c, &in, f->open[i], &c->values[i], false, err));
	return in.at == c->arg_count ? MPK_OK : fail_input_count(f, c->arg_count, err);
}

/* Where results are wanted: where the first tensor is. */
static struct mpk_dldevice home_of(const struct mpk_run_call *c)
{
	for (size_t i = 0; i < c->arg_count; i++)
		if (c->args[i].from && c->args[i].value.kind == MPK_VALUE_TENSOR)
			return c->args[i].from->device;
	return (struct mpk_dldevice){ MPK_DL_CPU, 0 };
}

/* --- the call --------------------------------------------------------------------------------- */

/* A call ends when what it started on devices has ended. On the caller's stream it ends before: what he queues
 * there next comes after it, and copies to host memory have waited. */
static enum mpk_code invoke(struct mpk_run_call *c, struct mpk_function *f, struct mpk_error *err)
{
	const struct mpk_args args = { c->values, c->names, c->value_count };

	mpk_value_drop(&c->result);
	MPK_TRY(mpk_function_call(f, &args, &c->result, err));
	return mpk_run_settle(c->f->model, err);
}

/* Whether a call failed because the code of a model numbers its devices the other way round
 * Compiled functions do not say in which order they number them. Their kernels look at the device of what they are given
 * before they touch anything, so that the other order is as good a guess when the first one fails.
 * @where   the device that was guessed
 * @err     what the call failed with */
static bool machine_may_turn(const struct mpk_function *f, struct mpk_dldevice where,
			     const struct mpk_error *err)
{
	return err->code == MPK_E_RAISED && f->signature && where.type > MPK_DL_CPU &&
	       strstr(err->text, ".device_type");
}

/* Compiled functions do not say in which order they number devices. */
static enum mpk_code run_turn(const struct mpkr_function *f, struct mpk_function **out,
			      struct mpk_error *err)
{
	struct mpkr_model *model = f->model;
	const struct mpk_dldevice turned[] = { { .type = MPK_DL_CPU }, model->where };
	enum mpk_code code, back;

	(void)pthread_mutex_lock(&model->lock);
	code = mpk_runtime_set_devices(model->runtime, turned, MPK_ARRAY_COUNT(turned),
				       model->is_guess, err);
	if (code == MPK_OK)
		code = mpk_library_find(model->library, f->name, out, err);
	back = mpk_runtime_set_devices(model->runtime, &model->where, 1, model->is_guess, NULL);
	(void)pthread_mutex_unlock(&model->lock);
	(void)back; /* fewer than before always fit */
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
	/* names of bound parameters and types are those of the program, which both hold */
	mpk_function_drop(c->f->function);
	c->f->function = turned;
	return MPK_OK;
}

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

static enum mpk_code write_back(struct mpk_run_call *c, size_t first, struct mpk_error *err)
{
	if (mpk_run_function_is_model(c->f))
		return MPK_OK;
	for (size_t i = first; i < c->arg_count; i++)
		MPK_TRY(mpk_run_write_back(c->f, &c->args[i], err));
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

static enum mpk_code call(struct mpk_run_call *c, const struct mpkr_tensor *const *in, size_t n,
			  const struct wanted *wanted, struct mpk_error *err)
{
	MPK_TRY(place_all(c, (struct inputs){ .tensors = in, .count = n }, err));
	MPK_TRY(run_once(c, err));
	MPK_TRY(write_back(c, 0, err));
	MPK_TRY(mpk_run_tensors_collect(&c->tensors, &c->result, err));
	mpk_value_drop(&c->result); /* what the function returned holds its parts no longer */
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
	MPK_CLEANUP(mpk_run_call_fini) struct mpk_run_call c = { 0 };

	if (!f || (n && !in) || !wanted->count || (wanted->room && !wanted->results))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	MPK_TRY(check_input_count(f, n, false, err));
	MPK_TRY(call_init(&c, f, n, err));
	return call(&c, in, n, wanted, err);
}

int mpkr_call(mpkr_function *function, const struct mpkr_tensor *const *in, size_t n,
	      struct mpkr_result **results, size_t room, size_t *count, struct mpkr_error *err)
{
	const struct wanted wanted = { results, room, count };
	struct mpk_error failure;
	enum mpk_code code;

	if (function)
		(void)pthread_mutex_lock(&function->session->lock);
	code = call_checked(function, in, n, &wanted, &failure);
	if (function)
		(void)pthread_mutex_unlock(&function->session->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* --- results as values ------------------------------------------------------------------------ */

static enum mpk_code call_value(mpkr_function *f, const struct mpkr_arg *in, size_t n, bool is_sent,
				struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_run_call_fini) struct mpk_run_call c = { 0 };
	struct mpk_dldevice home;

	MPK_TRY(check_input_count(f, n, true, err));
	MPK_TRY(call_init(&c, f, n, err));
	MPK_TRY(place_all(&c, (struct inputs){ .args = in }, err));
	MPK_TRY(run_once(&c, err));
	MPK_TRY(write_back(&c, 0, err));
	home = home_of(&c);
	return mpk_run_own_value(&c, &c.result, is_sent ? &home : NULL, true, out, err);
}

enum mpk_code mpk_run_call_value(mpkr_function *f, const struct mpkr_arg *in, size_t n,
				 bool is_sent, const struct mpk_run_stream *stream,
				 struct mpk_value *out, struct mpk_error *err)
{
	enum mpk_code code;

	(void)pthread_mutex_lock(&f->session->lock);
	if (stream)
		f->model->stream = *stream;
	code = call_value(f, in, n, is_sent, out, err);
	(void)pthread_mutex_unlock(&f->session->lock);
	return code;
}

/* --- results in tensors of the caller --------------------------------------------------------- */

static const struct mpk_dltensor *public_tensor(const struct mpkr_tensor *t)
{
	return (const struct mpk_dltensor *)(const void *)t;
}

static enum mpk_code check_out(const struct mpk_run_call *c, const struct mpk_dltensor *out,
			       size_t i, struct mpk_error *err)
{
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

/* A bit of bool has a byte of its own, whatever a release calls its type. */
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

/* Everything that can fail comes before the first byte is written, but for what a device may refuse. */
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
	MPK_CLEANUP(mpk_run_call_fini) struct mpk_run_call c = { 0 };
	bool is_model;

	if (!f || (n && !in) || (m && !out))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	is_model = mpk_run_function_is_model(f);
	if (n > MPK_ARGS_MAX || m > MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_USAGE,
				"%zu inputs and %zu outputs; at most %d are passed", n, m,
				MPK_ARGS_MAX);
	MPK_TRY(check_input_count(f, is_model ? n : n + m, false, err));
	MPK_TRY(call_init(&c, f, is_model ? n : n + m, err));
	for (size_t i = 0; i < m; i++)
		MPK_TRY(check_out(&c, public_tensor(out[i]), i, err));
	MPK_TRY(place_all(&c, (struct inputs){ .tensors = in, .more = out, .count = n }, err));
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
	enum mpk_code code;

	if (function)
		(void)pthread_mutex_lock(&function->session->lock);
	code = call_into(function, in, n, out, m, &failure);
	if (function)
		(void)pthread_mutex_unlock(&function->session->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* register.c - functions of the application that models can call, and stopping calls
 *
 * Arguments from a model are passed to such a function as values that are valid only during the
 * call: they are on the stack of the model's code.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "library/internal/library.h"
#include "runtime/registry.h"
#include "text/escape.h"

/* --- calls ------------------------------------------------------------------------------------- */

/* Keeps the application's text unchanged, so that "ValueError: ..." keeps its kind. */
static enum mpk_code take_failure(const char *name, const struct mpkr_error *from,
				  struct mpk_error *err)
{
	enum mpk_code code = MPK_E_RAISED;

	if (from->code == MPKR_E_NO_MEMORY)
		code = MPK_E_NOMEM;
	else if (from->code == MPKR_E_STOPPED)
		code = MPK_E_TIMEOUT;
	if (from->text[0])
		return mpk_fail(err, code, "%s", from->text);
	return mpk_fail(err, code, "RuntimeError: '%s', a function of the application, failed",
			MPK_QUOTE(mpk_span_str(name)));
}

/* @result  result of the function, NULL if none. Taken over in every case */
static enum mpk_code take_result(const struct mpkr_model *model, const char *name,
				 mpkr_value *result, struct mpk_value *out, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	if (!result)
		return MPK_OK;
	if (result->model == model)
		*out = mpk_value_hold(result->value);
	else
		code = mpk_fail(err, MPK_E_RAISED, "ValueError: '%s' gave a value of another model",
				MPK_QUOTE(mpk_span_str(name)));
	mpkr_value_drop(result);
	return code;
}

/* The function to call, and its model. */
struct callee {
	struct mpkr_model *model;
	const char *name;
	mpkr_callback *function;
	void *context;
};

static enum mpk_code call_function(const struct callee *callee, mpkr_value *const *args,
				   size_t count, struct mpk_value *out, struct mpk_error *err)
{
	const struct mpkr_invocation call = { .size = sizeof call,
					      .model = callee->model,
					      .name = callee->name,
					      .args = args,
					      .count = count };
	struct mpkr_error failure = { 0 };
	mpkr_value *result = NULL;
	int code = callee->function(callee->context, &call, &result, &failure);

	if (!code)
		return take_result(call.model, call.name, result, out, err);
	mpkr_value_drop(result);
	failure.code = code;
	return take_failure(call.name, &failure, err);
}

static enum mpk_code call_with(const struct callee *callee, const struct mpk_args *args,
			       struct mpk_value *out, struct mpk_error *err)
{
	struct mpkr_value few[12], *values = few;
	mpkr_value *few_places[MPK_ARRAY_COUNT(few)], **places = few_places;
	enum mpk_code code;

	if (args->count > MPK_ARRAY_COUNT(few)) {
		values = calloc(args->count, sizeof *values);
		places = calloc(args->count, sizeof *places);
	}
	if (values && places) {
		for (size_t i = 0; i < args->count; i++) {
			values[i] = (struct mpkr_value){ callee->model, args->values[i], true };
			places[i] = &values[i];
		}
		code = call_function(callee, places, args->count, out, err);
	} else {
		code = mpk_fail_nomem(err);
	}
	if (args->count > MPK_ARRAY_COUNT(few)) {
		free(values);
		free(places);
	}
	return code;
}

enum mpk_code mpk_run_call_application(void *application, const char *name,
				       const struct mpk_args *args, struct mpk_value *result,
				       struct mpk_error *err)
{
	struct mpk_registry_use use;
	enum mpk_code code;

	if (!mpk_registry_begin(application, name, &use))
		return mpk_fail(err, MPK_E_LOAD, "the application has taken '%s' away",
				MPK_QUOTE(mpk_span_str(name)));
	code = call_with(
		&(struct callee){ application, name, (mpkr_callback *)use.code, use.context }, args,
		result, err);
	mpk_registry_end(&use);
	return code;
}

/* --- as values ----------------------------------------------------------------------------------- */

/* The model outlives it: every holder of such a value holds the model or belongs to it. */
struct value_function {
	struct mpk_function base; /* must be the first field */
	struct callee callee;
	void (*release)(void *context);
	char name[];
};

static enum mpk_code call_value_function(struct mpk_function *self, const struct mpk_args *args,
					 struct mpk_value *result, struct mpk_error *err)
{
	const struct value_function *f = (const struct value_function *)self;
	struct mpk_context before = mpk_context_get();
	enum mpk_code code = call_with(&f->callee, args, result, err);

	/* nested calls may have changed it */
	(void)mpk_context_swap(before);
	return code;
}

static void destroy_value_function(struct mpk_function *self)
{
	struct value_function *f = (struct value_function *)self;

	if (f->release)
		f->release(f->callee.context);
	free(f);
}

static enum mpk_code make_function(struct mpkr_model *model, const char *name,
				   mpkr_callback *function, void *context,
				   void (*release)(void *context), mpkr_value **out,
				   struct mpk_error *err)
{
	struct value_function *made;
	size_t len;
	enum mpk_code code;

	if (!model || !function || !out)
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	len = name ? strlen(name) : 0;
	made = calloc(1, sizeof *made + len + 1);
	MPK_TRY_ALLOC(made, err);
	if (len)
		memcpy(made->name, name, len);
	made->base = (struct mpk_function){ .refs = 1,
					    .name = made->name,
					    .call = call_value_function,
					    .destroy = destroy_value_function };
	made->callee = (struct callee){ model, made->name, function, context };
	code = mpk_run_value(
		model, (struct mpk_value){ .kind = MPK_VALUE_FUNCTION, .function = &made->base },
		out, err);
	if (code == MPK_OK)
		made->release = release;
	else
		mpk_function_drop(&made->base);
	return code;
}

int mpkr_value_callback(mpkr_model *model, const char *name, mpkr_callback *function, void *context,
			void (*release)(void *context), mpkr_value **out, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (make_function(model, name, function, context, release, out, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}

int mpkr_value_function(mpkr_function *function, mpkr_value **out, struct mpkr_error *err)
{
	struct mpk_value made = { .kind = MPK_VALUE_FUNCTION };
	struct mpk_error failure;
	enum mpk_code code;

	if (!function || !out)
		return mpk_run_misuse("a pointer that is needed is NULL", err);
	made.function = mpk_function_hold(function->function);
	code = mpk_run_value(function->model, made, out, &failure);
	if (code == MPK_OK)
		return MPKR_OK;
	mpk_value_drop(&made);
	return mpk_run_report(&failure, err);
}

/* --- registered ---------------------------------------------------------------------------------- */

/* If the name already exists, models would never call the application's function. */
static enum mpk_code check_name(struct mpkr_model *model, const char *name, struct mpk_error *err)
{
	struct mpk_function *f = NULL;

	if (model && !mpk_registry_has(model, name))
		MPK_TRY(mpk_runtime_find_global(model->runtime, name, &f, err));
	if (f)
		return mpk_fail(err, MPK_E_USAGE, "'%s' is a function of the library itself",
				MPK_QUOTE(mpk_span_str(name)));
	return MPK_OK;
}

int mpkr_register(mpkr_model *model, const char *name, mpkr_callback *function, void *context,
		  struct mpkr_error *err)
{
	struct mpk_error failure;
	enum mpk_code code = MPK_OK;

	if (!name || !name[0])
		code = mpk_fail(&failure, MPK_E_USAGE, "a function without a name");
	if (code == MPK_OK && function)
		code = check_name(model, name, &failure);
	if (code == MPK_OK)
		code = mpk_registry_put(model, name, (mpk_registered_code *)function, context,
					&failure);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* --- stopped ------------------------------------------------------------------------------------- */

void mpkr_stop(mpkr_function *function)
{
	if (function)
		atomic_store(&function->session->stop.is_asked, true);
}

void mpkr_resume(mpkr_function *function)
{
	if (!function)
		return;
	atomic_store(&function->session->stop.is_asked, false);
	atomic_store(&function->session->stop.deadline, 0);
}

void mpkr_stop_after(mpkr_function *function, int64_t nanoseconds)
{
	int64_t now = mpk_clock();

	if (!function)
		return;
	if (nanoseconds < 0)
		nanoseconds = 0;
	atomic_store(&function->session->stop.deadline,
		     nanoseconds > INT64_MAX - now ? INT64_MAX : now + nanoseconds);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* register.c - functions of the application, and calls that it stops
 *
 * What a model passes is lent to the function as values that end with the call: they are on the stack of who calls.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "library/internal/library.h"
#include "runtime/registry.h"
#include "text/escape.h"

/* --- calls ------------------------------------------------------------------------------------- */

/* As the function says it, so that "ValueError: ..." stays one. */
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

/* @result  what the function gave; NULL: nothing. Taken over in every case */
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

static enum mpk_code call_function(const struct mpk_registry_use *use,
				   const struct mpkr_invocation *call, struct mpk_value *out,
				   struct mpk_error *err)
{
	mpkr_callback *function = (mpkr_callback *)use->code;
	struct mpkr_error failure = { 0 };
	mpkr_value *result = NULL;
	int code = function(use->context, call, &result, &failure);

	if (!code)
		return take_result(call->model, call->name, result, out, err);
	mpkr_value_drop(result);
	failure.code = code;
	return take_failure(call->name, &failure, err);
}

enum mpk_code mpk_run_call_application(void *application, const char *name,
				       const struct mpk_args *args, struct mpk_value *result,
				       struct mpk_error *err)
{
	struct mpkr_value few[12], *values = few;
	mpkr_value *few_places[MPK_ARRAY_COUNT(few)], **places = few_places;
	struct mpkr_invocation call = {
		.size = sizeof call, .model = application, .name = name, .count = args->count
	};
	struct mpk_registry_use use;
	enum mpk_code code;

	if (args->count > MPK_ARRAY_COUNT(few)) {
		values = calloc(args->count, sizeof *values);
		places = calloc(args->count, sizeof *places);
	}
	if (!values || !places) {
		code = mpk_fail_nomem(err);
	} else if (!mpk_registry_begin(application, name, &use)) {
		code = mpk_fail(err, MPK_E_LOAD, "the application has taken '%s' away",
				MPK_QUOTE(mpk_span_str(name)));
	} else {
		for (size_t i = 0; i < args->count; i++) {
			values[i] = (struct mpkr_value){ application, args->values[i] };
			places[i] = &values[i];
		}
		call.args = places;
		code = call_function(&use, &call, result, err);
		mpk_registry_end(&use);
	}
	if (args->count > MPK_ARRAY_COUNT(few)) {
		free(values);
		free(places);
	}
	return code;
}

/* --- registered ---------------------------------------------------------------------------------- */

/* A name that models find here already would never lead to the application. */
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

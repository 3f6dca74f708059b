/* Module code of tvm-ffi calls a function of ours. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/raised.h"

enum { ON_STACK = 24 }; /* a kernel launch has fewer arguments than that */

static int fail(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

static enum mpk_code call_values(struct mpk_function *f, const struct mpk_ffi_any *args,
				 size_t count, struct mpk_value *values, struct mpk_ffi_any *result,
				 struct mpk_error *err)
{
	enum mpk_convention conv = f->handle_convention;
	struct mpk_value got = { 0 };
	enum mpk_code rc = MPK_OK;

	for (size_t i = 0; i < count && rc == MPK_OK; i++)
		rc = mpk_ffi_decode(conv, &args[i], &values[i], err);
	if (rc == MPK_OK)
		rc = mpk_function_call(f, values, count, &got, err);
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&values[i]);
	if (rc == MPK_OK)
		rc = mpk_ffi_encode(conv, &got, result, err);
	mpk_value_drop(&got);
	return rc;
}

static int enter(enum mpk_convention conv, void *handle, const struct mpk_ffi_any *args,
		 int32_t count, struct mpk_ffi_any *result)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(conv, handle);
	struct mpk_function *f = cell->target;
	struct mpk_value small[ON_STACK] = { 0 };
	struct mpk_value *values = small;
	struct mpk_error error;

	if (!f || count < 0 || count > MPK_ARGS_MAX) {
		(void)mpk_fail(&error, MPK_E_RAISED, "%s",
			       f ? "more arguments than a call may have"
				 : "the function's library was closed");
		return fail(&error);
	}
	if (f->address && f->convention == conv)
		return MPK_CODE(mpk_ffi_safe_call, f->address)(NULL, args, count, result);
	if (count > ON_STACK)
		values = calloc((size_t)count, sizeof *values);
	if (!values) {
		(void)mpk_fail_nomem(&error);
		return fail(&error);
	}

	enum mpk_code rc = call_values(f, args, (size_t)count, values, result, &error);
	if (values != small)
		free(values);
	return rc == MPK_OK ? 0 : fail(&error);
}

int mpk_ffi_enter(void *handle, const struct mpk_ffi_any *args, int32_t count,
		  struct mpk_ffi_any *result)
{
	return enter(MPK_CONV_FFI, handle, args, count, result);
}

int mpk_ffi021_enter(void *handle, const struct mpk_ffi_any *args, int32_t count,
		     struct mpk_ffi_any *result)
{
	return enter(MPK_CONV_FFI021, handle, args, count, result);
}

static void drop_handle(struct mpk_function *f)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(f->handle_convention, f->handle);

	cell->target = NULL; /* the module may hold the handle longer than we live */
	mpk_ffi_drop(f->handle_convention, f->handle);
	f->handle = NULL;
}

void *mpk_ffi_handle(enum mpk_convention conv, struct mpk_function *f)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_lock(&lock);
	if (!f->handle) {
		f->handle_convention = conv;
		f->handle = mpk_ffi_make_function(
			conv, conv == MPK_CONV_FFI021 ? mpk_ffi021_enter : mpk_ffi_enter, f);
		f->handle_drop = drop_handle;
	}
	(void)pthread_mutex_unlock(&lock);
	return f->handle;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - kernels by themselves: device code of a model's file, launched with extents that the caller says
 *
 * Host code computes what a launch needs from the shapes of its tensors. Whoever calls a kernel without it has to say
 * that himself, once, when the kernel is found; a call then passes what the kernel's own parameters take.
 */
#include <string.h>

#include "library/internal/library.h"
#include "text/escape.h"

/* --- inputs ----------------------------------------------------------------------------------- */

enum mpk_code mpk_run_kernel_inputs(struct mpkr_function *f, struct mpk_error *err)
{
	size_t count = f->kernel->arg_count;
	struct mpk_type *types = mpk_arena_array(&f->arena, count + 1, sizeof *types);

	f->inputs = mpk_arena_array(&f->arena, count + 1, sizeof *f->inputs);
	MPK_TRY_ALLOC(types && f->inputs, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_dtype taken = f->kernel->arg_types[i];

		types[i] = (struct mpk_type){ .kind = MPK_TYPE_TENSOR };
		if (taken.code != MPK_DTYPE_HANDLE)
			types[i] = (struct mpk_type){ .kind = MPK_TYPE_SCALAR, .dtype = taken };
		f->inputs[i] = (struct mpk_run_leaf){ &types[i], "" };
	}
	f->input_count = count;
	return MPK_OK;
}

/* --- look-up ---------------------------------------------------------------------------------- */

static enum mpk_code take_launch(const struct mpkr_launch *from, struct mpk_kernel_extents *out,
				 struct mpk_error *err)
{
	*out = (struct mpk_kernel_extents){ 0 };
	if (!from)
		return MPK_OK;
	if (from->size < sizeof *from)
		return mpk_fail(err, MPK_E_USAGE, "a launch of %zu bytes: set its size",
				from->size);
	memcpy(out->grid, from->grid, sizeof out->grid);
	memcpy(out->block, from->block, sizeof out->block);
	out->shared_bytes = from->shared_bytes;
	return MPK_OK;
}

/* The device of a model is where its tensors are to be; one that was only guessed does not keep kernels for another
 * from being called. */
enum mpk_code mpk_run_kernel(struct mpkr_model *model, const char *name,
			     const struct mpk_kernel_extents *extents, struct mpk_kernel_found *out,
			     struct mpk_error *err)
{
	static const struct mpk_dldevice any;
	struct mpk_dldevice asked = model->is_guess ? any : model->where;
	enum mpk_code code;

	if (!model->tree)
		return mpk_fail(err, MPK_E_NOTFOUND,
				"no kernel '%s': the library has no blob, so there are no modules",
				MPK_QUOTE(mpk_span_str(name)));
	if (!model->kernels)
		MPK_TRY(mpk_kernel_set_create(model->runtime, model->tree, &model->kernels, err));
	MPK_TRY(mpk_kernel_set_find(model->kernels, name, extents, asked, out, err));
	code = mpk_devices_use(mpk_runtime_devices(model->runtime), out->where, err);
	if (code != MPK_OK)
		mpk_function_drop(out->function);
	return code;
}

static enum mpk_code find_launched(struct mpkr_model *model, const char *name,
				   const struct mpkr_launch *launch, struct mpkr_function **out,
				   struct mpk_error *err)
{
	struct mpk_kernel_extents extents;
	struct mpk_kernel_found found;

	MPK_TRY(take_launch(launch, &extents, err));
	MPK_TRY(mpk_run_kernel(model, name, &extents, &found, err));
	return mpk_run_function_create(model, model->first, name, &found, NULL, out, err);
}

int mpkr_find_kernel(mpkr_model *model, const char *name, const struct mpkr_launch *launch,
		     mpkr_function **out, struct mpkr_error *err)
{
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !name || !out) {
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
		return mpk_run_report(&failure, err);
	}
	(void)pthread_mutex_lock(&model->lock);
	code = find_launched(model, name, launch, out, &failure);
	(void)pthread_mutex_unlock(&model->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

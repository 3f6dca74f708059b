/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - parameters from files: constants that a file leaves open, and inputs that are always the same */
#include "library/internal/library.h"

#include <stdlib.h>

#include "executor/relay/relay.h"
#include "npy/npy.h"

enum mpk_code mpk_run_params_of(const struct mpkr_model *model, struct mpk_span name,
				struct mpk_tensor **out, struct mpk_error *err)
{
	size_t index;

	*out = NULL;
	for (const struct mpk_run_params *p = model->params; name.len && p; p = p->next)
		if (mpk_param_file_find(p->file, name, &index))
			return mpk_param_file_tensor(p->file, index,
						     mpk_dldevice_is_host(model->where), out, err);
	return MPK_OK;
}

static enum mpk_code find_late(void *user, struct mpk_span name, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	return mpk_run_params_of(user, name, out, err);
}

enum mpk_code mpk_run_params_late(struct mpkr_model *model, struct mpk_error *err)
{
	struct mpk_module **modules;
	enum mpk_code code = MPK_OK;
	size_t count;

	if (!model->params)
		return MPK_OK;
	MPK_TRY(mpk_library_modules(model->library, &modules, &count, err));
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		if (modules[i] && mpk_relay_has_late(modules[i]))
			code = mpk_relay_bind_found(modules[i], find_late, model, err);
	free(modules);
	return code;
}

/* A member that is not compressed: the library links no zlib. */
static enum mpk_code read_stored(struct mpk_span zip, const struct mpk_zip_member *m,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err)
{
	static const struct mpk_zip_options options = { .space = "npz",
							.advice = "save it with numpy.savez" };

	(void)arena; /* a view needs no memory */
	return mpk_zip_stored(zip, m, &options, out, err);
}

static enum mpk_code bind_file(struct mpkr_model *model, const char *path, struct mpk_error *err)
{
	struct mpk_run_params *p;
	enum mpk_code code;

	if (model->is_found)
		return mpk_fail(err, MPK_E_USAGE,
				"parameters are bound before a function is found");
	p = calloc(1, sizeof *p);
	MPK_TRY_ALLOC(p, err);
	code = mpk_param_file_open_as(path, read_stored, &p->file, err);
	if (code != MPK_OK) {
		free(p);
		return mpk_failed(code);
	}
	p->next = model->params;
	model->params = p;
	return MPK_OK;
}

int mpkr_bind_params(mpkr_model *model, const char *path, struct mpkr_error *err)
{
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !path) {
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
		return mpk_run_report(&failure, err);
	}
	(void)pthread_mutex_lock(&model->lock);
	code = bind_file(model, path, &failure);
	(void)pthread_mutex_unlock(&model->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

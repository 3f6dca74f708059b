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
	if (!model->params)
		return MPK_OK;
	return mpk_relay_bind_library(model->library, find_late, model, err);
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
	code = mpk_param_file_open_as(path, mpk_npz_stored, &p->file, err);
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

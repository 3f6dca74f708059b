/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - models: opened from a file or from memory, counted, closed
 *
 * Each model has a runtime of its own, so that two of one process share nothing but the code of this library,
 * and the devices that one names do not change those of another.
 */
#include "library/internal/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/refs.h"
#include "executor/executor.h"
#include "program/device_kind.h"
#include "runtime/file.h"

uint32_t mpkr_version(void)
{
	return MPKR_VERSION;
}

/* --- life ------------------------------------------------------------------------------------- */

struct mpkr_model *mpk_run_model_hold(struct mpkr_model *model)
{
	mpk_refs_hold(&model->refs);
	return model;
}

/* Whoever holds memory or code of the runtime holds the model, so nothing of it is left. */
void mpk_run_model_drop(struct mpkr_model *model)
{
	if (!model || mpk_refs_drop(&model->refs))
		return;
	mpk_kernel_set_destroy(model->kernels);
	mpk_library_close(model->library);
	mpk_runtime_destroy(model->runtime);
	while (model->params) {
		struct mpk_run_params *next = model->params->next;

		mpk_param_file_drop(model->params->file);
		free(model->params);
		model->params = next;
	}
	mpk_run_session_drop(model->first);
	free(model->entries);
	mpk_arena_fini(&model->arena);
	(void)pthread_mutex_destroy(&model->lock);
	free(model);
}

void mpkr_close(mpkr_model *model)
{
	mpk_run_model_drop(model);
}

/* --- options ---------------------------------------------------------------------------------- */

/* Those of the first release; a caller that was compiled with a later header has more. */
enum { OPTIONS_SIZE_MIN = sizeof(struct mpkr_options) };

static enum mpk_code take_options(const struct mpkr_options *from, struct mpkr_options *out,
				  struct mpk_error *err)
{
	*out = (struct mpkr_options){ .size = sizeof *out };
	if (!from)
		return MPK_OK;
	if (from->size < OPTIONS_SIZE_MIN)
		return mpk_fail(err, MPK_E_USAGE, "options of %zu bytes: set their size",
				from->size);
	memcpy(out, from, sizeof *out);
	if (out->flags)
		return mpk_fail(err, MPK_E_USAGE, "unknown flags in the options: 0x%x", out->flags);
	if (out->device.device_id < 0 ||
	    (out->device.device_type &&
	     mpk_device_kind_from(out->device.device_type) == MPK_DEVICE_NONE))
		return mpk_fail(
			err, MPK_E_USAGE, "device %d of type %d in the options; models run on: %s",
			out->device.device_id, out->device.device_type, mpk_device_kind_names());
	return MPK_OK;
}

/* --- devices ---------------------------------------------------------------------------------- */

/* The device that all device code in a tree is for; with code for several kinds nobody can say which is
 * meant, and the host it is. */
static struct mpk_dldevice device_of_tree(const struct mpk_tree *tree)
{
	struct mpk_dldevice found = { MPK_DL_CPU, 0 };

	for (size_t i = 0; tree && i < tree->count; i++) {
		int32_t kind = (int32_t)mpk_device_kind_of(tree->nodes[i].kind);

		if (kind <= MPK_DL_CPU || kind == found.type)
			continue;
		if (found.type != MPK_DL_CPU)
			return (struct mpk_dldevice){ MPK_DL_CPU, 0 };
		found.type = kind;
	}
	return found;
}

/* What models are started with that are looked up from now on. The device is opened then. */
static enum mpk_code choose_device(struct mpkr_model *model, const struct mpkr_options *options,
				   struct mpk_error *err)
{
	model->where =
		(struct mpk_dldevice){ options->device.device_type, options->device.device_id };
	model->is_guess = !model->where.type;
	if (model->is_guess)
		model->where = device_of_tree(model->code->tree);
	MPK_TRY(mpk_runtime_set_devices(model->runtime, &model->where, 1, err));
	mpk_runtime_guess_devices(model->runtime, model->is_guess);
	return MPK_OK;
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum mpk_code open_file(const struct mpk_run_origin *origin, struct mpk_library_file **out,
			       struct mpk_error *err)
{
	enum mpk_code code;

	if (!origin->path)
		return mpk_library_file_of_memory(origin->memory, origin->moved, origin->symbol,
						  out, err);
	code = mpk_library_file_open(origin->path, out, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, origin->path);
	return code;
}

/* Once the library is open the file is its own. */
static enum mpk_code open_library(struct mpkr_model *model, const struct mpk_run_origin *origin,
				  struct mpk_error *err)
{
	struct mpk_library_file *file;
	enum mpk_code code;

	MPK_TRY(open_file(origin, &file, err));
	model->code = mpk_library_file_code(file);
	code = mpk_library_open(model->runtime, model->code, &model->library, err);
	if (code == MPK_OK)
		return code;
	mpk_library_file_close(file);
	if (origin->path)
		mpk_error_at_file(err, origin->path);
	return mpk_failed(code);
}

static enum mpk_code fill_model(struct mpkr_model *model, const struct mpk_run_origin *origin,
				const struct mpkr_options *options, struct mpk_error *err)
{
	model->options = (struct mpk_runtime_options){ .threads = options->threads };
	MPK_TRY(mpk_run_session_create(&model->first, err));
	MPK_TRY(mpk_runtime_create(&model->options, &model->runtime, err));
	MPK_TRY(mpk_executors_add(model->runtime, err));
	MPK_TRY(open_library(model, origin, err));
	return choose_device(model, options, err);
}

enum mpk_code mpk_run_model_open(const struct mpk_run_origin *origin,
				 const struct mpkr_options *options, struct mpkr_model **out,
				 struct mpk_error *err)
{
	struct mpkr_options taken;
	struct mpkr_model *model;
	enum mpk_code code;

	if (!out || (!origin->path && !origin->memory.data))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	MPK_TRY(take_options(options, &taken, err));
	model = calloc(1, sizeof *model);
	MPK_TRY_ALLOC(model, err);
	atomic_init(&model->refs, 1);
	mpk_lock_init_recursive(&model->lock);
	code = fill_model(model, origin, &taken, err);
	if (code != MPK_OK) {
		mpk_run_model_drop(model);
		return mpk_failed(code);
	}
	*out = model;
	return MPK_OK;
}

static int open_reported(struct mpk_run_origin origin, const struct mpkr_options *options,
			 mpkr_model **out, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (mpk_run_model_open(&origin, options, out, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}

int mpkr_open(const char *path, const struct mpkr_options *options, mpkr_model **out,
	      struct mpkr_error *err)
{
	return open_reported((struct mpk_run_origin){ .path = path }, options, out, err);
}

int mpkr_open_memory(const void *bytes, size_t len, const struct mpkr_options *options,
		     mpkr_model **out, struct mpkr_error *err)
{
	return open_reported((struct mpk_run_origin){ .memory = mpk_span_of(bytes, len) }, options,
			     out, err);
}

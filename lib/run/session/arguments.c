/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - in the child: the function that is called, and its arguments where it wants them
 *
 * The library is loaded for the first call that needs it, and only once, also when that fails: each
 * later call gets the same sentence. What a function takes, where it wants it, and which inputs a file of
 * parameters gives is the library's business (library/inspect.h).
 */
#include "session/internal/session.h"

#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

/* Getters of metadata are no functions of the file, and called like some. */
static enum mpk_code call_getters(struct mpk_session *s, struct mpk_run_source *source,
				  struct mpk_error *err)
{
	const struct mpk_image *image = s->work->library.image;
	struct mpk_host_function *functions;

	if (image->functions != image->getters)
		return MPK_OK;
	functions = mpk_arena_array(&s->arena, image->function_count + 1, sizeof *functions);
	MPK_TRY_ALLOC(functions, err);
	for (size_t i = 0; i < image->function_count; i++)
		functions[i] = (struct mpk_host_function){ .name = image->functions[i].name,
							   .symbol = image->functions[i].symbol };
	source->functions = functions;
	source->function_count = image->function_count;
	return MPK_OK;
}

enum mpk_code mpk_session_open(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_library_options *library = &s->work->library;
	struct mpk_run_source source = {
		.path = library->path,
		.tree = library->tree,
		.is_alone = true,
		.runtime = library->runtime,
	};

	MPK_TRY(mpk_library_places(library, &s->arena, &source, err));
	MPK_TRY(call_getters(s, &source, err));
	return mpk_run_create(&source, &s->model, err);
}

void mpk_session_end_call(struct mpk_session *s)
{
	mpk_run_end(s->running);
	mpkr_drop(s->function);
	for (size_t i = 0; s->args && i < s->call->arg_count; i++)
		mpk_value_drop(&s->args[i]);
	free(s->args);
	free(s->is_placed);
	s->running = NULL;
	s->function = NULL;
	s->args = NULL;
	s->is_placed = NULL;
}

/* Loads the library unless it is loaded; tries that only once. */
static enum mpk_code need_library(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_error *failure = &s->work->unloadable;

	if (failure->code == MPK_OK && !s->is_loaded)
		s->is_loaded = mpk_library_check(&s->work->library, failure) == MPK_OK &&
			       mpk_run_load(s->model, failure) == MPK_OK;
	if (failure->code == MPK_OK)
		return MPK_OK;
	*err = *failure;
	return mpk_failed(err->code);
}

static void hear_load(void *side, uint64_t bytes)
{
	mpk_child_load(side, bytes);
}

/* Models get the device before the look-up, as they are loaded by it. A kernel says itself for which kind of device it
 * is; the user may choose the number. */
static enum mpk_code find_function(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;
	const struct mpk_run_given given = {
		.params = call->params,
		.is_for_models = call->params_for_models,
		.names = call->names,
		.count = call->arg_count,
		.to_load = hear_load,
		.user = s->side,
	};
	struct mpk_dldevice where = call->device;
	bool is_guess = call->device_is_guess || !where.type;

	if (!where.type)
		where.type = MPK_DL_CPU;
	if (!call->kernel)
		MPK_TRY(need_library(s, err));
	MPK_TRY(mpk_run_set_device(s->model, where, is_guess, err));
	MPK_TRY(mpk_run_find(s->model, call->function, call->kernel, &given, &s->function, err));
	s->where = mpk_run_where(s->function);
	return MPK_OK;
}

static enum mpk_code check_watch(const struct mpk_session *s, struct mpk_error *err)
{
	if (mpk_run_function(s->function)->signature || !mpk_watch_is_asked(&s->call->watch))
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"'%s' is no model: there are no operators in it that could be seen",
			MPK_QUOTE(mpk_span_str(s->call->function)));
}

/* What earlier calls kept is where it was made. */
static enum mpk_code take_kept(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;

	s->args = calloc(call->arg_count + 1, sizeof *s->args);
	s->is_placed = calloc(call->arg_count + 1, sizeof *s->is_placed);
	MPK_TRY_ALLOC(s->args && s->is_placed, err);
	for (size_t i = 0; i < call->arg_count; i++) {
		s->is_placed[i] = call->kept[i].len != 0;
		if (s->is_placed[i])
			MPK_TRY(mpk_kept_get(&s->kept, call->kept[i], &s->args[i], err));
		else
			s->args[i] = mpk_value_hold(call->args[i]);
	}
	return MPK_OK;
}

enum mpk_code mpk_session_begin_call(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;
	const struct mpk_watch *watch = &call->watch;

	MPK_TRY(find_function(s, err));
	MPK_TRY(check_watch(s, err));
	if (call->kept)
		MPK_TRY(take_kept(s, err));
	const struct mpk_run_values in = {
		.values = s->args ? s->args : call->args,
		.names = call->names,
		.places = call->places,
		.is_placed = s->is_placed,
		.count = call->arg_count,
	};

	return mpk_run_begin(s->function, &in, watch->dump || watch->compare, &s->running, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "runtime/devices.h"

struct mpk_runtime {
	struct mpk_runtime_options options;
	struct mpk_devices *devices;
	struct mpk_dldevice model_devices[MPK_RUNTIME_DEVICES_MAX];
	size_t model_device_count;
	bool devices_are_guessed;
	struct mpk_observer *observers;
	void (*loaded)(void *user, uint64_t bytes);
	void *loaded_user;
	const struct mpk_loader **loaders;
	size_t loader_count, loader_cap;
	struct mpk_function **globals; /* the latest last */
	size_t global_count, global_cap;
};

/* --- global functions ----------------------------------------------------------------- */

/* A row, bound to a runtime. */
struct bound {
	struct mpk_function base;
	struct mpk_runtime *runtime;
	const struct mpk_global *row;
};

static enum mpk_code call_bound(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	struct bound *b = (struct bound *)self;

	return b->row->call(b->runtime, args, result, err);
}

static void destroy_bound(struct mpk_function *self)
{
	free(self);
}

enum mpk_code mpk_runtime_add_function(struct mpk_runtime *runtime, struct mpk_function *f,
				       struct mpk_error *err)
{
	if (!mpk_vec_reserve(&runtime->globals, &runtime->global_cap, runtime->global_count + 1,
			     sizeof runtime->globals[0])) {
		mpk_function_drop(f);
		return mpk_fail_nomem(err);
	}
	runtime->globals[runtime->global_count++] = f;
	return MPK_OK;
}

enum mpk_code mpk_runtime_add_globals(struct mpk_runtime *runtime, const struct mpk_global *rows,
				      size_t count, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct bound *b = calloc(1, sizeof *b);

		MPK_TRY_ALLOC(b, err);
		b->base = (struct mpk_function){
			.refs = 1,
			.name = rows[i].name,
			.call = call_bound,
			.destroy = destroy_bound,
		};
		b->runtime = runtime;
		b->row = &rows[i];
		MPK_TRY(mpk_runtime_add_function(runtime, &b->base, err));
	}
	return MPK_OK;
}

struct mpk_function *mpk_runtime_find_global(struct mpk_runtime *runtime, const char *name)
{
	for (size_t i = runtime->global_count; i-- > 0;)
		if (strcmp(runtime->globals[i]->name, name) == 0)
			return runtime->globals[i];
	return NULL;
}

/* --- loaders and devices --------------------------------------------------------------- */

enum mpk_code mpk_runtime_set_devices(struct mpk_runtime *runtime,
				      const struct mpk_dldevice *devices, size_t count,
				      struct mpk_error *err)
{
	if (!count || count > MPK_RUNTIME_DEVICES_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%zu devices; at least 1, at most %d", count,
				MPK_RUNTIME_DEVICES_MAX);
	memcpy(runtime->model_devices, devices, count * sizeof *devices);
	runtime->model_device_count = count;
	return MPK_OK;
}

void mpk_runtime_guess_devices(struct mpk_runtime *runtime, bool guessed)
{
	runtime->devices_are_guessed = guessed;
}

bool mpk_runtime_are_devices_guessed(const struct mpk_runtime *runtime)
{
	return runtime->devices_are_guessed;
}

const struct mpk_dldevice *mpk_runtime_get_devices(const struct mpk_runtime *runtime, size_t *count)
{
	*count = runtime->model_device_count;
	return runtime->model_devices;
}

void mpk_runtime_set_observers(struct mpk_runtime *runtime, struct mpk_observer *first)
{
	runtime->observers = first;
}

struct mpk_observer *mpk_runtime_observers(const struct mpk_runtime *runtime)
{
	return runtime->observers;
}

void mpk_runtime_watch_loads(struct mpk_runtime *runtime,
			     void (*loaded)(void *user, uint64_t bytes), void *user)
{
	runtime->loaded = loaded;
	runtime->loaded_user = user;
}

void mpk_runtime_loaded(const struct mpk_runtime *runtime, uint64_t bytes)
{
	if (runtime->loaded)
		runtime->loaded(runtime->loaded_user, bytes);
}

enum mpk_code mpk_runtime_add_loader(struct mpk_runtime *runtime, const struct mpk_loader *loader,
				     struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&runtime->loaders, &runtime->loader_cap,
				      runtime->loader_count + 1, sizeof runtime->loaders[0]),
		      err);
	runtime->loaders[runtime->loader_count++] = loader;
	return MPK_OK;
}

const struct mpk_loader *mpk_runtime_find_loader(const struct mpk_runtime *runtime,
						 struct mpk_span kind)
{
	for (size_t i = 0; i < runtime->loader_count; i++)
		if (runtime->loaders[i]->accepts(kind))
			return runtime->loaders[i];
	return NULL;
}

enum mpk_code mpk_runtime_create_empty(const struct mpk_runtime_options *options,
				       struct mpk_runtime **out, struct mpk_error *err)
{
	struct mpk_runtime *runtime = calloc(1, sizeof *runtime);

	MPK_TRY_ALLOC(runtime, err);
	runtime->options = *options;
	runtime->model_devices[0].type = MPK_DL_CPU;
	runtime->model_device_count = 1;
	enum mpk_code code = mpk_devices_create(&runtime->devices, err);

	if (code != MPK_OK) {
		mpk_runtime_destroy(runtime);
		return mpk_failed(code);
	}
	mpk_devices_set_cuda_home(runtime->devices, options->cuda_home);
	*out = runtime;
	return MPK_OK;
}

void mpk_runtime_destroy(struct mpk_runtime *runtime)
{
	if (!runtime)
		return;
	for (size_t i = 0; i < runtime->global_count; i++)
		mpk_function_drop(runtime->globals[i]);
	free(runtime->globals);
	mpk_devices_destroy(runtime->devices);
	free(runtime->loaders);
	free(runtime);
}

const struct mpk_runtime_options *mpk_runtime_options(const struct mpk_runtime *runtime)
{
	return &runtime->options;
}

struct mpk_devices *mpk_runtime_devices(struct mpk_runtime *runtime)
{
	return runtime->devices;
}

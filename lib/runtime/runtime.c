#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "runtime/devices.h"

/* A global function: its row, bound to a runtime. */
struct bound {
	struct mpk_function base;
	struct mpk_runtime *runtime;
	const struct mpk_global *row;
	struct bound *next;
};

struct mpk_runtime {
	struct mpk_runtime_options options;
	struct mpk_devices *devices;
	const struct mpk_loader **loaders;
	size_t loader_count, loader_cap;
	struct bound *globals; /* the latest first */
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

static enum mpk_code add_global(struct mpk_runtime *runtime, const struct mpk_global *row,
				struct mpk_error *err)
{
	struct bound *b = calloc(1, sizeof *b);

	if (!b)
		return mpk_fail_nomem(err);
	b->base = (struct mpk_function){
		.refs = 1,
		.name = row->name,
		.call = call_bound,
		.destroy = destroy_bound,
	};
	b->runtime = runtime;
	b->row = row;
	b->next = runtime->globals;
	runtime->globals = b;
	return MPK_OK;
}

enum mpk_code mpk_runtime_add_globals(struct mpk_runtime *runtime, const struct mpk_global *rows,
				      size_t count, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++)
		MPK_TRY(add_global(runtime, &rows[i], err));
	return MPK_OK;
}

struct mpk_function *mpk_runtime_find_global(struct mpk_runtime *runtime, const char *name)
{
	for (struct bound *b = runtime->globals; b; b = b->next)
		if (strcmp(b->base.name, name) == 0)
			return &b->base;
	return NULL;
}

enum mpk_code mpk_runtime_add_loader(struct mpk_runtime *runtime, const struct mpk_loader *loader,
				     struct mpk_error *err)
{
	if (!mpk_vec_reserve(&runtime->loaders, &runtime->loader_cap, runtime->loader_count + 1,
			     sizeof runtime->loaders[0]))
		return mpk_fail_nomem(err);
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

	if (!runtime)
		return mpk_fail_nomem(err);
	runtime->options = *options;
	enum mpk_code code = mpk_devices_create(&runtime->devices, err);

	if (code != MPK_OK) {
		mpk_runtime_destroy(runtime);
		return mpk_failed(code);
	}
	*out = runtime;
	return MPK_OK;
}

void mpk_runtime_destroy(struct mpk_runtime *runtime)
{
	if (!runtime)
		return;
	while (runtime->globals) {
		struct bound *b = runtime->globals;

		runtime->globals = b->next;
		mpk_function_drop(&b->base);
	}
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

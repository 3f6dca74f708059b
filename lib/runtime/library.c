#include "runtime/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "base/arena.h"
#include "base/strmap.h"
#include "kinds.h"
#include "runtime/loaded.h"
#include "text/escape.h"

static struct mpk_library *active;

struct mpk_library *mpk_library_active(void)
{
	return active;
}

struct mpk_instance *mpk_library_root(struct mpk_library *lib)
{
	return &lib->instances[0];
}

const struct mpk_library_options *mpk_library_options(const struct mpk_library *lib)
{
	return &lib->options;
}

/* --- opening ------------------------------------------------------------------------ */

static const struct mpk_node_loader *find_loader(const struct mpk_library_options *o,
						 struct mpk_span kind)
{
	for (size_t i = 0; i < o->loader_count; i++)
		if (o->loaders[i]->accepts(kind, o->loaders[i]->user))
			return o->loaders[i];
	return NULL;
}

static enum mpk_code make_instances(struct mpk_library *lib, struct mpk_error *err)
{
	const struct mpk_tree *tree = lib->options.tree;

	lib->count = tree && tree->count ? tree->count : 1;
	lib->instances = calloc(lib->count, sizeof *lib->instances);
	if (!lib->instances)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < lib->count; i++) {
		struct mpk_instance *inst = &lib->instances[i];

		inst->library = lib;
		inst->index = i;
		if (!tree || !tree->count)
			continue;
		inst->node = &tree->nodes[i];
		lib->edges += inst->node->child_count;
		if (!inst->node->is_lib)
			inst->loader = find_loader(&lib->options, inst->node->kind);
	}
	return MPK_OK;
}

static enum mpk_convention convention_of(const struct mpk_image *image)
{
	if (image->convention != MPK_CONV_NONE)
		return image->convention;
	switch (image->gen) {
	case MPK_GEN_LEGACY:
		return MPK_CONV_LEGACY;
	case MPK_GEN_HYBRID:
		return MPK_CONV_FFI021;
	case MPK_GEN_CURRENT:
	case MPK_GENERATION_COUNT:
		break;
	}
	return MPK_CONV_FFI;
}

static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(lock, &attributes);
	(void)pthread_mutexattr_destroy(&attributes);
}

static enum mpk_code load(struct mpk_library *lib, struct mpk_error *err)
{
	MPK_TRY(make_instances(lib, err));
	MPK_TRY(mpk_library_add_builtins(lib, err));
	MPK_TRY(mpk_library_link(lib, err));
	mpk_library_fill_context(lib);
	return MPK_OK;
}

enum mpk_code mpk_library_open(const struct mpk_library_options *options, struct mpk_library **out,
			       struct mpk_error *err)
{
	struct mpk_library *lib;

	MPK_TRY(mpk_library_check(options, err));
	if (active)
		return mpk_fail(err, MPK_E_INTERNAL, "a library is open in this process");
	lib = calloc(1, sizeof *lib);
	if (!lib)
		return mpk_fail_nomem(err);
	lib->options = *options;
	lib->convention = convention_of(options->image);
	init_lock(&lib->lock);
	active = lib; /* constructors may register symbols already */

	enum mpk_code rc = load(lib, err);
	if (rc != MPK_OK) {
		mpk_library_close(lib);
		return rc;
	}
	*out = lib;
	return MPK_OK;
}

static void drop_bindings(struct mpk_binding *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mpk_function_drop(list[i].function);
		free(list[i].name);
	}
	free(list);
}

void mpk_library_close(struct mpk_library *lib)
{
	if (!lib)
		return;
	drop_bindings(lib->imports, lib->import_count);
	drop_bindings(lib->globals, lib->global_count);
	for (size_t i = 0; i < lib->count && lib->instances; i++) {
		struct mpk_instance *inst = &lib->instances[i];

		if (inst->opened && inst->loader->close)
			inst->loader->close(inst);
	}
	free(lib->instances);
	free(lib->registered);
	(void)pthread_mutex_destroy(&lib->lock);
	active = NULL;
	free(lib);
}

/* --- host functions ----------------------------------------------------------------- */

static const struct mpk_image_function *image_function(const struct mpk_image *image,
						       const char *name)
{
	for (size_t i = 0; i < image->function_count; i++)
		if (strcmp(image->functions[i].name, name) == 0)
			return &image->functions[i];
	return NULL;
}

/* A system library's functions may be hidden symbols that only its constructor knows. */
static void *registered_address(const struct mpk_library *lib, const char *name)
{
	enum mpk_generation gen = lib->options.image->gen;
	const char *prefix =
		lib->convention == MPK_CONV_FFI ? mpk_generation_get(gen)->function_prefix : "";
	size_t skip = strlen(prefix);

	for (size_t i = 0; i < lib->registered_count; i++) {
		const char *symbol = lib->registered[i].name;

		if (strncmp(symbol, prefix, skip) == 0 && strcmp(symbol + skip, name) == 0)
			return lib->registered[i].address;
	}
	return NULL;
}

enum mpk_code mpk_library_find_host(struct mpk_library *lib, const char *name,
				    struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_image *image = lib->options.image;
	const struct mpk_image_function *f = image_function(image, name);
	void *address = NULL;

	if (f && f->alias_of)
		f = image_function(image, f->alias_of);
	if (f)
		address = dlsym(lib->handle, f->symbol);
	if (!address)
		address = registered_address(lib, name);
	if (!address)
		return MPK_OK;
	return mpk_conv_host_function(lib->convention, f ? f->name : name, address, out, err);
}

/* --- what the user named ------------------------------------------------------------ */

static bool is_entry_name(const char *name)
{
	return strcmp(name, "main") == 0 || strcmp(name, "__tvm_main__") == 0 ||
	       strcmp(name, "__tvm_ffi_main") == 0;
}

/* The name the library has for what the user said: an entry name, or a symbol. */
static const char *resolve(const struct mpk_image *image, const char *name)
{
	if (image_function(image, name))
		return name;
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		if (strcmp(f->symbol, name) == 0 || (f->is_entry && is_entry_name(name)))
			return f->name;
	}
	return name;
}

static const struct mpk_kind *executor_of(const struct mpk_library *lib, size_t *index)
{
	for (size_t i = 0; i < lib->count; i++) {
		const struct mpk_instance *inst = &lib->instances[i];
		const struct mpk_kind *kind;

		if (mpk_instance_is_host(inst) || inst->loader)
			continue;
		kind = mpk_kind_find(inst->node->kind);
		if (kind && kind->role == MPK_ROLE_EXECUTOR) {
			*index = i;
			return kind;
		}
	}
	return NULL;
}

static void suggest(const struct mpk_image *image, const char *name, struct mpk_strbuf *text)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	size_t count = image->function_count;
	struct mpk_span *names = mpk_arena_array(&arena, count ? count : 1, sizeof *names);

	if (!names || !count)
		return;
	for (size_t i = 0; i < count; i++)
		names[i] = mpk_span_str(image->functions[i].name);

	size_t close = mpk_closest(mpk_span_str(name), names, count);
	if (close < count) {
		mpk_strbuf_printf(text, "; did you mean '%s'?", MPK_QUOTE(names[close]));
		return;
	}
	mpk_strbuf_puts(text, "; it has:");
	for (size_t i = 0; i < count && i < 8; i++)
		mpk_strbuf_printf(text, "%s %s", i ? "," : "", MPK_QUOTE(names[i]));
	if (count > 8)
		mpk_strbuf_printf(text, " and %zu more", count - 8);
}

static enum mpk_code not_found(struct mpk_library *lib, const char *name, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf hint = { 0 };
	size_t at;
	const struct mpk_kind *kind = executor_of(lib, &at);
	char path[64];

	suggest(lib->options.image, name, &hint);
	if (kind)
		return mpk_fail(
			err, MPK_E_NOTFOUND,
			"no host function '%s'%s; functions of the model itself are held by the %s module at %s, for an executor, which this minspect has not",
			MPK_QUOTE(mpk_span_str(name)), mpk_strbuf_text(&hint), kind->name,
			mpk_tree_path(lib->options.tree, at, path, sizeof path));
	return mpk_fail(err, MPK_E_NOTFOUND, "no function '%s'%s", MPK_QUOTE(mpk_span_str(name)),
			mpk_strbuf_text(&hint));
}

enum mpk_code mpk_library_find(struct mpk_library *lib, const char *name, struct mpk_function **out,
			       struct mpk_error *err)
{
	const char *wanted = resolve(lib->options.image, name);
	struct mpk_function *f = NULL;

	MPK_TRY(mpk_instance_find(mpk_library_root(lib), wanted, &f, err));
	/* a tree without _lib hides the library's own functions from TVM; a user who
	 * names one still means it */
	if (!f)
		MPK_TRY(mpk_library_find_host(lib, wanted, &f, err));
	if (!f)
		return not_found(lib, name, err);
	*out = f;
	return MPK_OK;
}

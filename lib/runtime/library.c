#include "runtime/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/strmap.h"
#include "kinds.h"
#include "runtime/link.h"
#include "runtime/module_api.h"
#include "runtime/node.h"
#include "text/escape.h"

struct mpk_library {
	struct mpk_host *host;
	struct mpk_module *root;
};

struct mpk_module *mpk_library_root(struct mpk_library *library)
{
	return library->root;
}

/* --- opening ------------------------------------------------------------------------ */

static enum mpk_code load(struct mpk_library *lib, struct mpk_runtime *runtime,
			  const struct mpk_host_code *code, struct mpk_error *err)
{
	struct mpk_module *context;

	MPK_TRY(mpk_host_create(runtime, code, &lib->host, err));
	/* until all went well the code is the caller's */
	lib->host->code.release = NULL;
	MPK_TRY(mpk_node_modules(lib->host, &lib->root, &context, err));
	MPK_TRY(mpk_host_link(lib->host, err));
	mpk_module_api_fill(lib->host, context);
	lib->host->code.release = code->release;
	return MPK_OK;
}

enum mpk_code mpk_library_open(struct mpk_runtime *runtime, const struct mpk_host_code *code,
			       struct mpk_library **out, struct mpk_error *err)
{
	struct mpk_library *lib = calloc(1, sizeof *lib);

	MPK_TRY_ALLOC(lib, err);
	enum mpk_code rc = load(lib, runtime, code, err);

	if (rc != MPK_OK) {
		mpk_library_close(lib);
		return rc;
	}
	*out = lib;
	return MPK_OK;
}

void mpk_library_close(struct mpk_library *lib)
{
	if (!lib)
		return;
	mpk_module_drop(lib->root);
	mpk_host_drop(lib->host);
	free(lib);
}

/* --- what the user named ------------------------------------------------------------ */

static bool is_entry_name(const char *name)
{
	return strcmp(name, "main") == 0 || strcmp(name, "__tvm_main__") == 0 ||
	       strcmp(name, "__tvm_ffi_main") == 0;
}

/* The name the library has for what the user said: an entry name, or a symbol. */
static const char *resolve(const struct mpk_host_code *code, const char *name)
{
	const char *found = name;

	for (size_t i = 0; i < code->function_count; i++) {
		const struct mpk_host_function *f = &code->functions[i];

		if (strcmp(f->name, name) == 0)
			return name;
		if (strcmp(f->symbol, name) == 0 || (f->is_entry && is_entry_name(name)))
			found = f->name;
	}
	return found;
}

static const struct mpk_kind *executor_of(const struct mpk_tree *tree, size_t *index)
{
	for (size_t i = 0; tree && i < tree->count; i++) {
		const struct mpk_kind *kind = mpk_kind_find(tree->nodes[i].kind);

		if (!tree->nodes[i].is_lib && kind && kind->role == MPK_ROLE_EXECUTOR) {
			*index = i;
			return kind;
		}
	}
	return NULL;
}

static void suggest(const struct mpk_host_code *code, const char *name, struct mpk_strbuf *text)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	size_t count = code->function_count;
	struct mpk_span *names = mpk_arena_array(&arena, count ? count : 1, sizeof *names);

	if (!names || !count)
		return;
	for (size_t i = 0; i < count; i++)
		names[i] = mpk_span_str(code->functions[i].name);

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

static enum mpk_code not_found(const struct mpk_host_code *code, const char *name,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf hint = { 0 };
	size_t at;
	const struct mpk_kind *kind = executor_of(code->tree, &at);
	char path[64];

	suggest(code, name, &hint);
	if (kind)
		return mpk_fail(
			err, MPK_E_NOTFOUND,
			"no host function '%s'%s; functions of the model itself are held by the %s module at %s, for an executor, which this minspect has not",
			MPK_QUOTE(mpk_span_str(name)), mpk_strbuf_text(&hint), kind->name,
			mpk_tree_path(code->tree, at, path, sizeof path));
	return mpk_fail(err, MPK_E_NOTFOUND, "no function '%s'%s", MPK_QUOTE(mpk_span_str(name)),
			mpk_strbuf_text(&hint));
}

enum mpk_code mpk_library_find(struct mpk_library *lib, const char *name, struct mpk_function **out,
			       struct mpk_error *err)
{
	const char *wanted = resolve(&lib->host->code, name);
	struct mpk_module_search search = { 0 };
	struct mpk_function *f;

	MPK_TRY(mpk_module_find(lib->root, wanted, &f, &search, err));
	if (!f && search.failure.code != MPK_OK) {
		*err = search.failure;
		return mpk_failed(err->code);
	}
	/* a tree without _lib hides the library's own functions from TVM; a user who
	 * names one still means it */
	if (!f)
		MPK_TRY(mpk_host_find(lib->host, lib->root, wanted, &f, err));
	if (!f)
		return not_found(&lib->host->code, name, err);
	*out = f;
	return MPK_OK;
}

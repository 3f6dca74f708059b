/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - a library: opened, its modules made, and the function that a user named found in it
 *
 * A name may mean a function of an executable, of host code, or a kernel. TVM asks the root module,
 * and its imports after it; here executables come first, as their names are what a user reads in a
 * listing, and a failure of one module is reported only when no other has the name.
 */
#include "runtime/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/convention.h"
#include "base/arena.h"
#include "base/lock.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "mpk/standalone.h"
#include "runtime/internal/runtime.h"
#include "text/escape.h"
#include "text/phrase.h"

/* --- the shared object: counted references, functions by name -------------------------------- */

/* Several threads may hold a host. Its last reference closes the object, unless C++ code of it may
 * have registered something with a library that stays. */

enum mpk_code mpk_host_create(struct mpk_runtime *runtime, const struct mpk_host_code *code,
			      struct mpk_host **out, struct mpk_error *err)
{
	struct mpk_host *host = calloc(1, sizeof *host);

	MPK_TRY_ALLOC(host, err);
	atomic_init(&host->refs, 1);
	host->runtime = runtime;
	host->code = *code;
	host->copy = -1;
	mpk_lock_init_recursive(&host->lock);
	*out = host;
	return MPK_OK;
}

/* Relaxed: who holds one reference already sees the host. */
struct mpk_host *mpk_host_hold(struct mpk_host *host)
{
	(void)atomic_fetch_add_explicit(&host->refs, 1, memory_order_relaxed);
	return host;
}

void mpk_host_drop(struct mpk_host *host)
{
	if (!host || atomic_fetch_sub_explicit(&host->refs, 1, memory_order_acq_rel) != 1)
		return;
	/* for a library that stays, or that the linker keeps: nobody answers there any more */
	if (host->ctx_slot)
		*host->ctx_slot = NULL;
	if (host->handle && !host->stays_open)
		(void)dlclose(host->handle);
	if (host->copy >= 0 && !host->stays_open) {
		/* A copy that the linker keeps, as standalone libraries ask it to (-z nodelete),
		 * keeps its name, too: the descriptor of the next copy must not have the same
		 * number, or that name would give the old one. */
		char name[32];
		void *kept;

		(void)snprintf(name, sizeof name, "/proc/self/fd/%d", host->copy);
		kept = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
		if (kept)
			(void)dlclose(kept);
		else
			(void)close(host->copy);
	}
	if (host->code.release)
		host->code.release(host->code.owner);
	free(host->registered);
	(void)pthread_mutex_destroy(&host->lock);
	free(host);
}

static void *symbol_of(const struct mpk_host *host, const char *name)
{
	return host->code.symbol ? host->code.symbol(name) : dlsym(host->handle, name);
}

struct mpk_context mpk_host_context(const struct mpk_host *host)
{
	return (struct mpk_context){ .runtime = host->runtime,
				     .convention = host->code.convention };
}

/* --- functions ---------------------------------------------------------------------- */

struct host_function {
	struct mpk_function base;
	struct mpk_host *host;
	struct mpk_module *module;
};

static enum mpk_code call_host(struct mpk_function *self, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err)
{
	struct host_function *f = (struct host_function *)self;
	struct mpk_context before = mpk_context_swap(mpk_host_context(f->host));
	enum mpk_code code = mpk_conv_call(self->convention, self->address, args, result, err);

	if (code != MPK_OK) {
		/* A library that carries its executor keeps the text of an error itself,
		 * "ValueError: ...", as long as no tvm-ffi is in the process that would. */
		const struct mpk_host *host = f->host;

		mpks_error *told =
			code == MPK_E_RAISED
				? (mpks_error *)(uintptr_t)symbol_of(host, MPK_STANDALONE_ERROR)
				: NULL;
		const char *text = told ? told() : "";

		code = *text ? mpk_fail(err, code, "%s", text) : code;
	}
	(void)mpk_context_swap(before);
	return code;
}

static void destroy_host_function(struct mpk_function *self)
{
	struct host_function *f = (struct host_function *)self;
	struct mpk_module *module = f->module;
	struct mpk_host *host = f->host;

	free(f);
	mpk_module_drop(module);
	mpk_host_drop(host);
}

/* The function holds host and module: either may be dropped by the caller while it lives. */
static enum mpk_code make_function(struct mpk_host *host, struct mpk_module *module,
				   const char *name, void *address, struct mpk_function **out,
				   struct mpk_error *err)
{
	struct host_function *f = calloc(1, sizeof *f + strlen(name) + 1);
	char *copy;

	MPK_TRY_ALLOC(f, err);
	copy = (char *)(f + 1);
	memcpy(copy, name, strlen(name) + 1);
	f->base = (struct mpk_function){
		.refs = 1,
		.name = copy,
		.call = call_host,
		.destroy = destroy_host_function,
		.address = address,
		.convention = host->code.convention,
	};
	f->host = mpk_host_hold(host);
	f->module = mpk_module_hold(module);
	*out = &f->base;
	return MPK_OK;
}

/* Libraries have a few hundred functions at most, and a name is looked up once. */
static const struct mpk_host_function *listed(const struct mpk_host_code *code, const char *name)
{
	for (size_t i = 0; i < code->function_count; i++)
		if (strcmp(code->functions[i].name, name) == 0)
			return &code->functions[i];
	return NULL;
}

/* A system library's functions may be hidden symbols that only its constructor knows. */
static void *registered_address(const struct mpk_host *host, const char *name)
{
	const char *prefix = host->code.convention == MPK_CONV_FFI
				     ? mpk_generation_get(host->code.gen)->function_prefix
				     : "";
	size_t skip = strlen(prefix);

	for (size_t i = 0; i < host->registered_count; i++) {
		const char *symbol = host->registered[i].name;

		if (strncmp(symbol, prefix, skip) == 0 && strcmp(symbol + skip, name) == 0)
			return host->registered[i].address;
	}
	return NULL;
}

/* Symbols that the file lists come first; a constructor may have registered others that are
 * hidden. */
enum mpk_code mpk_host_find(struct mpk_host *host, struct mpk_module *module, const char *name,
			    struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_host_function *f = listed(&host->code, name);
	void *address = NULL;

	*out = NULL;
	if (f && f->alias_of)
		f = listed(&host->code, f->alias_of);
	if (f)
		address = symbol_of(host, f->symbol);
	if (!address)
		address = registered_address(host, name);
	if (!address)
		return MPK_OK;
	return make_function(host, module, f ? f->name : name, address, out, err);
}

/* --- the library's pointers ------------------------------------------------------------------- */

/* A library that was linked into another has a prefix before its symbols; others have none. */
static void set_context(struct mpk_host *host, struct mpk_module *context)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf symbol = { 0 };

	mpk_strbuf_printf(&symbol, "%s%s", host->code.prefix ? host->code.prefix : "",
			  mpk_generation_get(host->code.gen)->ctx_symbol);
	host->ctx_slot = symbol_of(host, mpk_strbuf_text(&symbol));
	if (host->ctx_slot)
		*host->ctx_slot = context;
}

struct mpk_library {
	struct mpk_host *host;
	struct mpk_module *root;
};

struct mpk_module *mpk_library_root(struct mpk_library *library)
{
	return library->root;
}

/* --- opening ------------------------------------------------------------------------ */

static enum mpk_code library_load(struct mpk_library *lib, struct mpk_runtime *runtime,
				  const struct mpk_host_code *code, struct mpk_error *err)
{
	struct mpk_module *context;

	MPK_TRY(mpk_host_create(runtime, code, &lib->host, err));
	/* until all went well the code is the caller's */
	lib->host->code.release = NULL;
	MPK_TRY(mpk_node_modules(lib->host, &lib->root, &context, err));
	if (!code->symbol) /* else the linker has resolved what it imports */
		MPK_TRY(mpk_host_link(lib->host, err));

	/* Our functions in the library's __TVM... pointers and the module in its context symbol,
	 * as its loader is to do before any call. A library has the pointers of its own
	 * convention alone. */
	struct mpk_host *host = lib->host;
	const unsigned parts = mpk_module_api_parts(host->code.convention);
	char name[64];

	for (size_t i = 0; i < MPK_MODULE_APIS; i++)
		for (size_t k = 0; k < mpk_module_api[i]->count; k++) {
			const struct mpk_module_symbol *symbol = &mpk_module_api[i]->rows[k];
			mpk_module_code **slot;

			if (!(symbol->part & parts))
				continue;
			(void)snprintf(name, sizeof name, "__%s", symbol->name);
			slot = symbol_of(host, name);
			if (slot)
				*slot = symbol->code;
		}
	set_context(host, context);

	lib->host->code.release = code->release;
	return MPK_OK;
}

enum mpk_code mpk_library_open(struct mpk_runtime *runtime, const struct mpk_host_code *code,
			       struct mpk_library **out, struct mpk_error *err)
{
	struct mpk_library *lib = calloc(1, sizeof *lib);

	MPK_TRY_ALLOC(lib, err);
	enum mpk_code rc = library_load(lib, runtime, code, err);

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

/* The host function that the user named: by its name, its symbol, or as the entry; or NULL. */
static const struct mpk_host_function *library_resolve(const struct mpk_host_code *code,
						       const char *name)
{
	const struct mpk_host_function *found = NULL;

	for (size_t i = 0; i < code->function_count; i++) {
		const struct mpk_host_function *f = &code->functions[i];

		if (strcmp(f->name, name) == 0)
			return f;
		if (strcmp(f->symbol, name) == 0 || (f->is_entry && is_entry_name(name)))
			found = f;
	}
	return found;
}

/* Names that a user may have meant. */
struct names {
	struct mpk_span *items;
	size_t count, cap;
};

static void names_fini(struct names *n)
{
	free(n->items);
}

static void library_add_name(struct names *n, struct mpk_span name)
{
	if (MPK_VEC_ROOM(n->items, n->count, n->cap))
		n->items[n->count++] = name;
}

static void add_loaded(struct names *n, struct mpk_node_module *node)
{
	struct mpk_span name;

	if (node->is_open && node->loader->name_at)
		for (size_t i = 0; node->loader->name_at(node, i, &name); i++)
			library_add_name(n, name);
}

/* Children come after their parents in the tree, so one pass meets every one. */
enum mpk_code mpk_library_modules(struct mpk_library *lib, struct mpk_module ***out, size_t *count,
				  struct mpk_error *err)
{
	const struct mpk_tree *tree = lib->host->code.tree;
	size_t n = tree ? tree->count : 0;
	struct mpk_module **nodes = calloc(n + 1, sizeof(struct mpk_module *));

	MPK_TRY_ALLOC(nodes, err);
	if (n)
		nodes[0] = lib->root;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; nodes[i] && k < nodes[i]->import_count; k++)
			nodes[tree->nodes[i].children[k]] = nodes[i]->imports[k];
	*out = nodes;
	*count = n;
	return MPK_OK;
}

enum mpk_code mpk_library_each_module(struct mpk_library *lib,
				      enum mpk_code (*fn)(struct mpk_module *module, void *arg,
							  struct mpk_error *err),
				      void *arg, struct mpk_error *err)
{
	struct mpk_module **modules;
	enum mpk_code code = MPK_OK;
	size_t count;

	MPK_TRY(mpk_library_modules(lib, &modules, &count, err));
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		if (modules[i])
			code = fn(modules[i], arg, err);
	free(modules);
	return code;
}

/* What the loaders of all modules have. All were asked for the name that nobody has: those that can be
 * made ready are. */
static void add_all_loaded(struct names *n, struct mpk_library *lib)
{
	struct mpk_module **modules;
	size_t count;

	if (mpk_library_modules(lib, &modules, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count; i++)
		if (modules[i])
			add_loaded(n, (struct mpk_node_module *)modules[i]);
	free(modules);
}

/* Names of models come first, then those of host code. */
static void suggest(struct mpk_library *lib, const char *name, struct mpk_strbuf *text)
{
	MPK_CLEANUP(names_fini) struct names n = { 0 };
	const struct mpk_host_code *code = &lib->host->code;

	add_all_loaded(&n, lib);
	for (size_t i = 0; i < code->function_count; i++)
		library_add_name(&n, mpk_span_str(code->functions[i].name));
	if (!n.count)
		return;

	size_t close = mpk_closest(mpk_span_str(name), n.items, n.count);
	if (close < n.count) {
		mpk_strbuf_printf(text, "; did you mean '%s'?", MPK_QUOTE(n.items[close]));
		return;
	}
	mpk_strbuf_puts(text, "; it has: ");
	mpk_put_names(text, n.items, n.count);
}

/* --- who has it ----------------------------------------------------------------------- */

/* Of the code alone, for a module. */
static enum mpk_code library_find_host(struct mpk_library *lib, struct mpk_module *module,
				       const char *name, struct mpk_function **out,
				       struct mpk_error *err)
{
	const struct mpk_host_function *f = library_resolve(&lib->host->code, name);

	return mpk_host_find(lib->host, module, f ? f->name : name, out, err);
}

/* The function of the first executable in the tree that has one of this name, or NULL. */
static enum mpk_code find_executable(struct mpk_library *lib, struct mpk_module *const *modules,
				     size_t count, const char *name, struct mpk_function **out,
				     struct mpk_error *err)
{
	*out = NULL;
	for (size_t i = 0; i < count && !*out; i++) {
		struct mpk_node_module *node = (struct mpk_node_module *)modules[i];
		bool has = false;

		if (!node || !node->loader || !node->loader->has)
			continue;
		(void)pthread_mutex_lock(&lib->host->lock);
		enum mpk_code code = node->loader->has(node, name, &has, err);
		(void)pthread_mutex_unlock(&lib->host->lock);
		MPK_TRY(code);
		if (has)
			MPK_TRY(node->base.find(&node->base, name, out, err));
	}
	return MPK_OK;
}

/* "/0#main": what one module of the tree has itself. */
static enum mpk_code find_at(struct mpk_library *lib, struct mpk_module *const *modules,
			     const char *name, struct mpk_function **out, struct mpk_error *err)
{
	const char *mark = strchr(name, '#');
	struct mpk_module *m;
	size_t index;
	char *path;

	*out = NULL;
	if (name[0] != '/' || !mark || !lib->host->code.tree)
		return MPK_OK;
	path = strndup(name, (size_t)(mark - name));
	MPK_TRY_ALLOC(path, err);
	bool known = mpk_tree_find(lib->host->code.tree, path, &index);

	free(path);
	m = known ? modules[index] : NULL;
	if (!m || !m->find)
		return MPK_OK;
	if (mpk_node_is_host((struct mpk_node_module *)m))
		return library_find_host(lib, m, mark + 1, out, err);
	return m->find(m, mark + 1, out, err);
}

/* Names of executables go before those of host code and its entry, and these before kernels, which
 * host code launches under names of its own. */
static enum mpk_code find_in(struct mpk_library *lib, struct mpk_module *const *modules,
			     size_t count, const char *name, struct mpk_function **out,
			     struct mpk_error *err)
{
	struct mpk_module_search search = { 0 };

	MPK_TRY(find_executable(lib, modules, count, name, out, err));
	/* a tree without _lib hides the library's own functions from TVM; a user who names one
	 * still means it */
	if (!*out)
		MPK_TRY(library_find_host(lib, lib->root, name, out, err));
	if (!*out)
		MPK_TRY(find_at(lib, modules, name, out, err));
	if (!*out)
		MPK_TRY(mpk_module_find(lib->root, name, out, &search, err));
	if (*out || search.failure.code == MPK_OK)
		return MPK_OK;
	*err = search.failure;
	return mpk_failed(err->code);
}

/* The reference in f is the caller's; modules are borrowed from the root. */
enum mpk_code mpk_library_find(struct mpk_library *lib, const char *name, struct mpk_function **out,
			       struct mpk_error *err)
{
	struct mpk_function *f = NULL;
	struct mpk_module **modules;
	size_t count;

	MPK_TRY(mpk_library_modules(lib, &modules, &count, err));
	enum mpk_code code = find_in(lib, modules, count, name, &f, err);

	free(modules);
	MPK_TRY(code);
	/* what applications do with a model between its calls: the state of its caches is theirs */
	if (!f) {
		MPK_TRY(mpk_runtime_find_global(lib->host->runtime, name, &f, err));
		(void)mpk_function_hold(f);
	}
	if (!f) {
		/* With what was nearly meant, or all names there are. */
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf hint = { 0 };

		suggest(lib, name, &hint);
		return mpk_fail(err, MPK_E_NOTFOUND, "no function '%s'%s",
				MPK_QUOTE(mpk_span_str(name)), mpk_strbuf_text(&hint));
	}
	*out = f;
	return MPK_OK;
}

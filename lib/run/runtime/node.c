/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - the nodes of a tree as modules, and what their code finds under a name
 *
 * A node is made ready when a function is first looked up in it: device code that is never called
 * costs nothing, and code that cannot run here does not keep the rest from running. What opening
 * failed with is kept, since each later look-up must say the same.
 *
 * What code of a module looks up is kept by that module, because code may keep the handle for
 * good: TVM's own look-up caches it in a static of the generated code.
 */
#include "runtime/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "runtime/devices.h"
#include "runtime/internal/runtime.h"
#include "text/escape.h"

static struct mpk_node_module *node_of(struct mpk_module *m)
{
	return (struct mpk_node_module *)m;
}

static enum mpk_code node_find_host(struct mpk_module *self, const char *name,
				    struct mpk_function **out, struct mpk_error *err)
{
	return mpk_host_find(node_of(self)->host, self, name, out, err);
}

/* A failure is kept: opening again would read the payload again and say the same. Memory may be there again. */
static enum mpk_code node_open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	if (node->is_open)
		return MPK_OK;
	if (node->failure.code == MPK_E_NOMEM)
		node->failure = (struct mpk_error){ 0 };
	if (node->failure.code == MPK_OK && node->loader->open(node, &node->failure) == MPK_OK) {
		node->is_open = true;
		return MPK_OK;
	}
	if (err)
		*err = node->failure;
	return mpk_failed(node->failure.code);
}

static enum mpk_code find_loaded(struct mpk_module *self, const char *name,
				 struct mpk_function **out, struct mpk_error *err)
{
	struct mpk_node_module *node = node_of(self);

	(void)pthread_mutex_lock(&node->host->lock);
	enum mpk_code code = node_open_node(node, err);

	if (code == MPK_OK)
		code = node->loader->find(node, name, out, err);
	(void)pthread_mutex_unlock(&node->host->lock);
	return code;
}

/* The host goes last, since the functions dropped before may be its own. */
static void node_destroy(struct mpk_module *self)
{
	struct mpk_node_module *node = node_of(self);
	struct mpk_host *host = node->host;

	for (size_t i = 0; i < node->binding_count; i++) {
		mpk_function_drop(node->bindings[i].function);
		free(node->bindings[i].name);
	}
	free(node->bindings);
	if (node->is_open && node->loader->close)
		node->loader->close(node);
	free(node);
	mpk_host_drop(host);
}

static struct mpk_node_module *node_make(struct mpk_host *host, size_t index)
{
	const struct mpk_tree *tree = host->code.tree;
	struct mpk_node_module *node = calloc(1, sizeof *node);

	if (!node)
		return NULL;
	atomic_init(&node->base.refs, 1);
	node->base.destroy = node_destroy;
	node->base.kind = mpk_span_str(MPK_KIND_LIB);
	node->magic = MPK_NODE_MAGIC;
	node->host = mpk_host_hold(host);
	node->index = index;
	if (tree && tree->count) {
		node->node = &tree->nodes[index];
		node->base.kind = node->node->kind;
	}
	if (mpk_node_is_host(node))
		node->base.find = node_find_host;
	else
		node->loader = mpk_runtime_find_loader(host->runtime, node->node->kind);
	if (node->loader)
		node->base.find = find_loaded;
	return node;
}

/* Children come after their parents in a tree, so the last are made first. */
static enum mpk_code make_all(struct mpk_host *host, struct mpk_module **modules, size_t count,
			      struct mpk_error *err)
{
	for (size_t i = count; i-- > 0;) {
		struct mpk_node_module *node = node_make(host, i);
		size_t children = node && node->node ? node->node->child_count : 0;
		struct mpk_module **imports = calloc(children + 1, sizeof(struct mpk_module *));

		modules[i] = node ? &node->base : NULL;
		if (!node || !imports) {
			free(imports);
			return mpk_fail_nomem(err);
		}
		for (size_t k = 0; k < children; k++)
			imports[k] = modules[node->node->children[k]];

		enum mpk_code code = mpk_module_set_imports(&node->base, imports, children, err);
		free(imports);
		MPK_TRY(code);
	}
	return MPK_OK;
}

enum mpk_code mpk_node_modules(struct mpk_host *host, struct mpk_module **root,
			       struct mpk_module **context, struct mpk_error *err)
{
	const struct mpk_tree *tree = host->code.tree;
	size_t count = tree && tree->count ? tree->count : 1;
	struct mpk_module **modules = calloc(count, sizeof(struct mpk_module *));

	MPK_TRY_ALLOC(modules, err);
	mpk_devices_add_images(mpk_runtime_devices(host->runtime), tree);
	enum mpk_code code = make_all(host, modules, count, err);

	if (code == MPK_OK) {
		*root = *context = modules[0];
		for (size_t i = 0; i < count; i++)
			if (mpk_node_is_host(node_of(modules[i])))
				*context = modules[i];
		modules[0] = NULL; /* the reference is the caller's now */
	}
	for (size_t i = 0; i < count; i++)
		mpk_module_drop(modules[i]);
	free(modules);
	return code;
}

static struct mpk_function *known(const struct mpk_node_module *node, const char *name)
{
	for (size_t i = 0; i < node->binding_count; i++)
		if (strcmp(node->bindings[i].name, name) == 0)
			return node->bindings[i].function;
	return NULL;
}

/* Kept answers first; code of a model asks for the same few names on every call. */
static enum mpk_code find_import(struct mpk_node_module *node, const char *name,
				 struct mpk_function **out, struct mpk_error *err)
{
	struct mpk_module_search search = { 0 };
	struct mpk_function *found;

	*out = known(node, name);
	if (*out)
		return MPK_OK;
	MPK_TRY(mpk_module_find_import(&node->base, name, &found, &search, err));
	if (!found) {
		MPK_TRY(mpk_runtime_find_global(node->host->runtime, name, &found, err));
		(void)mpk_function_hold(found);
	}
	if (!found) {
		/* --- imports -------------------------------------------------------------- */
		const struct mpk_module *unloadable = search.unloadable;
		char path[64];

		if (search.failure.code != MPK_OK) {
			*err = search.failure;
			mpk_error_prefix(err, "'%s': ", MPK_QUOTE(mpk_span_str(name)));
			return mpk_failed(err->code);
		}
		if (unloadable)
			return mpk_fail(
				err, MPK_E_LOAD,
				"the code calls '%s', which the module of kind '%s' at %s may hold; there is no loader for that kind",
				MPK_QUOTE(mpk_span_str(name)), MPK_QUOTE(unloadable->kind),
				mpk_tree_path(node->host->code.tree,
					      ((const struct mpk_node_module *)unloadable)->index,
					      path, sizeof path));
		return mpk_fail(
			err, MPK_E_LOAD,
			"the code calls '%s', which is neither in its imports nor a global function of this loader; it needs %s",
			MPK_QUOTE(mpk_span_str(name)),
			strncmp(name, "runtime.disco.", 14) == 0
				? "Disco, sessions of several processes, which only TVM has"
				: "the TVM runtime that provides it");
	}
	*out = found;

	/* Takes the reference to f over. */
	char *copy = strdup(name);

	if (!copy || !MPK_VEC_ROOM(node->bindings, node->binding_count, node->binding_cap)) {
		free(copy);
		mpk_function_drop(found);
		return mpk_fail_nomem(err);
	}
	node->bindings[node->binding_count++] = (struct mpk_binding){ copy, found };
	return MPK_OK;
}

/* The lock is recursive: looking up may make a module ready, which looks up in turn. */
enum mpk_code mpk_node_import(struct mpk_node_module *node, const char *name,
			      struct mpk_function **out, struct mpk_error *err)
{
	struct mpk_function *found = NULL;

	(void)pthread_mutex_lock(&node->host->lock);
	enum mpk_code code = find_import(node, name, &found, err);
	(void)pthread_mutex_unlock(&node->host->lock);
	if (code == MPK_OK)
		*out = found;
	return code;
}

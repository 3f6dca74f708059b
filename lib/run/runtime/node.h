/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - the nodes of a library's tree as modules
 *
 * Host nodes (_lib) look into the library's code; a node of another kind gets a loader,
 * which is asked only when a function is looked up in it. A node that nobody can load makes
 * no failure until something is looked up that only it could have.
 */
#ifndef MPK_RUNTIME_NODE_H
#define MPK_RUNTIME_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blob/blob.h"
#include "runtime/host.h"
#include "runtime/runtime.h"
#include "value/module.h"

/* What module code of a node looked up; kept, because it keeps the handle. */
struct mpk_binding {
	char *name;
	struct mpk_function *function;
};

/* Marks a context that is ours, not another pointer. */
#define MPK_NODE_MAGIC UINT64_C(0x6d706b206e6f6465)

struct mpk_node_module {
	struct mpk_module base;
	uint64_t magic; /* MPK_NODE_MAGIC */
	struct mpk_host *host;
	const struct mpk_node *node;     /* NULL: a library without a blob */
	size_t index;                    /* in host->code.tree */
	const struct mpk_loader *loader; /* NULL: host code, or nobody can load the kind */
	bool is_open;
	struct mpk_error failure; /* of opening; MPK_OK: none so far */
	void *state;              /* the loader's own */
	struct mpk_binding *bindings;
	size_t binding_count, binding_cap;
};

/* mpk_node_modules - a module for each node of the library's tree, or one of its code alone
 * @root    receives the root, one reference
 * @context receives what the library's context symbol is to hold: the host node; of several the
 *          last, as TVM's own loader leaves it; the root when there is none. Borrowed
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_node_modules(struct mpk_host *host, struct mpk_module **root,
			       struct mpk_module **context, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_of_context - the module that module code passes as its context; NULL: none of ours. It may pass what its
 * own library left there, when another loader opened it first. */
static inline struct mpk_node_module *mpk_node_of_context(void *context)
{
	struct mpk_node_module *node = context;

	return node && node->magic == MPK_NODE_MAGIC ? node : NULL;
}

static inline bool mpk_node_is_host(const struct mpk_node_module *node)
{
	return !node->node || node->node->is_lib;
}

/* mpk_node_import - what code of a module sees under a name: depth-first its imports, then the
 * global functions of the runtime. The answer is kept and owned by the module.
 * Returns  MPK_OK; MPK_E_LOAD naming where it was looked for; what made the module that may
 *          have it fail */
enum mpk_code mpk_node_import(struct mpk_node_module *node, const char *name,
			      struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

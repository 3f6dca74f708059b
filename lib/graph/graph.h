/* graph.h - from modules that import one another to the tree that TVM's serializer writes
 *
 * Index order, merging of host modules into one _lib and child order are TVM's
 * (FORMATS 1.2, "Order in which modules get their index").
 */
#ifndef MPK_GRAPH_GRAPH_H
#define MPK_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "blob/blob.h"

struct mpk_module {
	struct mpk_span name;          /* for messages: the id in the manifest */
	struct mpk_span kind;          /* ignored for host modules */
	bool is_host;                  /* joins the _lib node */
	const struct mpk_rope *content; /* payload; NULL for host modules */
	const size_t *imports;         /* module indices, in import order */
	size_t import_count;
};

/* mpk_graph_order - the tree of everything reachable from root
 * @out     nodes in index order; kind, content and children set, gen as given
 * @unreached  may be NULL; receives for each module whether root does not reach it
 *          (module_count elements, the caller's)
 * Returns  MPK_OK; MPK_E_CONFLICT for a cycle, also one that only merging host modules
 *          makes; the message names the modules on it ("a -> b -> a"); MPK_E_NOMEM.
 *          Linear in modules and imports; no recursion. */
enum mpk_code mpk_graph_order(const struct mpk_module *modules, size_t module_count,
			      size_t root, enum mpk_generation gen, struct mpk_arena *arena,
			      struct mpk_tree *out, bool *unreached, struct mpk_error *err)
	MPK_MUST_CHECK;

/* mpk_graph_needs_blob - false for a host-only package: TVM writes no blob then */
bool mpk_graph_needs_blob(const struct mpk_tree *tree);

#endif

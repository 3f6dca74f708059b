/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - from modules that import one another to the tree that TVM's serializer writes
 *
 * Index order, merging of host modules into one _lib and child order are TVM's
 * (FORMAT.md of the blob, "order of modules").
 */
#ifndef MPK_MANIFEST_GRAPH_H
#define MPK_MANIFEST_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "blob/blob.h"

struct mpk_module {
	struct mpk_span name;           /* for messages: the id in the manifest */
	struct mpk_span kind;           /* ignored for host modules */
	bool is_host;                   /* joins the _lib node */
	const struct mpk_rope *content; /* payload; NULL for host modules */
	const size_t *imports;          /* module indices, in import order */
	size_t import_count;
};

/* What a package holds; borrowed. */
struct mpk_graph {
	const struct mpk_module *modules;
	size_t count;
	size_t root; /* a module index */
	bool listed; /* the tree keeps the order of modules */
};

/* Modules that import one another in a ring: each imports the next, the last the first. */
struct mpk_cycle {
	const size_t *modules; /* indices; NULL and count 0: there is no cycle */
	size_t count;
	bool merged; /* first and last are host modules: the ring closes only because all
		      * host modules become one library */
};

/* mpk_graph_find_cycle - a ring among all modules, reachable or not, or one that merging
 * the host modules makes of those that root reaches
 * @arena   receives the list
 * Returns  MPK_OK, with out->count 0 when there is none; MPK_E_RANGE when root or an
 *          import is no module index; MPK_E_NOMEM. Linear in modules and imports; no recursion. */
enum mpk_code mpk_graph_find_cycle(const struct mpk_graph *graph, struct mpk_arena *arena,
				   struct mpk_cycle *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cycle_fail - MPK_E_CONFLICT with the sentence that names the modules of a cycle */
enum mpk_code mpk_cycle_fail(const struct mpk_cycle *cycle, const struct mpk_module *modules,
			     struct mpk_error *err);

/* mpk_graph_order - the tree of everything reachable from root
 * TVM refuses to export some graphs without a cycle, because its walk meets an import
 * before one of its importers (a imports b and c, b imports c). Those get the nearest
 * order in which every module is before what it imports; every loader reads it.
 * A listed graph keeps its order instead; the library has the place of its first module.
 * @out     nodes in index order; kind, content and children set, gen as given
 * @unreached  may be NULL; receives for each module whether root does not reach it
 *          (graph->count elements, the caller's)
 * Returns  MPK_OK; MPK_E_CONFLICT for a cycle, also one that only merging host modules
 *          makes; the message names the modules on it ("a -> b -> a"); MPK_E_CONFLICT when
 *          a listed module comes after one that it imports; MPK_E_RANGE when
 *          root or an import is no module index; MPK_E_NOMEM.
 *          Linear in modules and imports; no recursion. */
enum mpk_code mpk_graph_order(const struct mpk_graph *graph, enum mpk_generation gen,
			      struct mpk_arena *arena, struct mpk_tree *out, bool *unreached,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_graph_needs_blob - false for host code alone whose root imports nothing: TVM writes no blob
 * then; with imports it writes one, that lists the one library all of it became
 * @tree    that mpk_graph_order made of graph */
bool mpk_graph_needs_blob(const struct mpk_graph *graph, const struct mpk_tree *tree);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - the order in which TVM's serializer numbers modules
 *
 * Loaders take any order in which importers come first. TVM's own order is reproduced all the
 * same, so that packing the same graph gives the same bytes; where TVM refuses a graph, the
 * nearest order is taken. */
#include "manifest/manifest.h"

#include <stdint.h>
#include <string.h>

#include "text/escape.h"

static const size_t NONE = SIZE_MAX;

struct order {
	const struct mpk_module *modules;
	size_t module_count;
	struct mpk_arena *arena; /* what the tree keeps */
	struct mpk_arena scratch;
	size_t *node_of; /* module -> node; NONE: not reached */
	size_t *stack;
	size_t depth;
	bool *visited;
	size_t *boundary; /* the host modules that phase 0 found */
	size_t boundary_count;
	size_t *module_of; /* node -> its module; NONE: the library */
	size_t node_count;
	size_t lib;       /* node of the library, or NONE */
	size_t *children; /* the children of each node are in [begin, end) of its own */
	size_t *child_begin, *child_end;
};

static void order_fini(struct order *o)
{
	mpk_arena_fini(&o->scratch);
}

/* Every array is sized by the number of modules: none is on the stack twice at a time. */
static bool order_alloc(struct order *o)
{
	size_t n = o->module_count;

	o->node_of = mpk_arena_array(&o->scratch, n, sizeof *o->node_of);
	o->stack = mpk_arena_array(&o->scratch, n, sizeof *o->stack);
	o->visited = mpk_arena_array(&o->scratch, n, sizeof *o->visited);
	o->boundary = mpk_arena_array(&o->scratch, n, sizeof *o->boundary);
	o->module_of = mpk_arena_array(&o->scratch, n, sizeof *o->module_of);
	if (!o->node_of || !o->stack || !o->visited || !o->boundary || !o->module_of)
		return false;
	for (size_t i = 0; i < n; i++)
		o->node_of[i] = NONE;
	return true;
}

static void push(struct order *o, size_t module)
{
	if (o->visited[module])
		return;
	o->visited[module] = true;
	o->stack[o->depth++] = module;
}

/* Pushes in the order of the list. The stack is popped from its end, so TVM meets the last
 * import first. */
static void push_imports(struct order *o, size_t module)
{
	for (size_t i = 0; i < o->modules[module].import_count; i++)
		push(o, o->modules[module].imports[i]);
}

/* Nodes are numbered in the order in which the walk takes them from the stack. */
static void take_index(struct order *o, size_t module)
{
	o->node_of[module] = o->node_count;
	o->module_of[o->node_count++] = module;
}

/* TVM's two phases: first everything that is reached without passing through host code,
 * then the library, then the rest. A module is marked when it is pushed, so the first
 * parent that reaches it decides its place. */
static void graph_walk(struct order *o, size_t root)
{
	push(o, root);
	while (o->depth) {
		size_t at = o->stack[--o->depth];

		if (o->modules[at].is_host) {
			o->boundary[o->boundary_count++] = at;
			continue;
		}
		take_index(o, at);
		push_imports(o, at);
	}
	if (!o->boundary_count)
		return;
	o->lib = o->node_count;
	o->module_of[o->node_count++] = NONE;
	for (size_t i = 0; i < o->boundary_count; i++)
		o->stack[o->depth++] = o->boundary[i];
	while (o->depth) {
		size_t at = o->stack[--o->depth];

		if (o->modules[at].is_host)
			o->node_of[at] = o->lib;
		else
			take_index(o, at);
		push_imports(o, at);
	}
}

/* The parents of every node, as rows: the edges of the merged graph, reversed. */
struct rows {
	size_t *begin; /* count + 1 */
	size_t *items;
};

/* One array for all lists and one with the place where each begins. */
static bool rows_alloc(struct mpk_arena *arena, size_t count, size_t items, struct rows *r)
{
	r->begin = mpk_arena_array(arena, count + 1, sizeof *r->begin);
	r->items = mpk_arena_array(arena, items, sizeof *r->items);
	return r->begin && r->items;
}

/* Turns counts in begin[1..] into row starts. */
static void rows_sum(struct rows *r, size_t count)
{
	for (size_t i = 0; i < count; i++)
		r->begin[i + 1] += r->begin[i];
}

typedef void edge_fn(void *context, size_t parent, size_t child);

/* Collects the edges between nodes. Host modules are one node, and an edge from it to itself is
 * dropped. */
static void each_edge(const struct order *o, edge_fn *fn, void *context)
{
	for (size_t m = 0; m < o->module_count; m++) {
		if (o->node_of[m] == NONE)
			continue;
		for (size_t i = 0; i < o->modules[m].import_count; i++) {
			size_t child = o->node_of[o->modules[m].imports[i]];

			if (child != o->node_of[m])
				fn(context, o->node_of[m], child);
		}
	}
}

struct transpose {
	struct rows rows;
	size_t *fill;
	size_t edges;
};

static void count_edge(void *context, size_t parent, size_t child)
{
	struct transpose *t = context;

	(void)parent;
	(void)child;
	t->edges++;
}

static void count_parent(void *context, size_t parent, size_t child)
{
	struct transpose *t = context;

	(void)parent;
	t->rows.begin[child + 1]++;
}

static void fill_parent(void *context, size_t parent, size_t child)
{
	struct transpose *t = context;

	t->rows.items[t->fill[child]++] = parent;
}

/* Makes ascending, unique child lists in linear time: nodes in ascending order are appended to
 * the lists of their parents. */
static bool build_children(struct order *o)
{
	size_t n = o->node_count;
	struct transpose t = { .fill = mpk_arena_array(&o->scratch, n, sizeof *t.fill) };
	struct rows out;

	each_edge(o, count_edge, &t);
	if (!t.fill || !rows_alloc(&o->scratch, n, t.edges, &t.rows) ||
	    !rows_alloc(o->arena, n, t.edges, &out))
		return false;
	each_edge(o, count_parent, &t);
	rows_sum(&t.rows, n);
	memcpy(t.fill, t.rows.begin, n * sizeof *t.fill);
	each_edge(o, fill_parent, &t);

	for (size_t i = 0; i < t.edges; i++)
		out.begin[t.rows.items[i] + 1]++;
	rows_sum(&out, n);
	memcpy(t.fill, out.begin, n * sizeof *t.fill);
	for (size_t child = 0; child < n; child++) {
		for (size_t i = t.rows.begin[child]; i < t.rows.begin[child + 1]; i++) {
			size_t parent = t.rows.items[i], at = t.fill[parent];

			if (at > out.begin[parent] && out.items[at - 1] == child)
				continue;
			out.items[t.fill[parent]++] = child;
		}
	}
	/* Rows have gaps where a child came twice, so their ends are stored as well. */
	o->children = out.items;
	o->child_begin = out.begin;
	o->child_end = t.fill;
	return true;
}

static size_t child_count(const struct order *o, size_t node)
{
	return o->child_end[node] - o->child_begin[node];
}

/* Whether every child has a larger number. Children are ascending, so the first of each
 * list decides. */
static bool is_topological(const struct order *o)
{
	for (size_t node = 0; node < o->node_count; node++)
		if (child_count(o, node) && o->children[o->child_begin[node]] <= node)
			return false;
	return true;
}

/* Gives new indices, every parent before its children: the finishing order of the walk,
 * reversed, with the last child first so that siblings keep their order.
 * @rank    receives the new index of every node */
static bool sort_nodes(struct order *o, size_t *rank)
{
	size_t n = o->node_count, depth = 0, left = n;
	size_t *path = mpk_arena_array(&o->scratch, n, sizeof *path);
	size_t *todo = mpk_arena_array(&o->scratch, n, sizeof *todo);

	if (!path || !todo)
		return false;
	for (size_t i = 0; i < n; i++) {
		rank[i] = NONE;
		todo[i] = child_count(o, i);
	}
	path[depth++] = 0;
	while (depth) {
		size_t at = path[depth - 1];

		if (todo[at]) {
			size_t child = o->children[o->child_begin[at] + --todo[at]];

			/* Without cycles the walk never meets a node that has begun and has no
			 * rank yet. */
			if (rank[child] == NONE)
				path[depth++] = child;
			continue;
		}
		rank[at] = --left;
		depth--;
	}
	return true;
}

/* Gives new indices in the order in which the modules are listed. The library takes the place of
 * the first of its modules. */
static bool list_nodes(struct order *o, size_t *rank)
{
	size_t next = 0;

	for (size_t i = 0; i < o->node_count; i++)
		rank[i] = NONE;
	for (size_t m = 0; m < o->module_count; m++)
		if (o->node_of[m] != NONE && rank[o->node_of[m]] == NONE)
			rank[o->node_of[m]] = next++;
	return true;
}

/* Builds the children anew, ascending in the new numbers. */
static bool renumber(struct order *o, bool (*decide)(struct order *o, size_t *rank))
{
	size_t n = o->node_count;
	size_t *rank = mpk_arena_array(&o->scratch, n, sizeof *rank);
	size_t *module_of = mpk_arena_array(&o->scratch, n, sizeof *module_of);

	if (!rank || !module_of || !decide(o, rank))
		return false;
	for (size_t i = 0; i < n; i++)
		module_of[rank[i]] = o->module_of[i];
	for (size_t m = 0; m < o->module_count; m++)
		if (o->node_of[m] != NONE)
			o->node_of[m] = rank[o->node_of[m]];
	o->module_of = module_of;
	if (o->lib != NONE)
		o->lib = rank[o->lib];
	return build_children(o);
}

static bool build_nodes(struct order *o, struct mpk_tree *out)
{
	struct mpk_node *nodes = mpk_arena_array(o->arena, o->node_count, sizeof *nodes);

	if (!nodes)
		return false;
	for (size_t i = 0; i < o->node_count; i++) {
		const struct mpk_module *m =
			o->module_of[i] == NONE ? NULL : &o->modules[o->module_of[i]];

		nodes[i] = (struct mpk_node){
			.kind = m ? m->kind : mpk_span_str(MPK_KIND_LIB),
			.content = m ? m->content : NULL,
			.children = o->children + o->child_begin[i],
			.child_count = child_count(o, i),
			.is_lib = !m,
		};
	}
	out->nodes = nodes;
	out->count = o->node_count;
	return true;
}

/* The check of the manifest reports this with a position; this check is for callers without a
 * manifest. */
static enum mpk_code not_listed_so(const struct order *o, struct mpk_error *err)
{
	for (size_t m = 0; m < o->module_count; m++)
		for (size_t i = 0; o->node_of[m] != NONE && i < o->modules[m].import_count; i++) {
			const struct mpk_module *import = &o->modules[o->modules[m].imports[i]];

			if (o->node_of[o->modules[m].imports[i]] < o->node_of[m])
				return mpk_fail(
					err, MPK_E_CONFLICT,
					"the order of modules cannot be kept: '%s' stands before '%s', which imports it",
					MPK_QUOTE(import->name), MPK_QUOTE(o->modules[m].name));
		}
	return mpk_fail(err, MPK_E_CONFLICT, "the order of modules cannot be kept");
}

/* Changes the order of the walk to the requested one. */
static enum mpk_code arrange(struct order *o, bool listed, struct mpk_error *err)
{
	MPK_TRY_ALLOC(build_children(o), err);
	if (!listed)
		return is_topological(o) || renumber(o, sort_nodes) ? MPK_OK : mpk_fail_nomem(err);
	MPK_TRY_ALLOC(renumber(o, list_nodes), err);
	return is_topological(o) ? MPK_OK : not_listed_so(o, err);
}

enum mpk_code mpk_graph_order(const struct mpk_graph *graph, enum mpk_generation gen,
			      struct mpk_arena *arena, struct mpk_tree *out, bool *unreached,
			      struct mpk_error *err)
{
	MPK_CLEANUP(order_fini)
	struct order o = {
		.modules = graph->modules, .module_count = graph->count, .arena = arena, .lib = NONE
	};
	struct mpk_tree tree = { .gen = gen, .has_tree = true };
	struct mpk_cycle cycle;

	MPK_TRY(mpk_graph_find_cycle(graph, arena, &cycle, err));
	if (cycle.count)
		return mpk_cycle_fail(&cycle, graph->modules, err);
	MPK_TRY_ALLOC(order_alloc(&o), err);
	graph_walk(&o, graph->root);
	MPK_TRY(arrange(&o, graph->listed, err));
	MPK_TRY_ALLOC(build_nodes(&o, &tree), err);
	for (size_t i = 0; unreached && i < graph->count; i++)
		unreached[i] = !o.visited[i];
	*out = tree;
	return MPK_OK;
}

/* A library alone, without imports, is loaded without a blob. */
bool mpk_graph_needs_blob(const struct mpk_graph *graph, const struct mpk_tree *tree)
{
	return tree->count != 1 || !tree->nodes[0].is_lib ||
	       graph->modules[graph->root].import_count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - the order in which TVM's serializer numbers modules
 *
 * Loaders accept any order in which importers come first. This file nevertheless reproduces TVM's
 * order, so that packing the same graph gives the same bytes. Where TVM refuses a graph, the order
 * is as similar to TVM's as possible. */
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "manifest/manifest.h"
#include "text/escape.h"

/* --- Cycles of imports, reported by module names.
 *
 * A cycle may exist in the manifest, or arise only when all host modules are merged into one node.
 * Both searches take linear time and keep their stack in the arena, because programs may write
 * manifests with very many modules. */

enum { NAMES_SHOWN = 12 };

enum color { WHITE, GREY, BLACK };

/* A depth-first walk whose stack is the path from its first module. */
struct walk {
	const struct mpk_module *modules;
	size_t count;
	size_t *path; /* module indices */
	size_t *next; /* for each module on the path, the index of the import to look at next */
	size_t depth;
	unsigned char *color; /* enum color of every module */
};

/* A module is grey while it is on the path, and black when all modules below it have been
 * visited. */
static void cycle_enter(struct walk *w, size_t module)
{
	w->color[module] = GREY;
	w->path[w->depth] = module;
	w->next[w->depth++] = 0;
}

/* Walks all modules reachable from `from`. Returns true if an import leads back into the path,
 * which then ends in the importing module. */
static bool walk_closes(struct walk *w, size_t from, size_t *back_to)
{
	cycle_enter(w, from);
	while (w->depth) {
		size_t at = w->path[w->depth - 1];
		const struct mpk_module *m = &w->modules[at];

		if (w->next[w->depth - 1] == m->import_count) {
			w->color[at] = BLACK;
			w->depth--;
			continue;
		}
		size_t import = m->imports[w->next[w->depth - 1]++];
		if (w->color[import] == GREY) {
			*back_to = import;
			return true;
		}
		if (w->color[import] == WHITE)
			cycle_enter(w, import);
	}
	return false;
}

static enum mpk_code cycle_keep(const size_t *modules, size_t count, bool merged,
				struct mpk_arena *arena, struct mpk_cycle *out,
				struct mpk_error *err)
{
	size_t *copy = mpk_arena_array(arena, count, sizeof *copy);

	MPK_TRY_ALLOC(copy, err);
	memcpy(copy, modules, count * sizeof *copy);
	*out = (struct mpk_cycle){ .modules = copy, .count = count, .merged = merged };
	return MPK_OK;
}

/* Starts at every module, not only at the root: a cycle that the root does not reach is an error,
 * too. */
static enum mpk_code find_ring(struct walk *w, struct mpk_arena *arena, struct mpk_cycle *out,
			       struct mpk_error *err)
{
	for (size_t i = 0; i < w->count; i++) {
		size_t back_to, begin = 0;

		if (w->color[i] != WHITE || !walk_closes(w, i, &back_to))
			continue;
		while (w->path[begin] != back_to)
			begin++;
		return cycle_keep(w->path + begin, w->depth - begin, false, arena, out, err);
	}
	return MPK_OK;
}

/* A breadth-first search from every reachable host module at once, through other modules only. The
 * first host module that is met again closes the shortest cycle that merging creates. */
struct search {
	const struct mpk_module *modules;
	size_t *queue;
	size_t *from; /* the module whose import led here; SIZE_MAX: not met yet */
	size_t count;
};

/* Returns the module that imports the host module *last, or SIZE_MAX. */
static size_t return_to_host(struct search *s, size_t module_count, const size_t *hosts,
			     size_t host_count, size_t *last)
{
	s->count = 0;
	for (size_t i = 0; i < module_count; i++)
		s->from[i] = SIZE_MAX;
	for (size_t i = 0; i < host_count; i++)
		s->queue[s->count++] = hosts[i];
	for (size_t i = 0; i < s->count; i++) {
		size_t at = s->queue[i];
		const struct mpk_module *m = &s->modules[at];

		for (size_t k = 0; k < m->import_count; k++) {
			size_t import = m->imports[k];

			if (s->modules[import].is_host && !m->is_host) {
				*last = import;
				return at;
			}
			if (s->modules[import].is_host || s->from[import] != SIZE_MAX)
				continue;
			s->from[import] = at;
			s->queue[s->count++] = import;
		}
	}
	return SIZE_MAX;
}

/* @hosts   has space for every module */
static enum mpk_code find_merged(struct search *s, const struct mpk_graph *graph, size_t *hosts,
				 struct mpk_arena *arena, struct mpk_cycle *out,
				 struct mpk_error *err)
{
	size_t host_count = 0, last, length = 1;

	s->queue[s->count++] = graph->root;
	s->from[graph->root] = graph->root;
	for (size_t i = 0; i < s->count; i++) {
		const struct mpk_module *m = &s->modules[s->queue[i]];

		if (m->is_host)
			hosts[host_count++] = s->queue[i];
		for (size_t k = 0; k < m->import_count; k++) {
			if (s->from[m->imports[k]] != SIZE_MAX)
				continue;
			s->from[m->imports[k]] = s->queue[i];
			s->queue[s->count++] = m->imports[k];
		}
	}

	size_t tail = return_to_host(s, graph->count, hosts, host_count, &last);
	if (tail == SIZE_MAX)
		return MPK_OK;
	for (size_t at = tail; at != SIZE_MAX; at = s->from[at])
		length++;

	size_t *ring = s->queue; /* its content is no longer needed */
	ring[--length] = last;
	for (size_t at = tail; at != SIZE_MAX; at = s->from[at])
		ring[--length] = at;
	length = 1;
	while (ring[length] != last)
		length++;
	return cycle_keep(ring, length + 1, true, arena, out, err);
}

/* Checks the indices of a graph that was not made from a manifest. Its modules have no ids. */
static enum mpk_code check_indices(const struct mpk_graph *graph, struct mpk_error *err)
{
	const struct mpk_module *modules = graph->modules;
	size_t count = graph->count;

	if (graph->root >= count)
		return mpk_fail(err, MPK_E_RANGE, "root %zu of %zu modules", graph->root, count);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < modules[i].import_count; k++)
			if (modules[i].imports[k] >= count)
				return mpk_fail(err, MPK_E_RANGE,
						"module %zu imports module %zu of %zu", i,
						modules[i].imports[k], count);
	return MPK_OK;
}

enum mpk_code mpk_graph_find_cycle(const struct mpk_graph *graph, struct mpk_arena *arena,
				   struct mpk_cycle *out, struct mpk_error *err)
{
	size_t count = graph->count;
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_cycle found = { 0 };

	MPK_TRY(check_indices(graph, err));

	size_t *first = mpk_arena_array(&scratch, count, sizeof *first);
	size_t *second = mpk_arena_array(&scratch, count, sizeof *second);
	size_t *hosts = mpk_arena_array(&scratch, count, sizeof *hosts);
	unsigned char *color = mpk_arena_array(&scratch, count, 1);
	MPK_TRY_ALLOC(first && second && hosts && color, err);

	struct walk w = { .modules = graph->modules,
			  .count = count,
			  .path = first,
			  .next = second,
			  .color = color };
	MPK_TRY(find_ring(&w, arena, &found, err));
	if (!found.count) {
		struct search s = { .modules = graph->modules, .queue = first, .from = second };

		for (size_t i = 0; i < count; i++)
			second[i] = SIZE_MAX;
		MPK_TRY(find_merged(&s, graph, hosts, arena, &found, err));
	}
	*out = found;
	return MPK_OK;
}

enum mpk_code mpk_cycle_fail(const struct mpk_cycle *cycle, const struct mpk_module *modules,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_module *first = &modules[cycle->modules[0]];
	const struct mpk_module *last = &modules[cycle->modules[cycle->count - 1]];

	/* Print "a -> b -> c"; a long cycle without its middle. */
	for (size_t i = 0; i < cycle->count; i++) {
		if (i == NAMES_SHOWN / 2 && cycle->count > NAMES_SHOWN) {
			size_t skipped = cycle->count - NAMES_SHOWN;

			mpk_strbuf_printf(&text, " -> ... (%zu more)", skipped);
			i += skipped;
		}
		mpk_strbuf_puts(&text, i ? " -> " : "");
		mpk_strbuf_puts(&text, MPK_QUOTE(modules[cycle->modules[i]].name));
	}

	if (!cycle->merged)
		return mpk_fail(err, MPK_E_CONFLICT, "modules import each other: %s -> %s",
				mpk_strbuf_text(&text), MPK_QUOTE(first->name));
	if (first == last)
		return mpk_fail(err, MPK_E_CONFLICT, "modules import each other: %s",
				mpk_strbuf_text(&text));
	return mpk_fail(
		err, MPK_E_CONFLICT,
		"modules import each other once the host modules '%s' and '%s' become one library: %s",
		MPK_QUOTE(first->name), MPK_QUOTE(last->name), mpk_strbuf_text(&text));
}

static const size_t NONE = SIZE_MAX;

struct order {
	const struct mpk_module *modules;
	size_t module_count;
	struct mpk_arena *arena; /* memory of the tree */
	struct mpk_arena scratch;
	size_t *node_of; /* for each module, its node; NONE: not reached */
	size_t *stack;
	size_t depth;
	bool *visited;
	size_t *boundary; /* the host modules that phase 0 found */
	size_t boundary_count;
	size_t *module_of; /* for each node, its module; NONE: the library */
	size_t node_count;
	size_t lib;       /* node of the library, or NONE */
	size_t *children; /* the children of node i are in [begin[i], end[i]) */
	size_t *child_begin, *child_end;
};

static void order_fini(struct order *o)
{
	mpk_arena_fini(&o->scratch);
}

/* Each array has one element per module, because no module is on the stack twice at a time. */
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

/* Pushes imports in the order of the list. The stack is popped from its end, so TVM visits the last
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

/* TVM's two phases: first all modules that are reached without passing through host code, then the
 * library, then the other modules. A module is marked when it is pushed, so the first parent that
 * reaches it decides its place. */
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

/* The parents of every node: the edges of the merged graph, reversed. The lists are stored one
 * after another. */
struct rows {
	size_t *begin; /* begin[i] is the index of node i's first parent; count + 1 elements */
	size_t *items;
};

/* Allocates one array for all lists, and one with the index where each list begins. */
static bool rows_alloc(struct mpk_arena *arena, size_t count, size_t items, struct rows *r)
{
	r->begin = mpk_arena_array(arena, count + 1, sizeof *r->begin);
	r->items = mpk_arena_array(arena, items, sizeof *r->items);
	return r->begin && r->items;
}

/* Turns counts in begin[1..] into the indices where lists begin. */
static void rows_sum(struct rows *r, size_t count)
{
	for (size_t i = 0; i < count; i++)
		r->begin[i + 1] += r->begin[i];
}

typedef void edge_fn(void *context, size_t parent, size_t child);

/* Calls fn for each edge between nodes. All host modules are one node; an edge from that node to
 * itself is dropped. */
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

/* Makes ascending child lists without duplicates, in linear time: visits nodes in ascending order
 * and appends each to the lists of its parents. */
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
	/* Lists have gaps where duplicates were dropped, so their ends are stored as well. */
	o->children = out.items;
	o->child_begin = out.begin;
	o->child_end = t.fill;
	return true;
}

static size_t child_count(const struct order *o, size_t node)
{
	return o->child_end[node] - o->child_begin[node];
}

/* Whether every child has a larger number than its parent. Child lists ascend, so testing the first
 * child is enough. */
static bool is_topological(const struct order *o)
{
	for (size_t node = 0; node < o->node_count; node++)
		if (child_count(o, node) && o->children[o->child_begin[node]] <= node)
			return false;
	return true;
}

/* Numbers the nodes so that every parent precedes its children: in the reverse of the order in
 * which a walk leaves them. The walk visits the last child first, so that siblings keep their
 * order.
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

			/* Without cycles the walk never meets a node that is unfinished. */
			if (rank[child] == NONE)
				path[depth++] = child;
			continue;
		}
		rank[at] = --left;
		depth--;
	}
	return true;
}

/* Numbers the nodes in the order in which the modules are listed. The library takes the place of
 * the first host module. */
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

/* Makes the child lists again, ascending in the new numbers. */
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

/* The check of the manifest reports this error with a position. This one is for callers without a
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

/* Changes the order from the walk's to the requested one. */
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

/* Returns false for a single library without imports: it is loaded without a blob. */
bool mpk_graph_needs_blob(const struct mpk_graph *graph, const struct mpk_tree *tree)
{
	return tree->count != 1 || !tree->nodes[0].is_lib ||
	       graph->modules[graph->root].import_count;
}

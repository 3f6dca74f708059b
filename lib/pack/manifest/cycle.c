/* SPDX-License-Identifier: Apache-2.0 */
/* cycle.c - rings of imports, by name
 *
 * A ring may be there from the start or close only when all host modules become one node. Both
 * searches are linear and keep their stack in the arena: manifests may be made by programs.
 */
#include "manifest/manifest.h"

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "text/escape.h"

enum { NAMES_SHOWN = 12 };

enum color { WHITE, GREY, BLACK };

/* A depth-first walk whose stack is the path from where it began. */
struct walk {
	const struct mpk_module *modules;
	size_t count;
	size_t *path; /* module indices */
	size_t *next; /* for each of them, the index of the next import to look at */
	size_t depth;
	unsigned char *color; /* enum color of every module */
};

/* A module is grey while it is on the path, and black when everything below it was seen. */
static void cycle_enter(struct walk *w, size_t module)
{
	w->color[module] = GREY;
	w->path[w->depth] = module;
	w->next[w->depth++] = 0;
}

/* Walks everything reachable from `from`; true when an import leads back into the path,
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

/* Starts at every module, not only at the root: a ring that nothing reaches is a mistake, too. */
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

/* Breadth-first from every reachable host module at once, through other modules only: the
 * first host module met again closes the shortest ring that merging makes. */
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

/* @hosts   room for every module */
static enum mpk_code find_merged(struct search *s, const struct mpk_graph *graph, size_t *hosts,
				 struct mpk_arena *arena, struct mpk_cycle *out,
				 struct mpk_error *err)
{
	size_t host_count = 0, last, length = 1;

	size_t root = graph->root;

	s->queue[s->count++] = root;
	s->from[root] = root;
	for (size_t i = 0; i < s->count; i++) {
		const struct mpk_module *m = &s->modules[s->queue[i]];

		if (m->is_host)
			hosts[(host_count)++] = s->queue[i];
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

	size_t *ring = s->queue; /* The order does not need its content. */
	ring[--length] = last;
	for (size_t at = tail; at != SIZE_MAX; at = s->from[at])
		ring[--length] = at;
	length = 1;
	while (ring[length] != last)
		length++;
	return cycle_keep(ring, length + 1, true, arena, out, err);
}

/* Checks a graph that was not made from a manifest, where modules have no ids. */
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

	/* Formats "a -> b -> c", without the middle of a long ring. */
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

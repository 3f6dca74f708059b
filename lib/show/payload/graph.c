/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - builds a graph, and splits byte code into basic blocks
 *
 * The builder remembers a failed allocation: readers of byte code add nodes without checking, and
 * the end of the build reports the failure. */
#include "payload/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

size_t mpk_graph_add_node(struct mpk_graph_builder *b, enum mpk_model_node_kind kind,
			  const struct mpk_strbuf *label, const struct mpk_strbuf *detail)
{
	struct mpk_model_node node = { .kind = kind, .type = "", .constants = "" };

	node.label = mpk_arena_copy(b->arena, mpk_strbuf_text(label), label->len);
	node.detail = detail ? mpk_arena_copy(b->arena, mpk_strbuf_text(detail), detail->len) : "";
	if (!node.label || !node.detail || label->failed || (detail && detail->failed) ||
	    !MPK_VEC_ROOM(b->nodes, b->node_count, b->node_cap)) {
		b->failed = true;
		return MPK_NO_NODE;
	}
	b->nodes[b->node_count] = node;
	return b->node_count++;
}

enum { TYPES_MAX = 1000, CONSTANTS_MAX = 60 }; /* bytes */

/* Adds the type of one more result of a node, in the builder's arena; NULL if not known. */
static void add_type(struct mpk_graph_builder *b, size_t node, const char *type)
{
	const char *old;

	if (node == MPK_NO_NODE || !type)
		return;
	old = b->nodes[node].type;
	if (strlen(old) > TYPES_MAX) /* more outputs would not be readable */
		return;
	if (old[0] && strlen(old) + strlen(type) > TYPES_MAX)
		type = "...";
	type = old[0] ? mpk_arena_printf(b->arena, "%s, %s", old, type) : type;
	b->failed |= !type;
	b->nodes[node].type = type ? type : "";
}

void mpk_graph_add_edge(struct mpk_graph_builder *b, size_t from, size_t to, const char *label)
{
	const struct mpk_model_edge *last = b->edge_count ? &b->edges[b->edge_count - 1] : NULL;

	if (from == MPK_NO_NODE || to == MPK_NO_NODE)
		return;
	/* an operator may use a value twice; labels have static storage, so addresses can be
	 * compared */
	if (last && last->from == from && last->to == to && last->label == label)
		return;
	if (!MPK_VEC_ROOM(b->edges, b->edge_count, b->edge_cap)) {
		b->failed = true;
		return;
	}
	b->edges[b->edge_count++] = (struct mpk_model_edge){ from, to, label };
}

static void take_constant(struct mpk_graph_builder *b, size_t node, size_t constant)
{
	const char *old;

	if (node == MPK_NO_NODE)
		return;
	old = b->nodes[node].constants;
	if (strlen(old) > CONSTANTS_MAX)
		return;
	old = mpk_arena_printf(b->arena, "%s%s%zu", old, old[0] ? " " : "", constant);
	b->failed |= !old;
	b->nodes[node].constants = old ? old : "";
}

void mpk_graph_pass(struct mpk_graph_builder *b, struct mpk_graph_register *reg, size_t node)
{
	/* the first user of the memory writes to it, so the value comes from that node */
	if (reg->is_room) {
		add_type(b, node, reg->type);
		*reg = (struct mpk_graph_register){ .node = node };
		return;
	}
	if (reg->constant)
		take_constant(b, node, reg->constant - 1);
	if (reg->node != node)
		mpk_graph_add_edge(b, reg->node, node, "");
}

/* Sorts edges by target, as struct mpk_model_graph promises, then by source. */
static int by_target(const void *a, const void *b)
{
	const struct mpk_model_edge *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return 0;
}

static enum mpk_code keep_graph(struct mpk_graph_builder *b, struct mpk_model_graph *out,
				struct mpk_error *err)
{
	if (b->failed)
		return mpk_fail_nomem(err);
	if (b->edge_count)
		qsort(b->edges, b->edge_count, sizeof *b->edges, by_target);
	out->nodes = mpk_arena_keep(b->arena, b->nodes, b->node_count, sizeof *b->nodes);
	out->edges = mpk_arena_keep(b->arena, b->edges, b->edge_count, sizeof *b->edges);
	MPK_TRY_ALLOC(out->nodes && out->edges, err);
	out->node_count = b->node_count;
	out->edge_count = b->edge_count;
	return MPK_OK;
}

/* --- basic blocks ---------------------------------------------------------------------------- */

enum { NAMES_SHOWN = 6 }; /* calls named in a block's label */

struct jumps {
	size_t to[2];
	const char *labels[2];
	bool falls;
};

/* SIZE_MAX: no jump. An instruction continues with the next one unless the code says otherwise. */
static struct jumps jumps_of(const struct mpk_graph_code *g, size_t at)
{
	struct jumps j = { { SIZE_MAX, SIZE_MAX }, { "", "" }, true };

	g->jumps(g, at, j.to, j.labels, &j.falls);
	return j;
}

static bool jumps(const struct jumps *j)
{
	return j->to[0] != SIZE_MAX || j->to[1] != SIZE_MAX;
}

static bool has_jumps(const struct mpk_graph_code *g)
{
	for (size_t at = 0; at < g->count; at++) {
		struct jumps j = jumps_of(g, at);

		if (jumps(&j))
			return true;
	}
	return false;
}

/* Numbers the block of each instruction. A block begins at the target of a jump, and after an
 * instruction that jumps or ends. */
static void number_blocks(const struct mpk_graph_code *g, size_t *block)
{
	size_t count = 0;

	for (size_t at = 0; at < g->count; at++) {
		struct jumps j = jumps_of(g, at);

		for (int i = 0; i < 2; i++)
			if (j.to[i] != SIZE_MAX)
				block[j.to[i]] = 1;
		if (at + 1 < g->count && (jumps(&j) || !j.falls))
			block[at + 1] = 1;
	}
	for (size_t at = 0; at < g->count; at++) {
		count += at > 0 && block[at];
		block[at] = count;
	}
}

/* The label has the range and the first calls, which fit into a box;
 * the detail has all instructions. */
static void put_block(struct mpk_graph_builder *b, const struct mpk_graph_code *g, size_t from,
		      size_t end)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 }, detail = { 0 };
	size_t names = 0;

	mpk_strbuf_printf(&label, "%zu", from);
	if (end > from + 1)
		mpk_strbuf_printf(&label, " - %zu", end - 1);
	for (size_t at = from; at < end; at++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

		mpk_strbuf_puts(&detail, at > from ? "\n" : "");
		g->print(g, at, &detail);
		g->name(g, at, &name);
		label.failed |= name.failed;
		if (name.len && names++ < NAMES_SHOWN)
			mpk_strbuf_printf(&label, "\n%s", mpk_strbuf_text(&name));
	}
	if (names > NAMES_SHOWN)
		mpk_strbuf_printf(&label, "\nand %zu more", names - NAMES_SHOWN);
	(void)mpk_graph_add_node(b, MPK_MODEL_BLOCK, &label, &detail);
}

static void put_blocks(struct mpk_graph_builder *b, const struct mpk_graph_code *g)
{
	size_t *block = mpk_arena_array(b->arena, g->count, sizeof *block), from = 0;

	b->failed |= !block;
	if (!block)
		return;
	number_blocks(g, block);
	for (size_t at = 0; at < g->count; at++) {
		if (at + 1 < g->count && block[at + 1] == block[at])
			continue;
		struct jumps j = jumps_of(g, at);

		put_block(b, g, from, at + 1);
		from = at + 1;
		/* only the last instruction can leave a block */
		if (j.falls && at + 1 < g->count)
			mpk_graph_add_edge(b, block[at], block[at + 1], jumps(&j) ? "then" : "");
		for (int i = 0; i < 2; i++)
			if (j.to[i] != SIZE_MAX)
				mpk_graph_add_edge(b, block[at], block[j.to[i]], j.labels[i]);
	}
}

enum mpk_code mpk_graph_of_code(const struct mpk_graph_code *g, struct mpk_arena *arena,
				struct mpk_model_graph *out, struct mpk_error *err)
{
	struct mpk_graph_builder b = { .arena = arena };
	struct mpk_graph_register *regs;
	enum mpk_code code;

	out->is_flow = has_jumps(g);
	if (out->is_flow) {
		put_blocks(&b, g);
	} else if (g->values) {
		MPK_TRY_ARRAY(regs, arena, (size_t)g->registers, err);
		for (uint64_t i = 0; i < g->registers; i++)
			regs[i].node = MPK_NO_NODE;
		g->values(g, &b, regs);
	}
	code = keep_graph(&b, out, err);
	free(b.nodes);
	free(b.edges);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - a graph of a model to draw, and how it is put together from what a payload has
 *
 * A graph executor stores its graph. Byte code is read for one: where a function runs straight
 * through, its operators and what flows between them; where it jumps, its basic blocks.
 */
#ifndef MPK_PAYLOAD_GRAPH_H
#define MPK_PAYLOAD_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "relaxvm/relaxvm.h"

enum mpk_model_node_kind {
	MPK_MODEL_INPUT,
	MPK_MODEL_OPERATOR, /* computes: a kernel, a function of the library or of the executable */
	MPK_MODEL_BUILTIN,  /* the executor does it itself: a reshape, a tuple */
	MPK_MODEL_BLOCK,    /* instructions without a jump among them */
	MPK_MODEL_OUTPUT,
};

/* Texts are escaped, but may have line feeds between what was. */
struct mpk_model_node {
	enum mpk_model_node_kind kind;
	const char *label;     /* what is called, or the name of the input */
	const char *detail;    /* the instruction or the type of the result; may be empty */
	const char *type;      /* of the result, "float32[4, 24]"; empty: not known */
	const char *constants; /* that it takes, by their numbers: "6 7"; may be empty */
};

struct mpk_model_edge {
	size_t from, to;   /* nodes */
	const char *label; /* "else"; empty: nothing to say */
};

struct mpk_model_graph {
	const char *path;     /* of the module */
	struct mpk_span name; /* of the function; empty: the module is one graph. Not escaped */
	bool is_flow;         /* nodes are basic blocks, edges jumps; else edges are values */
	const struct mpk_model_node *nodes;
	size_t node_count;
	const struct mpk_model_edge *edges; /* ascending by the node they lead to */
	size_t edge_count;
};

/* --- putting one together ------------------------------------------------------------------ */

#define MPK_NO_NODE SIZE_MAX

/* A graph while it grows. A failed allocation is remembered. */
struct mpk_graph_builder {
	struct mpk_arena *arena;
	struct mpk_model_node *nodes; /* malloc'ed while they grow */
	struct mpk_model_edge *edges;
	size_t node_count, node_cap, edge_count, edge_cap;
	bool failed;
};

/* What a register holds at one place of a function. */
struct mpk_graph_register {
	size_t node; /* that computed it, or MPK_NO_NODE */
	bool is_room; /* memory that nothing was written to yet: who gets it as an argument writes it */
	const char *type; /* of that memory, in the builder's arena; NULL: not known */
	size_t constant;  /* that it holds: its number and 1; 0: none */
};

/* mpk_graph_add_node - append a node; its texts are copied
 * Returns  its index; MPK_NO_NODE when memory is out */
size_t mpk_graph_add_node(struct mpk_graph_builder *b, enum mpk_model_node_kind kind,
			  const struct mpk_strbuf *label, const struct mpk_strbuf *detail);

/* mpk_graph_add_edge - append an edge, unless it is the last one again; nothing from MPK_NO_NODE
 * @label   static storage */
void mpk_graph_add_edge(struct mpk_graph_builder *b, size_t from, size_t to, const char *label);

/* mpk_graph_pass - a node gets the value of a register as an argument; of many constants the first are noted */
void mpk_graph_pass(struct mpk_graph_builder *b, struct mpk_graph_register *reg, size_t node);

/* What cuts instructions into blocks. */
struct mpk_graph_code {
	const void *code;
	size_t count; /* instructions; 0: no jumps, print or name is asked for */
	/* Where instruction `at` goes on besides to the next: two instructions within the function, or
	 * SIZE_MAX. *falls: whether it may go on to the next. *labels: what the jumps are called. */
	void (*jumps)(const struct mpk_graph_code *g, size_t at, size_t to[2],
		      const char *labels[2], bool *falls);
	/* Appends the instruction as the listing has it, without a line feed. */
	void (*print)(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out);
	/* What it calls, or an empty text: the words of a block's label. */
	void (*name)(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out);
	/* Of code that does not jump, adds operators as nodes and values as edges, in the order of its run. regs
	 * hold nothing yet. NULL: there is nothing to draw then. */
	void (*values)(const struct mpk_graph_code *g, struct mpk_graph_builder *b,
		       struct mpk_graph_register *regs);
	uint64_t registers; /* how many there are, when values are drawn */
};

/* mpk_graph_of_code - of code that jumps, the basic blocks as nodes and the jumps as edges; else operators and values
 * @out     is_flow, nodes and edges are set; no nodes: it has none to draw
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_graph_of_code(const struct mpk_graph_code *g, struct mpk_arena *arena,
				struct mpk_model_graph *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

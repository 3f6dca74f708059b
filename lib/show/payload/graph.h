/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - a graph of a model to draw, and the builder that makes it from a payload
 *
 * A graph executor stores its graph. For byte code, the graph shows operators and the values
 * between them if the function has no jumps, else its basic blocks.
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
	/* a computation: a kernel, a function of the library or of the executable */
	MPK_MODEL_OPERATOR,
	MPK_MODEL_BUILTIN, /* an operation of the executor itself: a reshape, a tuple */
	MPK_MODEL_BLOCK,   /* a basic block: instructions without jumps between them */
	MPK_MODEL_OUTPUT,
};

/* Texts are escaped, but may have line feeds between their parts. */
struct mpk_model_node {
	enum mpk_model_node_kind kind;
	const char *label;     /* the called function, or the name of the input */
	const char *detail;    /* the instruction, or the type of the result; may be empty */
	const char *type;      /* type of the result, "float32[4, 24]"; empty if not known */
	const char *constants; /* numbers of the constants it uses, "6 7"; may be empty */
};

struct mpk_model_edge {
	size_t from, to;   /* indexes of nodes */
	const char *label; /* "else"; may be empty */
};

struct mpk_model_graph {
	const char *path; /* path of the module */
	/* name of the function, not escaped; empty if the module has a single graph */
	struct mpk_span name;
	bool is_flow; /* nodes are basic blocks and edges are jumps; else edges are values */
	const struct mpk_model_node *nodes;
	size_t node_count;
	const struct mpk_model_edge *edges; /* sorted by target node */
	size_t edge_count;
};

/* --- putting one together ------------------------------------------------------------------ */

#define MPK_NO_NODE SIZE_MAX

/* A graph under construction, which remembers failed allocations. */
struct mpk_graph_builder {
	struct mpk_arena *arena;
	struct mpk_model_node *nodes; /* malloc'ed during construction */
	struct mpk_model_edge *edges;
	size_t node_count, node_cap, edge_count, edge_cap;
	bool failed;
};

/* The content of a register at one place of a function. */
struct mpk_graph_register {
	size_t node; /* node that computed it, or MPK_NO_NODE */
	/* memory that was not written yet: the node that gets it as an argument writes it */
	bool is_room;
	const char *type; /* type of that memory, in the builder's arena; NULL if not known */
	size_t constant;  /* 1 + number of the constant in the register; 0 if none */
};

/* mpk_graph_add_node - append a node; its texts are copied
 * Returns  its index; MPK_NO_NODE if memory is out */
size_t mpk_graph_add_node(struct mpk_graph_builder *b, enum mpk_model_node_kind kind,
			  const struct mpk_strbuf *label, const struct mpk_strbuf *detail);

/* mpk_graph_add_edge - append an edge, unless it equals the last one or comes from MPK_NO_NODE
 * @label   static storage */
void mpk_graph_add_edge(struct mpk_graph_builder *b, size_t from, size_t to, const char *label);

/* mpk_graph_pass - pass the value of a register to a node as an argument; only the first constants
 * are noted */
void mpk_graph_pass(struct mpk_graph_builder *b, struct mpk_graph_register *reg, size_t node);

/* Code that can be split into basic blocks, with functions to examine it. */
struct mpk_graph_code {
	const void *code;
	/* number of instructions; 0 if there are no jumps, and then jumps, print and name are not
	 * called */
	size_t count;
	/* Gets the jump targets of instruction `at`: two instructions within the function, or
	 * SIZE_MAX. *falls: whether it may continue with the next one. *labels: names of the
	 * jumps. */
	void (*jumps)(const struct mpk_graph_code *g, size_t at, size_t to[2],
		      const char *labels[2], bool *falls);
	/* Appends the instruction as in the listing, without a line feed. */
	void (*print)(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out);
	/* Appends the name of the function that it calls, if any, for the label of a block. */
	void (*name)(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out);
	/* For code without jumps: adds operators as nodes and values as edges, in execution order.
	 * regs is initially empty. NULL if such code is not drawn. */
	void (*values)(const struct mpk_graph_code *g, struct mpk_graph_builder *b,
		       struct mpk_graph_register *regs);
	uint64_t registers; /* number of registers, used when values are drawn */
};

/* mpk_graph_of_code - for code with jumps, make a graph of basic blocks; else one of operators and
 * values
 * @out     is_flow, nodes and edges are set; no nodes if there is nothing to draw
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_graph_of_code(const struct mpk_graph_code *g, struct mpk_arena *arena,
				struct mpk_model_graph *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

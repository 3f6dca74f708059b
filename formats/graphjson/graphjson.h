/* SPDX-License-Identifier: Apache-2.0 */
/* graphjson.h - the graph of a graph executor, TVM up to 0.19 (FORMAT.md) */
#ifndef MPK_FORMATS_GRAPHJSON_GRAPHJSON_H
#define MPK_FORMATS_GRAPHJSON_GRAPHJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"

/* Output `index` of node `node`. */
struct mpk_graph_ref {
	uint32_t node, index;
};

struct mpk_graph_node {
	const char *name;
	bool is_input;         /* op "null": an input or a parameter */
	const char *func_name; /* of operators; "__nop" and "__copy" are not functions */
	uint32_t num_outputs;
	bool flatten_data; /* the function takes tensors of one dimension */
	const struct mpk_graph_ref *inputs;
	size_t input_count;
};

/* A tensor of the graph: entry row_ptr[node] + index. */
struct mpk_graph_entry {
	struct mpk_dtype dtype;
	const int64_t *shape; /* each >= 0 */
	size_t ndim;
	int64_t storage_id;        /* entries with the same id share memory; >= 0 */
	int64_t device_type;       /* DLPack's number; 0: not given */
	const char *storage_scope; /* "": not given */
};

struct mpk_graph_json {
	const struct mpk_graph_node *nodes;
	size_t node_count;
	const uint32_t *arg_nodes; /* the node of each input, with parameters */
	size_t arg_count;
	const struct mpk_graph_ref *heads; /* the outputs */
	size_t head_count;
	const uint32_t *row_ptr; /* node_count + 1 entry numbers, ascending */
	const struct mpk_graph_entry *entries;
	size_t entry_count; /* row_ptr[node_count] */
};

/* mpk_graph_json_read - parse the text, and check that every index in it is valid
 * @out     everything is in arena
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column: not JSON; MPK_E_CORRUPT: not a graph, and the
 *          message says what is missing or wrong; MPK_E_NOMEM */
enum mpk_code mpk_graph_json_read(struct mpk_span text, struct mpk_arena *arena,
				  struct mpk_graph_json *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_graph_json_entry - the index of the entry that a reference means */
static inline size_t mpk_graph_json_entry(const struct mpk_graph_json *g, struct mpk_graph_ref ref)
{
	return (size_t)g->row_ptr[ref.node] + ref.index;
}

#endif

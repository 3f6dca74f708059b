/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - parses graph JSON into arrays with checked indices
 *
 * JSON limits neither the numbers that are indices here nor the keys of an object: each is checked
 * before it is used. */
#include "graphjson/graphjson.h"

#include <inttypes.h>

#include "base/num.h"
#include "text/escape.h"
#include "text/json_read.h"

struct reader {
	struct mpk_arena *arena;
	struct mpk_graph_json *g;
	struct mpk_error *err;
};

/* Reports a wrong value and what it should be; parsed JSON has no positions. */
static enum mpk_code wrong(const struct reader *r, const char *what, const char *want)
{
	return mpk_fail(r->err, MPK_E_CORRUPT, "graph: %s is not %s", what, want);
}

/* Allocates an array in the arena with as many elements as the JSON array. */
static enum mpk_code make_array(const struct reader *r, struct mpk_json_value list,
				const char *what, size_t size, void *out, size_t *count)
{
	void *p;

	if (mpk_json_value_type(list) != MPK_JSON_ARRAY)
		return wrong(r, what, "a list");
	*count = mpk_json_value_count(list);
	p = mpk_arena_array(r->arena, *count, size);
	if (!p)
		return mpk_fail_nomem(r->err);
	memcpy(out, &p, sizeof p);
	return MPK_OK;
}

/* Refuses negative and fractional numbers, because the value is an index. */
static enum mpk_code read_u32(const struct reader *r, struct mpk_json_value j, const char *what,
			      uint32_t *out)
{
	int64_t v;

	if (!mpk_json_value_i64(j, &v) || v < 0 || v > UINT32_MAX)
		return wrong(r, what, "a number from 0 up");
	*out = (uint32_t)v;
	return MPK_OK;
}

/* The text is in the arena; NULL: the value is not a string. */
static enum mpk_code graphjson_read_text(const struct reader *r, struct mpk_json_value j,
					 const char *what, const char **out)
{
	MPK_TRY(mpk_json_value_text(j, r->arena, out, r->err));
	return *out ? MPK_OK : wrong(r, what, "a string");
}

/* Reads [node, index] or [node, index, version]. */
static enum mpk_code read_ref(const struct reader *r, struct mpk_json_value j, const char *what,
			      struct mpk_graph_ref *out)
{
	struct mpk_json_items items = mpk_json_items(j);
	struct mpk_json_value node, index;

	if (items.in_object || !mpk_json_next(&items, &node) || !mpk_json_next(&items, &index))
		return wrong(r, what, "a list of [node, index]");
	MPK_TRY(read_u32(r, node, what, &out->node));
	return read_u32(r, index, what, &out->index);
}

static enum mpk_code read_refs(const struct reader *r, struct mpk_json_value list, const char *what,
			       const struct mpk_graph_ref **out, size_t *count)
{
	struct mpk_json_items items = mpk_json_items(list);
	struct mpk_json_value v;
	struct mpk_graph_ref *refs;

	MPK_TRY(make_array(r, list, what, sizeof *refs, &refs, count));
	for (size_t i = 0; mpk_json_next(&items, &v); i++)
		MPK_TRY(read_ref(r, v, what, &refs[i]));
	*out = refs;
	return MPK_OK;
}

static enum mpk_code read_numbers(const struct reader *r, struct mpk_json_value list,
				  const char *what, const uint32_t **out, size_t *count)
{
	struct mpk_json_items items = mpk_json_items(list);
	struct mpk_json_value v;
	uint32_t *numbers;

	MPK_TRY(make_array(r, list, what, sizeof *numbers, &numbers, count));
	for (size_t i = 0; mpk_json_next(&items, &v); i++)
		MPK_TRY(read_u32(r, v, what, &numbers[i]));
	*out = numbers;
	return MPK_OK;
}

/* --- nodes ------------------------------------------------------------------------------- */

/* "null" is an input or a parameter, "tvm_op" a call; some graphs have "attr" instead of "attrs". */
static enum mpk_code graphjson_read_node(const struct reader *r, struct mpk_json_value j,
					 struct mpk_graph_node *node)
{
	struct mpk_json_value attrs = mpk_json_value_get(j, "attrs");
	const char *op;

	MPK_TRY(graphjson_read_text(r, mpk_json_value_get(j, "op"), "op of a node", &op));
	MPK_TRY(graphjson_read_text(r, mpk_json_value_get(j, "name"), "name of a node",
				    &node->name));
	MPK_TRY(read_refs(r, mpk_json_value_get(j, "inputs"), "inputs of a node", &node->inputs,
			  &node->input_count));
	node->is_input = strcmp(op, "null") == 0;
	node->num_outputs = 1;
	if (node->is_input)
		return MPK_OK;
	if (strcmp(op, "tvm_op") != 0)
		return mpk_fail(r->err, MPK_E_CORRUPT, "graph: node \"%s\" has operation \"%s\"",
				MPK_QUOTE(mpk_span_str(node->name)), MPK_QUOTE(mpk_span_str(op)));
	if (mpk_json_value_type(attrs) == MPK_JSON_NONE)
		attrs = mpk_json_value_get(j, "attr");

	/* The attributes of an operator are numbers written as strings. */
	const char *outputs, *flatten;
	uint64_t n;

	MPK_TRY(graphjson_read_text(r, mpk_json_value_get(attrs, "func_name"),
				    "func_name of an operator", &node->func_name));
	MPK_TRY(graphjson_read_text(r, mpk_json_value_get(attrs, "num_outputs"),
				    "num_outputs of an operator", &outputs));
	MPK_TRY(graphjson_read_text(r, mpk_json_value_get(attrs, "flatten_data"),
				    "flatten_data of an operator", &flatten));
	if (!mpk_parse_u64(mpk_span_str(outputs), &n) || n > UINT32_MAX)
		return wrong(r, "num_outputs of an operator", "a number");
	node->num_outputs = (uint32_t)n;
	node->flatten_data = strcmp(flatten, "0") != 0;
	return MPK_OK;
}

/* --- entries ----------------------------------------------------------------------------- */

/* The columns of the table of entries, each in an attribute ["list_int", [...]]. */
enum column { DTYPE, SHAPE, STORAGE_ID, DEVICE, SCOPE, COLUMN_COUNT };

static const struct {
	const char *name;
	bool required;
} columns[COLUMN_COUNT] = {
	[DTYPE] = { "dltype", true },          [SHAPE] = { "shape", true },
	[STORAGE_ID] = { "storage_id", true }, [DEVICE] = { "device_index", false },
	[SCOPE] = { "storage_scope", false },
};

/* Finds the list of a column, which has one item for each entry; without items if the column is
 * missing and optional. */
static enum mpk_code open_column(const struct reader *r, struct mpk_json_value attrs, enum column c,
				 struct mpk_json_items *out)
{
	struct mpk_json_value attr = mpk_json_value_get(attrs, columns[c].name), list = { 0 };
	struct mpk_json_items items = mpk_json_items(attr);

	*out = (struct mpk_json_items){ 0 };
	if (mpk_json_value_type(attr) == MPK_JSON_NONE && !columns[c].required)
		return MPK_OK;
	if (items.in_object || !mpk_json_next(&items, &list) || !mpk_json_next(&items, &list) ||
	    mpk_json_value_type(list) != MPK_JSON_ARRAY ||
	    mpk_json_value_count(list) != r->g->entry_count)
		return wrong(r, columns[c].name, "a list with one element for each tensor");
	*out = mpk_json_items(list);
	return MPK_OK;
}

/* row[c]: value of column c for the entry; no value in missing columns */
static enum mpk_code graphjson_read_entry(const struct reader *r,
					  const struct mpk_json_value row[COLUMN_COUNT],
					  struct mpk_graph_entry *e)
{
	const char *dtype;
	uint32_t storage;

	MPK_TRY(graphjson_read_text(r, row[DTYPE], columns[DTYPE].name, &dtype));
	if (!mpk_dtype_parse(mpk_span_str(dtype), &e->dtype))
		return mpk_fail(r->err, MPK_E_CORRUPT, "graph: \"%s\" is no type",
				MPK_QUOTE(mpk_span_str(dtype)));

	/* A dimension of zero is valid, a negative one is not. */
	struct mpk_json_value j = row[SHAPE];
	struct mpk_json_items items = mpk_json_items(j);
	struct mpk_json_value v;
	int64_t *shape;

	MPK_TRY(make_array(r, j, "shape of a tensor", sizeof *shape, &shape, &e->ndim));
	for (size_t i = 0; mpk_json_next(&items, &v); i++)
		if (!mpk_json_value_i64(v, &shape[i]) || shape[i] < 0)
			return wrong(r, "shape of a tensor", "a list of numbers from 0 up");
	e->shape = shape;

	MPK_TRY(read_u32(r, row[STORAGE_ID], columns[STORAGE_ID].name, &storage));
	e->storage_id = storage;
	(void)mpk_json_value_i64(row[DEVICE], &e->device_type);
	e->storage_scope = "";
	if (mpk_json_value_type(row[SCOPE]) != MPK_JSON_NONE)
		MPK_TRY(graphjson_read_text(r, row[SCOPE], columns[SCOPE].name, &e->storage_scope));
	return MPK_OK;
}

/* All columns are walked together, one entry at a time. */
static enum mpk_code read_entries(const struct reader *r, struct mpk_json_value attrs)
{
	struct mpk_json_items items[COLUMN_COUNT];
	struct mpk_graph_entry *entries;

	for (size_t c = 0; c < COLUMN_COUNT; c++)
		MPK_TRY(open_column(r, attrs, (enum column)c, &items[c]));
	MPK_TRY_ARRAY(entries, r->arena, r->g->entry_count, r->err);
	for (size_t i = 0; i < r->g->entry_count; i++) {
		struct mpk_json_value row[COLUMN_COUNT];

		for (size_t c = 0; c < COLUMN_COUNT; c++)
			(void)mpk_json_next(&items[c], &row[c]);
		MPK_TRY(graphjson_read_entry(r, row, &entries[i]));
	}
	r->g->entries = entries;
	return MPK_OK;
}

/* --- the graph --------------------------------------------------------------------------- */

/* Each node has a row of entries, at least as many as its outputs: every later index is checked
 * against these. */
static enum mpk_code graphjson_read_rows(const struct reader *r, struct mpk_json_value list)
{
	struct mpk_graph_json *g = r->g;
	size_t count;

	MPK_TRY(read_numbers(r, list, "node_row_ptr", &g->row_ptr, &count));
	if (count != g->node_count + 1 || g->row_ptr[0] != 0)
		return wrong(r, "node_row_ptr", "one number for each node and the end");
	for (size_t i = 0; i < g->node_count; i++) {
		if (g->row_ptr[i + 1] < g->row_ptr[i] ||
		    g->row_ptr[i + 1] - g->row_ptr[i] < g->nodes[i].num_outputs)
			return wrong(r, "node_row_ptr", "ascending by the outputs of each node");
	}
	g->entry_count = g->row_ptr[g->node_count];
	return MPK_OK;
}

static bool ref_exists(const struct mpk_graph_json *g, struct mpk_graph_ref ref)
{
	return ref.node < g->node_count &&
	       ref.index < g->row_ptr[ref.node + 1] - g->row_ptr[ref.node];
}

static enum mpk_code check_refs(const struct reader *r)
{
	const struct mpk_graph_json *g = r->g;

	for (size_t i = 0; i < g->head_count; i++) {
		if (!ref_exists(g, g->heads[i]))
			return wrong(r, "an output", "an output of a node");
	}
	for (size_t i = 0; i < g->arg_count; i++) {
		if (g->arg_nodes[i] >= g->node_count || !g->nodes[g->arg_nodes[i]].is_input ||
		    !ref_exists(g, (struct mpk_graph_ref){ g->arg_nodes[i], 0 }))
			return wrong(r, "an element of arg_nodes", "an input node");
	}
	for (size_t i = 0; i < g->node_count; i++) {
		for (size_t j = 0; j < g->nodes[i].input_count; j++) {
			if (!ref_exists(g, g->nodes[i].inputs[j]) ||
			    g->nodes[i].inputs[j].node >= i)
				return wrong(r, "an input of a node",
					     "an output of a node before it");
		}
	}
	return MPK_OK;
}

static enum mpk_code graphjson_read_graph(const struct reader *r, struct mpk_json_value root)
{
	struct mpk_graph_json *g = r->g;

	if (mpk_json_value_type(root) != MPK_JSON_OBJECT)
		return wrong(r, "the text", "an object");

	struct mpk_json_value list = mpk_json_value_get(root, "nodes");
	struct mpk_json_items items = mpk_json_items(list);
	struct mpk_json_value v;
	struct mpk_graph_node *nodes;

	MPK_TRY(make_array(r, list, "nodes", sizeof *nodes, &nodes, &r->g->node_count));
	for (size_t i = 0; mpk_json_next(&items, &v); i++)
		MPK_TRY(graphjson_read_node(r, v, &nodes[i]));
	r->g->nodes = nodes;

	MPK_TRY(read_numbers(r, mpk_json_value_get(root, "arg_nodes"), "arg_nodes", &g->arg_nodes,
			     &g->arg_count));
	MPK_TRY(read_refs(r, mpk_json_value_get(root, "heads"), "heads", &g->heads,
			  &g->head_count));
	MPK_TRY(graphjson_read_rows(r, mpk_json_value_get(root, "node_row_ptr")));
	MPK_TRY(read_entries(r, mpk_json_value_get(root, "attrs")));
	return check_refs(r);
}

enum mpk_code mpk_graph_json_read(struct mpk_span text, struct mpk_arena *arena,
				  struct mpk_graph_json *out, struct mpk_error *err)
{
	struct mpk_graph_json g = { 0 };
	struct reader r = { arena, &g, err };
	struct mpk_json_value root;
	enum mpk_code code = mpk_json_read(text, &root, err);

	if (code != MPK_OK)
		mpk_error_prefix(err, "graph: ");
	else
		code = graphjson_read_graph(&r, root);
	if (code == MPK_OK)
		*out = g;
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - graph JSON by jansson, into arrays in which every index was checked
 *
 * jansson has no limit of its own on numbers that are indices here, nor on missing keys: each is
 * looked at before it is used.
 */
#include "graphjson/graphjson.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/num.h"
#include "text/escape.h"
#include "text/json_read.h"

static void json_drop(json_t **j)
{
	json_decref(*j);
}

struct reader {
	struct mpk_arena *arena;
	struct mpk_graph_json *g;
	struct mpk_error *err;
};

static enum mpk_code wrong(const struct reader *r, const char *what, const char *want)
{
	return mpk_fail(r->err, MPK_E_CORRUPT, "graph: %s is not %s", what, want);
}

/* An array of objects in the arena, as long as the JSON array. */
static enum mpk_code make_array(const struct reader *r, const json_t *list, const char *what,
				size_t size, void *out)
{
	void *p;

	if (!json_is_array(list))
		return wrong(r, what, "a list");
	p = mpk_arena_array(r->arena, json_array_size(list), size);
	if (!p)
		return mpk_fail_nomem(r->err);
	memcpy(out, &p, sizeof p);
	return MPK_OK;
}

static enum mpk_code read_u32(const struct reader *r, const json_t *j, const char *what,
			      uint32_t *out)
{
	json_int_t v = json_integer_value(j);

	if (!json_is_integer(j) || v < 0 || v > UINT32_MAX)
		return wrong(r, what, "a number from 0 up");
	*out = (uint32_t)v;
	return MPK_OK;
}

static enum mpk_code read_text(const struct reader *r, const json_t *j, const char *what,
			       const char **out)
{
	const char *text = json_string_value(j);

	if (!text)
		return wrong(r, what, "a string");
	*out = mpk_arena_copy(r->arena, text, json_string_length(j));
	return *out ? MPK_OK : mpk_fail_nomem(r->err);
}

/* [node, index] or [node, index, version] */
static enum mpk_code read_ref(const struct reader *r, const json_t *j, const char *what,
			      struct mpk_graph_ref *out)
{
	if (json_array_size(j) < 2)
		return wrong(r, what, "a list of [node, index]");
	MPK_TRY(read_u32(r, json_array_get(j, 0), what, &out->node));
	return read_u32(r, json_array_get(j, 1), what, &out->index);
}

static enum mpk_code read_refs(const struct reader *r, const json_t *list, const char *what,
			       const struct mpk_graph_ref **out, size_t *count)
{
	struct mpk_graph_ref *refs;

	MPK_TRY(make_array(r, list, what, sizeof *refs, &refs));
	for (size_t i = 0; i < json_array_size(list); i++)
		MPK_TRY(read_ref(r, json_array_get(list, i), what, &refs[i]));
	*out = refs;
	*count = json_array_size(list);
	return MPK_OK;
}

static enum mpk_code read_numbers(const struct reader *r, const json_t *list, const char *what,
				  const uint32_t **out, size_t *count)
{
	uint32_t *numbers;

	MPK_TRY(make_array(r, list, what, sizeof *numbers, &numbers));
	for (size_t i = 0; i < json_array_size(list); i++)
		MPK_TRY(read_u32(r, json_array_get(list, i), what, &numbers[i]));
	*out = numbers;
	*count = json_array_size(list);
	return MPK_OK;
}

/* --- nodes ------------------------------------------------------------------------------- */

/* The attributes of an operator are numbers written as strings. */
static enum mpk_code read_operator(const struct reader *r, const json_t *attrs,
				   struct mpk_graph_node *node)
{
	const char *outputs, *flatten;
	uint64_t n;

	MPK_TRY(read_text(r, json_object_get(attrs, "func_name"), "func_name of an operator",
			  &node->func_name));
	MPK_TRY(read_text(r, json_object_get(attrs, "num_outputs"), "num_outputs of an operator",
			  &outputs));
	MPK_TRY(read_text(r, json_object_get(attrs, "flatten_data"), "flatten_data of an operator",
			  &flatten));
	if (!mpk_parse_u64(mpk_span_str(outputs), &n) || n > UINT32_MAX)
		return wrong(r, "num_outputs of an operator", "a number");
	node->num_outputs = (uint32_t)n;
	node->flatten_data = strcmp(flatten, "0") != 0;
	return MPK_OK;
}

static enum mpk_code read_node(const struct reader *r, const json_t *j, struct mpk_graph_node *node)
{
	const json_t *attrs = json_object_get(j, "attrs");
	const char *op;

	MPK_TRY(read_text(r, json_object_get(j, "op"), "op of a node", &op));
	MPK_TRY(read_text(r, json_object_get(j, "name"), "name of a node", &node->name));
	MPK_TRY(read_refs(r, json_object_get(j, "inputs"), "inputs of a node", &node->inputs,
			  &node->input_count));
	node->is_input = strcmp(op, "null") == 0;
	node->num_outputs = 1;
	if (node->is_input)
		return MPK_OK;
	if (strcmp(op, "tvm_op") != 0)
		return mpk_fail(r->err, MPK_E_CORRUPT, "graph: node \"%s\" has operation \"%s\"",
				MPK_QUOTE(mpk_span_str(node->name)), MPK_QUOTE(mpk_span_str(op)));
	return read_operator(r, attrs ? attrs : json_object_get(j, "attr"), node);
}

static enum mpk_code read_nodes(const struct reader *r, const json_t *list)
{
	struct mpk_graph_node *nodes;

	MPK_TRY(make_array(r, list, "nodes", sizeof *nodes, &nodes));
	for (size_t i = 0; i < json_array_size(list); i++)
		MPK_TRY(read_node(r, json_array_get(list, i), &nodes[i]));
	r->g->nodes = nodes;
	r->g->node_count = json_array_size(list);
	return MPK_OK;
}

/* --- entries ----------------------------------------------------------------------------- */

/* ["list_int", [...]]: the list of an attribute, as long as there are entries.
 * Returns  MPK_OK and NULL when there is no such attribute and it may be missing */
static enum mpk_code attr_list(const struct reader *r, const json_t *attrs, const char *name,
			       bool required, const json_t **out)
{
	const json_t *attr = json_object_get(attrs, name);
	const json_t *list = json_array_get(attr, 1);

	*out = NULL;
	if (!attr && !required)
		return MPK_OK;
	if (!json_is_array(list) || json_array_size(list) != r->g->entry_count)
		return wrong(r, name, "a list with one element for each tensor");
	*out = list;
	return MPK_OK;
}

static enum mpk_code read_shape(const struct reader *r, const json_t *j, struct mpk_graph_entry *e)
{
	int64_t *shape;

	MPK_TRY(make_array(r, j, "shape of a tensor", sizeof *shape, &shape));
	e->ndim = json_array_size(j);
	for (size_t i = 0; i < e->ndim; i++) {
		shape[i] = json_integer_value(json_array_get(j, i));
		if (!json_is_integer(json_array_get(j, i)) || shape[i] < 0)
			return wrong(r, "shape of a tensor", "a list of numbers from 0 up");
	}
	e->shape = shape;
	return MPK_OK;
}

struct entry_lists {
	const json_t *dtypes, *shapes, *storage_ids, *devices, *scopes;
};

static enum mpk_code read_entry(const struct reader *r, const struct entry_lists *l, size_t i,
				struct mpk_graph_entry *e)
{
	const char *dtype;
	uint32_t storage;

	MPK_TRY(read_text(r, json_array_get(l->dtypes, i), "dltype", &dtype));
	if (!mpk_dtype_parse(mpk_span_str(dtype), &e->dtype))
		return mpk_fail(r->err, MPK_E_CORRUPT, "graph: \"%s\" is no type",
				MPK_QUOTE(mpk_span_str(dtype)));
	MPK_TRY(read_shape(r, json_array_get(l->shapes, i), e));
	MPK_TRY(read_u32(r, json_array_get(l->storage_ids, i), "storage_id", &storage));
	e->storage_id = storage;
	if (l->devices)
		e->device_type = json_integer_value(json_array_get(l->devices, i));
	e->storage_scope = "";
	if (l->scopes)
		MPK_TRY(read_text(r, json_array_get(l->scopes, i), "storage_scope",
				  &e->storage_scope));
	return MPK_OK;
}

static enum mpk_code read_entries(const struct reader *r, const json_t *attrs)
{
	struct mpk_graph_entry *entries;
	struct entry_lists l;

	MPK_TRY(attr_list(r, attrs, "dltype", true, &l.dtypes));
	MPK_TRY(attr_list(r, attrs, "shape", true, &l.shapes));
	MPK_TRY(attr_list(r, attrs, "storage_id", true, &l.storage_ids));
	MPK_TRY(attr_list(r, attrs, "device_index", false, &l.devices));
	MPK_TRY(attr_list(r, attrs, "storage_scope", false, &l.scopes));
	MPK_TRY(make_array(r, l.dtypes, "dltype", sizeof *entries, &entries));
	for (size_t i = 0; i < r->g->entry_count; i++)
		MPK_TRY(read_entry(r, &l, i, &entries[i]));
	r->g->entries = entries;
	return MPK_OK;
}

/* --- the whole --------------------------------------------------------------------------- */

static enum mpk_code read_rows(const struct reader *r, const json_t *list)
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

static enum mpk_code read_graph(const struct reader *r, const json_t *root)
{
	struct mpk_graph_json *g = r->g;

	if (!json_is_object(root))
		return wrong(r, "the text", "an object");
	MPK_TRY(read_nodes(r, json_object_get(root, "nodes")));
	MPK_TRY(read_numbers(r, json_object_get(root, "arg_nodes"), "arg_nodes", &g->arg_nodes,
			     &g->arg_count));
	MPK_TRY(read_refs(r, json_object_get(root, "heads"), "heads", &g->heads, &g->head_count));
	MPK_TRY(read_rows(r, json_object_get(root, "node_row_ptr")));
	MPK_TRY(read_entries(r, json_object_get(root, "attrs")));
	return check_refs(r);
}

enum mpk_code mpk_graph_json_read(struct mpk_span text, struct mpk_arena *arena,
				  struct mpk_graph_json *out, struct mpk_error *err)
{
	struct mpk_graph_json g = { 0 };
	struct reader r = { arena, &g, err };
	json_error_t at;
	json_t *root MPK_CLEANUP(json_drop) = mpk_json_read(text, 0, &at);

	if (!root)
		return mpk_fail_line(err, MPK_E_SYNTAX, at.line > 0 ? (uint32_t)at.line : 1,
				     at.column > 0 ? (uint32_t)at.column : 1, "graph: %s",
				     MPK_QUOTE(mpk_span_str(at.text)));
	MPK_TRY(read_graph(&r, root));
	*out = g;
	return MPK_OK;
}

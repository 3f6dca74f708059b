/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/schema.h"
#include "text/json_read.h"

#include <jansson.h>
#include <string.h>

enum { DEPTH_MAX = 16 };

static void drop(json_t **json)
{
	json_decref(*json);
}

static enum mpk_code no_schema(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_SYNTAX, "this is no metadata of a function");
}

/* "Optional[ffi.Array[int]]" */
static void put_title(const json_t *type, unsigned depth, struct mpk_strbuf *out)
{
	const char *name = json_string_value(json_object_get(type, "type"));
	const json_t *args = json_object_get(type, "args");

	mpk_strbuf_puts(out, name ? name : "Any");
	for (size_t i = 0; depth < DEPTH_MAX && i < json_array_size(args); i++) {
		mpk_strbuf_puts(out, i ? ", " : "[");
		put_title(json_array_get(args, i), depth + 1, out);
	}
	mpk_strbuf_puts(out, depth < DEPTH_MAX && json_array_size(args) ? "]" : "");
}

/* Types that a value on the command line can be of. */
static const struct {
	const char *name;
	struct mpk_type type;
} types[] = {
	{ "int", { .kind = MPK_TYPE_SCALAR, .dtype = { MPK_DTYPE_INT, 0, 1 } } },
	{ "float", { .kind = MPK_TYPE_SCALAR, .dtype = { MPK_DTYPE_FLOAT, 0, 1 } } },
	{ "bool", { .kind = MPK_TYPE_SCALAR, .dtype = { MPK_DTYPE_BOOL, 8, 1 } } },
	{ "ffi.String", { .kind = MPK_TYPE_STRING } },
	{ "ffi.SmallStr", { .kind = MPK_TYPE_STRING } },
	{ "std::string", { .kind = MPK_TYPE_STRING } },
	{ "const char*", { .kind = MPK_TYPE_STRING } },
	{ "str", { .kind = MPK_TYPE_STRING } },
	{ "DLTensor*", { .kind = MPK_TYPE_TENSOR } },
	{ "ffi.Tensor", { .kind = MPK_TYPE_TENSOR } },
	{ "Tensor", { .kind = MPK_TYPE_TENSOR } },
	{ "ffi.Shape", { .kind = MPK_TYPE_SHAPE } },
	{ "ffi.Function", { .kind = MPK_TYPE_FUNCTION } },
	{ "Any", { .kind = MPK_TYPE_ANY } },
};

static enum mpk_code read_type(const json_t *json, struct mpk_arena *arena, struct mpk_type *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf title = { 0 };
	const char *name = json_string_value(json_object_get(json, "type")), *copy;

	if (!name)
		return no_schema(err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++) {
		if (strcmp(name, types[i].name) != 0)
			continue;
		*out = types[i].type;
		return MPK_OK;
	}
	put_title(json, 0, &title);
	MPK_TRY(mpk_strbuf_status(&title, err));
	copy = mpk_arena_copy(arena, title.data, title.len);
	MPK_TRY_ALLOC(copy, err);
	*out = (struct mpk_type){ .kind = MPK_TYPE_NAMED,
				  .title = mpk_span_of(copy, title.len),
				  .optional = strcmp(name, "Optional") == 0 };
	return MPK_OK;
}

static enum mpk_code read_list(const json_t *list, struct mpk_arena *arena, struct mpk_param **out,
			       size_t *count, struct mpk_error *err)
{
	size_t n = json_array_size(list);
	struct mpk_param *params = mpk_arena_array(arena, n, sizeof *params);

	if (!json_is_array(list))
		return no_schema(err);
	MPK_TRY_ALLOC(params, err);
	for (size_t i = 0; i < n; i++)
		MPK_TRY(read_type(json_array_get(list, i), arena, &params[i].type, err));
	*out = params;
	*count = n;
	return MPK_OK;
}

static bool returns_nothing(const json_t *list)
{
	const char *name = json_string_value(json_object_get(json_array_get(list, 0), "type"));

	return json_array_size(list) == 1 && name && strcmp(name, "None") == 0;
}

/* Older exporters: {"args": [return, parameter, ...]}. */
static enum mpk_code read_positional(const json_t *args, struct mpk_arena *arena,
				     struct mpk_signature *out, struct mpk_error *err)
{
	struct mpk_param *all;
	size_t count;

	MPK_TRY(read_list(args, arena, &all, &count, err));
	if (!count)
		return no_schema(err);
	out->outputs = all;
	out->output_count = 1;
	out->outputs_known =
		!(all[0].type.kind == MPK_TYPE_NAMED && mpk_span_is(all[0].type.title, "None"));
	out->inputs = all + 1;
	out->input_count = count - 1;
	return MPK_OK;
}

static enum mpk_code read_function(const json_t *schema, struct mpk_arena *arena,
				   struct mpk_signature *out, struct mpk_error *err)
{
	const char *type = json_string_value(json_object_get(schema, "type"));
	const json_t *named = json_object_get(schema, "named_args");
	const json_t *results = json_object_get(named, "return");
	struct mpk_param *inputs, *outputs;

	if (!type || strcmp(type, "ffi.Function") != 0)
		return no_schema(err);
	if (!named)
		return read_positional(json_object_get(schema, "args"), arena, out, err);
	MPK_TRY(read_list(json_object_get(named, "params"), arena, &inputs, &out->input_count,
			  err));
	MPK_TRY(read_list(results, arena, &outputs, &out->output_count, err));
	out->inputs = inputs;
	out->outputs = outputs;
	out->outputs_known = !returns_nothing(results);
	return MPK_OK;
}

enum mpk_code mpk_schema_read(struct mpk_span text, struct mpk_arena *arena,
			      struct mpk_signature *out, struct mpk_error *err)
{
	MPK_CLEANUP(drop) json_t *metadata = mpk_json_read(text, 0, NULL);
	MPK_CLEANUP(drop) json_t *schema = NULL;
	const json_t *inner = json_object_get(metadata, "type_schema");
	struct mpk_signature s = { 0 };

	if (!json_is_string(inner))
		return no_schema(err);
	schema = mpk_json_read(mpk_span_of(json_string_value(inner), json_string_length(inner)), 0,
			       NULL);
	MPK_TRY(read_function(schema, arena, &s, err));
	/* by custom what returns nothing fills its last tensor */
	s.fills_inputs = !s.outputs_known && s.input_count &&
			 s.inputs[s.input_count - 1].type.kind == MPK_TYPE_TENSOR;
	*out = s;
	return MPK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - what a function takes and gives, of the JSON that an exporter put beside its code */
#include "signature/schema.h"

#include <string.h>

#include "text/json_read.h"

enum { DEPTH_MAX = 16 };

static enum mpk_code no_schema(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_SYNTAX, "this is no metadata of a function");
}

/* "Optional[ffi.Array[int]]" */
static enum mpk_code schema_put_title(struct mpk_json_value type, unsigned depth,
				      struct mpk_arena *arena, struct mpk_strbuf *out,
				      struct mpk_error *err)
{
	struct mpk_json_value args = mpk_json_value_get(type, "args"), arg;
	struct mpk_json_items items = mpk_json_items(args);
	const char *name;
	size_t count = 0;

	MPK_TRY(mpk_json_value_text(mpk_json_value_get(type, "type"), arena, &name, err));
	mpk_strbuf_puts(out, name ? name : "Any");
	while (depth < DEPTH_MAX && !items.in_object && mpk_json_next(&items, &arg)) {
		mpk_strbuf_puts(out, count++ ? ", " : "[");
		MPK_TRY(schema_put_title(arg, depth + 1, arena, out, err));
	}
	mpk_strbuf_puts(out, count ? "]" : "");
	return MPK_OK;
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

static enum mpk_code schema_read_type(struct mpk_json_value json, struct mpk_arena *arena,
				      struct mpk_type *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf title = { 0 };
	struct mpk_json_value name = mpk_json_value_get(json, "type");
	const char *copy;

	if (mpk_json_value_type(name) != MPK_JSON_STRING)
		return no_schema(err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++) {
		if (!mpk_json_value_is(name, types[i].name))
			continue;
		*out = types[i].type;
		return MPK_OK;
	}
	MPK_TRY(schema_put_title(json, 0, arena, &title, err));
	MPK_TRY(mpk_strbuf_status(&title, err));
	copy = mpk_arena_copy(arena, title.data, title.len);
	MPK_TRY_ALLOC(copy, err);
	*out = (struct mpk_type){ .kind = MPK_TYPE_NAMED,
				  .title = mpk_span_of(copy, title.len),
				  .optional = mpk_json_value_is(name, "Optional") };
	return MPK_OK;
}

static enum mpk_code read_list(struct mpk_json_value list, struct mpk_arena *arena,
			       struct mpk_param **out, size_t *count, struct mpk_error *err)
{
	struct mpk_json_items items = mpk_json_items(list);
	size_t n = mpk_json_value_count(list);
	struct mpk_json_value v;
	struct mpk_param *params = mpk_arena_array(arena, n, sizeof *params);

	if (mpk_json_value_type(list) != MPK_JSON_ARRAY)
		return no_schema(err);
	MPK_TRY_ALLOC(params, err);
	for (size_t i = 0; mpk_json_next(&items, &v); i++)
		MPK_TRY(schema_read_type(v, arena, &params[i].type, err));
	*out = params;
	*count = n;
	return MPK_OK;
}

static bool returns_nothing(struct mpk_json_value list)
{
	struct mpk_json_items items = mpk_json_items(list);
	struct mpk_json_value first;

	return mpk_json_value_count(list) == 1 && mpk_json_next(&items, &first) &&
	       mpk_json_value_is(mpk_json_value_get(first, "type"), "None");
}

/* Older exporters: {"args": [return, parameter, ...]}. */
static enum mpk_code read_positional(struct mpk_json_value args, struct mpk_arena *arena,
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

static enum mpk_code schema_read_function(struct mpk_json_value schema, struct mpk_arena *arena,
					  struct mpk_signature *out, struct mpk_error *err)
{
	struct mpk_json_value named = mpk_json_value_get(schema, "named_args");
	struct mpk_json_value results = mpk_json_value_get(named, "return");
	struct mpk_param *inputs, *outputs;

	if (!mpk_json_value_is(mpk_json_value_get(schema, "type"), "ffi.Function"))
		return no_schema(err);
	if (mpk_json_value_type(named) == MPK_JSON_NONE)
		return read_positional(mpk_json_value_get(schema, "args"), arena, out, err);
	MPK_TRY(read_list(mpk_json_value_get(named, "params"), arena, &inputs, &out->input_count,
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
	struct mpk_json_value metadata, schema;
	struct mpk_signature s = { 0 };
	const char *inner = NULL;

	if (mpk_json_read(text, &metadata, NULL) != MPK_OK)
		return no_schema(err);
	/* JSON within a string of JSON */
	MPK_TRY(mpk_json_value_text(mpk_json_value_get(metadata, "type_schema"), arena, &inner,
				    err));
	if (!inner || mpk_json_read(mpk_span_str(inner), &schema, NULL) != MPK_OK)
		return no_schema(err);
	MPK_TRY(schema_read_function(schema, arena, &s, err));
	/* by custom what returns nothing fills its last tensor */
	s.fills_inputs = !s.outputs_known && s.input_count &&
			 s.inputs[s.input_count - 1].type.kind == MPK_TYPE_TENSOR;
	*out = s;
	return MPK_OK;
}

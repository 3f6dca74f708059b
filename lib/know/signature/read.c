/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - signatures from texts: prototypes that functions show in their error messages, and the JSON that an
 * exporter put beside code
 *
 * Newer releases of TVM, and mpack's launch functions, put the whole of it into a message about a
 * wrong argument: "add(a: Tensor([n], float32), b: Tensor([n], float32))". Any text that has such a
 * form is taken, as nothing else marks it; what is of another form in one place is refused as a
 * whole.
 */
#include "signature/signature.h"

#include <string.h>

#include "text/json_read.h"

/* One answer for all mistakes: callers try the next text. */
static enum mpk_code no_prototype(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_SYNTAX, "this is no prototype of a function");
}

/* --- lists ------------------------------------------------------------------------------ */

/* Up to the next comma or the end, with what is in brackets: takes it from *rest. False: a bracket
 * is open. */
static bool take_item(struct mpk_span *rest, struct mpk_span *out)
{
	size_t depth = 0, i;

	for (i = 0; i < rest->len && (depth || rest->data[i] != ','); i++) {
		if (rest->data[i] == '(' || rest->data[i] == '[')
			depth++;
		if (rest->data[i] == ')' || rest->data[i] == ']') {
			if (!depth)
				return false;
			depth--;
		}
	}
	*out = mpk_span_of(rest->data, i);
	i += i < rest->len; /* the comma, and the blank after it */
	i += i < rest->len && rest->data[i] == ' ';
	*rest = mpk_span_from(*rest, i);
	return depth == 0 && out->len > 0;
}

/* How many items there are at most: one more than commas. */
static size_t most_items(struct mpk_span list)
{
	size_t n = 1;

	for (size_t i = 0; i < list.len; i++)
		n += list.data[i] == ',';
	return list.len ? n : 0;
}

/* Text that begins with open and ends with close, without both. */
static bool between(struct mpk_span text, const char *open, const char *close, struct mpk_span *out)
{
	size_t n = strlen(open), m = strlen(close);

	if (text.len < n + m || memcmp(text.data, open, n) != 0 ||
	    memcmp(text.data + text.len - m, close, m) != 0)
		return false;
	*out = mpk_span_of(text.data + n, text.len - n - m);
	return true;
}

/* --- types ------------------------------------------------------------------------------ */

/* A formula without names is a number; a negative one is no extent. */
static enum mpk_code prototype_read_extent(struct mpk_span text, struct mpk_arena *arena,
					   int64_t *fixed, struct mpk_span *symbol,
					   struct mpk_error *err)
{
	static const struct mpk_extent_values none;

	if (mpk_extent_compute(text, &none, fixed))
		return *fixed < 0 ? no_prototype(err) : MPK_OK;
	return mpk_extent_shorten(text, arena, symbol, err);
}

/* Symbols only where one dimension has one: most shapes are numbers. */
static enum mpk_code prototype_read_shape(struct mpk_span list, struct mpk_arena *arena,
					  struct mpk_type *out, struct mpk_error *err)
{
	size_t most = most_items(list), n = 0, symbolic = 0;
	struct mpk_span *symbols = mpk_arena_array(arena, most, sizeof *symbols), item;
	int64_t *shape = mpk_arena_array(arena, most, sizeof *shape);

	MPK_TRY_ALLOC(symbols && shape, err);
	for (; list.len; n++) {
		if (!take_item(&list, &item))
			return no_prototype(err);
		MPK_TRY(prototype_read_extent(item, arena, &shape[n], &symbols[n], err));
		symbolic += symbols[n].len > 0;
	}
	*out = mpk_type_tensor(out->dtype, shape, n, symbolic ? symbols : NULL);
	return MPK_OK;
}

/* Bare types are scalars. "handle" is a pointer that the function passes on without looking. */
static enum mpk_code prototype_read_type(struct mpk_span text, struct mpk_arena *arena,
					 struct mpk_type *out, struct mpk_error *err)
{
	struct mpk_span inside;

	if (between(text, "Tensor(", ")", &inside)) {
		/* "Tensor([n, 4], float32)" */
		struct mpk_span shape, list;

		if (!take_item(&inside, &shape) || !between(shape, "[", "]", &list) ||
		    !mpk_dtype_parse(inside, &out->dtype))
			return no_prototype(err);
		if (mpk_span_is(list, "...")) { /* mpack's, of a tensor of any rank */
			out->kind = MPK_TYPE_TENSOR;
			return MPK_OK;
		}
		return prototype_read_shape(list, arena, out, err);
	}
	out->kind = MPK_TYPE_SCALAR;
	/* TVM 0.22 writes handle, later releases T.handle; a pointer to elements names their type */
	if (mpk_span_is(text, "T.handle") || between(text, "T.handle(", ")", &inside)) {
		out->dtype = (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 };
		return MPK_OK;
	}
	return mpk_dtype_parse(text, &out->dtype) ? MPK_OK : no_prototype(err);
}

/* "name: type"; a text without the blank is not TVM's. */
static enum mpk_code read_param(struct mpk_span text, struct mpk_arena *arena,
				struct mpk_param *out, struct mpk_error *err)
{
	const uint8_t *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
	size_t len = colon ? (size_t)(colon - text.data) : 0;

	if (!len || text.len < len + 3 || colon[1] != ' ')
		return no_prototype(err);
	out->name = mpk_span_of(text.data, len);
	return prototype_read_type(mpk_span_of(colon + 2, text.len - len - 2), arena, &out->type,
				   err);
}

/* A byte that no text of a compiler has. */
static bool has_controls(struct mpk_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < ' ' || text.data[i] == 0x7f)
			return true;
	return false;
}

/* ") -> (float64)", which mpack writes after the parameters of a function that gives a number; it is cut off. */
static enum mpk_code read_result(struct mpk_span *text, struct mpk_arena *arena,
				 struct mpk_signature *s, struct mpk_error *err)
{
	static const char arrow[] = ") -> (";
	const uint8_t *at =
		text->len ? memmem(text->data, text->len, arrow, sizeof arrow - 1) : NULL;
	size_t before = at ? (size_t)(at - text->data) + 1 : text->len;
	struct mpk_span result;
	struct mpk_param *output;

	if (!at)
		return MPK_OK;
	if (!between(mpk_span_of(at + 1, text->len - before), " -> (", ")", &result))
		return no_prototype(err);
	output = mpk_arena_alloc(arena, sizeof *output);
	MPK_TRY_ALLOC(output, err);
	*output = (struct mpk_param){ .name = { 0 } };
	MPK_TRY(prototype_read_type(result, arena, &output->type, err));
	s->outputs_known = true;
	s->fills_inputs = false;
	s->outputs = output;
	s->output_count = 1;
	*text = mpk_span_of(text->data, before);
	return MPK_OK;
}

/* Views of the text, which must live as long as the signature. */
static enum mpk_code read_prototype(struct mpk_span text, struct mpk_arena *arena,
				    struct mpk_signature *out, struct mpk_error *err)
{
	const uint8_t *open = text.len ? memchr(text.data, '(', text.len) : NULL;
	struct mpk_signature s = { .fills_inputs = true };
	struct mpk_param *params;
	struct mpk_span list, item;

	if (!open || open == text.data || has_controls(text))
		return no_prototype(err);
	s.name = mpk_span_of(text.data, (size_t)(open - text.data));
	MPK_TRY(read_result(&text, arena, &s, err));
	if (!between(mpk_span_of(open, text.len - s.name.len), "(", ")", &list))
		return no_prototype(err);
	MPK_TRY_ARRAY(params, arena, most_items(list), err);
	for (; list.len; s.input_count++) {
		if (!take_item(&list, &item))
			return no_prototype(err);
		MPK_TRY(read_param(item, arena, &params[s.input_count], err));
	}
	s.inputs = params;
	*out = s;
	return MPK_OK;
}

/* --- metadata: what a function takes and gives, of JSON ------------------------------------ */

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

static enum mpk_code schema_read_function(struct mpk_json_value schema, struct mpk_arena *arena,
					  struct mpk_signature *out, struct mpk_error *err)
{
	struct mpk_json_value named = mpk_json_value_get(schema, "named_args");
	struct mpk_json_value results = mpk_json_value_get(named, "return");
	struct mpk_param *inputs, *outputs;

	if (!mpk_json_value_is(mpk_json_value_get(schema, "type"), "ffi.Function"))
		return no_schema(err);
	if (mpk_json_value_type(named) == MPK_JSON_NONE) {
		/* Older exporters: {"args": [return, parameter, ...]}. */
		struct mpk_json_value args = mpk_json_value_get(schema, "args");
		struct mpk_param *all;
		size_t count;

		MPK_TRY(read_list(args, arena, &all, &count, err));
		if (!count)
			return no_schema(err);
		out->outputs = all;
		out->output_count = 1;
		out->outputs_known = !(all[0].type.kind == MPK_TYPE_NAMED &&
				       mpk_span_is(all[0].type.title, "None"));
		out->inputs = all + 1;
		out->input_count = count - 1;
		return MPK_OK;
	}
	MPK_TRY(read_list(mpk_json_value_get(named, "params"), arena, &inputs, &out->input_count,
			  err));
	MPK_TRY(read_list(results, arena, &outputs, &out->output_count, err));
	out->inputs = inputs;
	out->outputs = outputs;
	out->outputs_known = !returns_nothing(results);
	return MPK_OK;
}

static enum mpk_code read_schema(struct mpk_span text, struct mpk_arena *arena,
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

enum mpk_code mpk_signature_read(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_signature *out, struct mpk_error *err)
{
	return mpk_span_starts(text, MPK_SCHEMA_BEGIN) ? read_schema(text, arena, out, err)
						       : read_prototype(text, arena, out, err);
}

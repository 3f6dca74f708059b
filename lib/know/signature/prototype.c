/* SPDX-License-Identifier: Apache-2.0 */
/* prototype.c - the prototype that a function shows in its error messages, as a signature
 *
 * Newer releases of TVM, and mpack's launch functions, put the whole of it into a message about a
 * wrong argument: "add(a: Tensor([n], float32), b: Tensor([n], float32))". Any text that has such a
 * form is taken, as nothing else marks it; what is of another form in one place is refused as a
 * whole.
 */
#include "signature/prototype.h"

#include <string.h>

#include "signature/extent.h"

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
	*rest = mpk_span_of(rest->data + i, rest->len - i);
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

/* "Tensor([n, 4], float32)" */
static enum mpk_code read_tensor(struct mpk_span inside, struct mpk_arena *arena,
				 struct mpk_type *out, struct mpk_error *err)
{
	struct mpk_span shape, list;

	if (!take_item(&inside, &shape) || !between(shape, "[", "]", &list) ||
	    !mpk_dtype_parse(inside, &out->dtype))
		return no_prototype(err);
	return prototype_read_shape(list, arena, out, err);
}

/* Bare types are scalars. "handle" is a pointer that the function passes on without looking. */
static enum mpk_code prototype_read_type(struct mpk_span text, struct mpk_arena *arena,
					 struct mpk_type *out, struct mpk_error *err)
{
	struct mpk_span inside;

	if (between(text, "Tensor(", ")", &inside))
		return read_tensor(inside, arena, out, err);
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

/* Views of the text, which must live as long as the signature. */
enum mpk_code mpk_prototype_read(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_signature *out, struct mpk_error *err)
{
	const uint8_t *open = text.len ? memchr(text.data, '(', text.len) : NULL;
	struct mpk_signature s = { .fills_inputs = true };
	struct mpk_param *params;
	struct mpk_span list, item;

	if (!open || open == text.data || has_controls(text))
		return no_prototype(err);
	s.name = mpk_span_of(text.data, (size_t)(open - text.data));
	if (!between(mpk_span_of(open, text.len - s.name.len), "(", ")", &list))
		return no_prototype(err);
	params = mpk_arena_array(arena, most_items(list), sizeof *params);
	MPK_TRY_ALLOC(params, err);
	for (; list.len; s.input_count++) {
		if (!take_item(&list, &item))
			return no_prototype(err);
		MPK_TRY(read_param(item, arena, &params[s.input_count], err));
	}
	s.inputs = params;
	*out = s;
	return MPK_OK;
}

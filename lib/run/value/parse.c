/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - parses values as users type them: types, tensors, scalars, tuples, and the names and
 * devices of arguments
 *
 * Some texts are ambiguous: "0xf32" is a tensor without elements, or a hexadecimal number. The
 * order of the tests in parse_any decides; parse.h has the grammar. */
#include "value/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "text/escape.h"
#include "value/element.h"
#include "value/internal/spec.h"

/* --- types ----------------------------------------------------------------------------------- */

struct spec {
	struct mpk_dtype dtype;
	bool is_tensor; /* it has extents, or "[]" */
	size_t ndim;
	int64_t shape[MPK_TENSOR_NDIM_MAX];
	const char *scope; /* static: "global.texture"; NULL: none */
};

/* Each extent ends with an x; the text after the last x is the type. */
static enum mpk_code read_extents(struct mpk_spec_source *s, struct spec *spec,
				  struct mpk_error *err)
{
	const char *text = s->text;

	while (isdigit((unsigned char)text[s->pos])) {
		size_t start = s->pos;

		while (isdigit((unsigned char)text[s->pos]))
			s->pos++;
		if (text[s->pos] != 'x')
			return mpk_spec_bad(s, s->pos, "expected 'x' and a type, as in 2x3xf32",
					    err);
		if (spec->ndim == MPK_TENSOR_NDIM_MAX)
			return mpk_spec_bad(s, start, "more than 32 dimensions", err);
		if (!mpk_parse_i64(mpk_span_of(text + start, s->pos - start),
				   &spec->shape[spec->ndim]))
			return mpk_spec_bad(s, start, "the extent is too large", err);
		spec->ndim++;
		s->pos++;
	}
	spec->is_tensor = spec->ndim > 0;
	return MPK_OK;
}

/* Reads "{texture}". The words are those that TVM writes after "global.". */
static enum mpk_code read_scope(struct mpk_spec_source *s, struct spec *spec, struct mpk_error *err)
{
	static const char *const scopes[] = { "global.texture", "global.texture-weight",
					      "global.texture-nhwc" };
	enum { GLOBAL = 7 };
	size_t start = s->pos + 1, len = strcspn(s->text + start, "}=");
	struct mpk_span word = mpk_span_of(s->text + start, len);
	struct mpk_span names[MPK_ARRAY_COUNT(scopes)];
	char text[160];
	size_t near;

	if (s->text[start + len] != '}')
		return mpk_spec_bad(s, start, "a memory scope ends with '}', as in {texture}", err);
	s->pos = start + len + 1;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(scopes); i++) {
		names[i] = mpk_span_str(scopes[i] + GLOBAL);
		if (!mpk_span_equal(word, names[i]) && !mpk_span_is(word, scopes[i]))
			continue;
		spec->scope = scopes[i];
		return spec->is_tensor
			       ? MPK_OK
			       : mpk_spec_bad(s, start, "only tensors have a memory scope", err);
	}
	near = mpk_closest(word, names, MPK_ARRAY_COUNT(names));
	(void)snprintf(text, sizeof text, "unknown memory scope '%s'; %s%s%s", MPK_QUOTE(word),
		       near < MPK_ARRAY_COUNT(names) ? "did you mean '" : "",
		       near < MPK_ARRAY_COUNT(names)
			       ? scopes[near] + GLOBAL
			       : "there are texture, texture-weight and texture-nhwc",
		       near < MPK_ARRAY_COUNT(names) ? "'?" : "");
	return mpk_spec_bad(s, start, text, err);
}

/* Reads extents, type and memory scope. Afterwards s is at '=' or at the end. */
static enum mpk_code read_spec(struct mpk_spec_source *s, struct spec *spec, struct mpk_error *err)
{
	*spec = (struct spec){ 0 };
	if (strncmp(s->text + s->pos, "[]", 2) == 0) {
		s->pos += 2;
		spec->is_tensor = true;
	} else {
		MPK_TRY(read_extents(s, spec, err));
	}

	size_t start = s->pos;
	s->pos += strcspn(s->text + s->pos, "={");
	struct mpk_span name = mpk_span_of(s->text + start, s->pos - start);
	if (!mpk_dtype_parse(name, &spec->dtype) || mpk_dtype_bytes(spec->dtype) == 0)
		return mpk_spec_bad_type(s, start, name, err);
	if (s->text[s->pos] != '{')
		return MPK_OK;
	MPK_TRY(read_scope(s, spec, err));
	if (s->text[s->pos] && s->text[s->pos] != '=')
		return mpk_spec_bad(s, s->pos, "expected '=' behind the memory scope", err);
	return MPK_OK;
}

/* --- tensors --------------------------------------------------------------------------------- */

/* Whether the text begins like a tensor's type: with "[]" or an extent. */
static bool is_tensor_text(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return strncmp(text, "[]", 2) == 0 || (digits && text[digits] == 'x');
}

/* Whether the text is certainly a tensor's type: "0xf32" is read as a tensor without elements, not
 * as a number. */
static bool is_tensor_type(const char *text)
{
	struct mpk_spec_source s = { .text = text };
	struct spec spec;

	return is_tensor_text(text) && read_spec(&s, &spec, NULL) == MPK_OK;
}

/* Parses a tensor with given elements, from a file that must have this type, or filled with
 * zeros. */
static enum mpk_code parse_tensor(struct mpk_spec_source *s, enum mpk_storage_memory memory,
				  struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_tensor *t;
	struct spec spec;
	enum mpk_code rc;

	MPK_TRY(read_spec(s, &spec, err));
	if (strncmp(s->text + s->pos, "=@", 2) == 0) {
		struct mpk_dltensor wanted = { .dtype = spec.dtype,
					       .shape = spec.shape,
					       .ndim = (int32_t)spec.ndim };

		MPK_TRY(mpk_tensor_load_file(s->text + s->pos + 2, &wanted, &t, err));
		t->scope = spec.scope;
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	}
	MPK_TRY(mpk_tensor_create(spec.dtype, spec.shape, spec.ndim, memory, &t, err));
	t->scope = spec.scope;
	rc = s->text[s->pos] ? mpk_tensor_fill(t, s->text, s->pos + 1, err) : MPK_OK;
	if (rc == MPK_OK)
		*out = mpk_value_of_tensor(t);
	else
		mpk_tensor_drop(t);
	return rc;
}

/* --- plain values ------------------------------------------------------------------- */

/* A typed number is passed as an int or a double, because calls have no other number types. Its
 * type is kept for printing. */
static enum mpk_code parse_scalar(struct mpk_spec_source *s, struct mpk_value *out,
				  struct mpk_error *err)
{
	uint8_t raw[MPK_SCALAR_MAX];
	struct mpk_element e;
	struct spec spec;

	MPK_TRY(read_spec(s, &spec, err));
	if (!s->text[s->pos])
		return mpk_spec_bad(
			s, s->pos,
			"a number is missing: write i64=5 for a scalar or []i64=5 for a tensor of rank 0",
			err);
	s->pos++;
	switch (mpk_element_class(spec.dtype) == MPK_ELEMENT_NONE
			? MPK_ELEMENT_NO_NUMBER
			: mpk_element_parse(spec.dtype, mpk_spec_rest(s), raw)) {
	case MPK_ELEMENT_NO_NUMBER:
		return mpk_spec_bad(s, s->pos, "not a number of this type", err);
	case MPK_ELEMENT_NO_FIT:
		return mpk_spec_bad(s, s->pos, "the number does not fit the type", err);
	case MPK_ELEMENT_OK:
		break;
	}
	e = mpk_element_load(spec.dtype, raw);
	if (e.class == MPK_ELEMENT_BOOL)
		*out = mpk_value_of_bool(e.i != 0);
	else if (e.class == MPK_ELEMENT_FLOAT)
		*out = mpk_value_of_float(e.f);
	else
		*out = mpk_value_of_int(e.class == MPK_ELEMENT_UINT ? (int64_t)e.u : e.i);
	if (out->kind != MPK_VALUE_BOOL)
		out->type = spec.dtype;
	return MPK_OK;
}

static const struct mpk_value_keyword *find_keyword(const char *text)
{
	for (size_t i = 0; i < MPK_KEYWORD_COUNT; i++)
		if (strncmp(text, mpk_value_keywords[i].name, strlen(mpk_value_keywords[i].name)) ==
		    0)
			return &mpk_value_keywords[i];
	return NULL;
}

/* Parses "5", "1.5", "true", "none". */
static bool parse_literal(struct mpk_span text, struct mpk_value *out)
{
	struct mpk_value v = { 0 };
	bool yes = mpk_span_is(text, "true");

	if (yes || mpk_span_is(text, "false"))
		v = mpk_value_of_bool(yes);
	else if (mpk_parse_i64(text, &v.integer))
		v.kind = MPK_VALUE_INT;
	else if (mpk_parse_f64(text, &v.real))
		v.kind = MPK_VALUE_FLOAT;
	else if (!mpk_span_is(text, "none"))
		return false;
	*out = v;
	return true;
}

static bool is_scalar_text(const char *text)
{
	struct mpk_dtype dtype;

	return mpk_dtype_parse(mpk_span_of(text, strcspn(text, "=")), &dtype);
}

/* --- tuples ------------------------------------------------------------------------- */

enum { TUPLE_DEPTH_MAX = 16 };

/* Tests first for values that begin with a keyword or a sign, then for literals, then for texts
 * that only resemble a type. */
static enum mpk_code parse_any(const char *text, enum mpk_storage_memory memory, unsigned depth,
			       struct mpk_value *out, struct mpk_error *err);

/* Returns the length of the item at the beginning of text, up to its ';' or ')'. */
static size_t item_length(const char *text)
{
	unsigned depth = 0;
	size_t i = 0;

	for (; text[i]; i++) {
		if (depth == 0 && (text[i] == ';' || text[i] == ')'))
			break;
		depth += text[i] == '(';
		depth -= text[i] == ')';
	}
	return i;
}

static size_t parse_skip_blanks(const char *text)
{
	return strspn(text, " ");
}

/* Parses an item of a tuple as a separate text, because values extend to the end of their text. */
static enum mpk_code parse_item(const char *text, size_t len, unsigned depth, struct mpk_value *out,
				struct mpk_error *err)
{
	char *item;
	enum mpk_code code;

	while (len && text[len - 1] == ' ')
		len--;
	item = strndup(text, len);
	MPK_TRY_ALLOC(item, err);
	code = parse_any(item, MPK_STORAGE_PRIVATE, depth, out, err);
	free(item);
	return code;
}

static size_t count_items(const char *text)
{
	size_t count = 0;

	if (text[parse_skip_blanks(text)] == ')')
		return 0;
	for (;; text++) {
		text += item_length(text);
		count++;
		if (*text != ';')
			return count;
	}
}

static enum mpk_code parse_any(const char *text, enum mpk_storage_memory memory, unsigned depth,
			       struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_spec_source s = { .text = text };
	const struct mpk_value_keyword *keyword = find_keyword(text);
	struct mpk_tensor *t;

	if (text[0] == '(') {
		s.pos = 1;

		/* Parses "(4xf32=1; (i64=2; true))"; s is after the opening parenthesis. */
		MPK_CLEANUP(mpk_value_drop) struct mpk_value tuple = { 0 };
		size_t count = count_items(s.text + s.pos);

		if (depth == TUPLE_DEPTH_MAX)
			return mpk_spec_bad(&s, 0, "tuples are nested too deep", err);
		MPK_TRY(mpk_value_of_array(count, &tuple, err));
		for (size_t i = 0; i < count; i++) {
			s.pos += parse_skip_blanks(s.text + s.pos);
			size_t len = item_length(s.text + s.pos);

			MPK_TRY(parse_item(s.text + s.pos, len, depth + 1, &tuple.array->items[i],
					   err));
			s.pos += len + (s.text[s.pos + len] == ';');
		}
		s.pos += parse_skip_blanks(s.text + s.pos);
		if (strcmp(s.text + s.pos, ")") != 0)
			return mpk_spec_bad(&s, s.pos,
					    "a tuple ends with ')', as in (4xf32=1; i64=2)", err);
		*out = mpk_value_hold(tuple);
		return MPK_OK;
	}
	if (keyword) {
		s.pos = strlen(keyword->name);
		return keyword->parse(&s, out, err);
	}
	if (text[0] == '@') {
		MPK_TRY(mpk_tensor_load_file(text + 1, NULL, &t, err));
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	}
	if (!is_tensor_type(text) && parse_literal(mpk_span_str(text), out))
		return MPK_OK;
	if (is_tensor_text(text))
		return parse_tensor(&s, memory, out, err);
	if (is_scalar_text(text))
		return parse_scalar(&s, out, err);
	return mpk_spec_bad(
		&s, 0,
		"not a value: tensors are 2x3xf32=1,2,3,4,5,6 or @file.npy, scalars i64=5, texts str=hello",
		err);
}

enum mpk_code mpk_value_parse(const char *text, struct mpk_value *out, struct mpk_error *err)
{
	return parse_any(text, MPK_STORAGE_PRIVATE, 0, out, err);
}

/* An output is in memory that parent and child share. Data from a file is copied there. */
static enum mpk_code parse_out(const char *text, struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };
	struct mpk_spec_source s = { .text = text };
	struct mpk_tensor *shared;

	MPK_TRY(parse_any(text, MPK_STORAGE_SHARED, 0, &v, err));
	if (v.kind != MPK_VALUE_TENSOR)
		return mpk_spec_bad(&s, 0, "an output is a tensor, as in 4xf32 or []f32", err);

	const struct mpk_dltensor *dl = &v.tensor->dl;
	if (!strchr(text, '@')) {
		*out = mpk_value_hold(v);
		return MPK_OK;
	}
	MPK_TRY(mpk_tensor_create(dl->dtype, dl->shape, (size_t)dl->ndim, MPK_STORAGE_SHARED,
				  &shared, err));
	mpk_tensor_copy_from(shared, dl);
	shared->scope = v.tensor->scope;
	*out = mpk_value_of_tensor(shared);
	return MPK_OK;
}

/* Finds the file in a value that is not a tuple. */
static const char *parse_file_of(const char *text, size_t len)
{
	const char *at = memmem(text, len, "=@", 2);

	if (text[0] == '@')
		return text + 1;
	return at && !find_keyword(text) ? at + 2 : NULL;
}

/* Files in a tuple are found one after another, each from the end of the previous one. */
const char *mpk_value_file(const char *text, const char *from, size_t *len)
{
	size_t item;

	if (!strchr(text, '(')) {
		*len = strlen(text);
		text = from == text ? parse_file_of(text, *len) : NULL;
		*len = text ? strlen(text) : 0;
		return text;
	}
	for (from += strcspn(from, "(;"); *from; from += item) {
		from += strspn(from, "(;) ");
		item = strcspn(from, "(;)");
		text = item ? parse_file_of(from, item) : NULL;
		if (!text)
			continue;
		while (from[item - 1] == ' ')
			item--;
		*len = (size_t)(from + item - text);
		return text;
	}
	return NULL;
}

/* A name is not a keyword or a type, and does not begin with a digit. Otherwise "i64=5" would be an
 * input called i64. */
bool mpk_value_split_name(const char *text, struct mpk_span *name, const char **value)
{
	size_t len = strcspn(text, "=");

	if (!text[len] || !len || find_keyword(text) || is_scalar_text(text) ||
	    isdigit((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_.:/-", text[i]))
			return false;
	*name = mpk_span_of(text, len);
	*value = text + len + 1;
	return true;
}

/* Returns the beginning of the device after a value, or the end of the value. A word after '@' that
 *         is not a device is a file name, and so is "@cpu" without a value before it. */
static size_t find_device(const char *value, struct mpk_dldevice *where)
{
	const struct mpk_value_keyword *keyword = find_keyword(value),
				       *device = &mpk_value_keywords[MPK_KEYWORD_DEVICE];
	const char *mark = strrchr(value, '@');
	struct mpk_spec_source s = { .text = mark ? mark + 1 : "" };
	struct mpk_value v = { 0 };

	if (!mark || mark == value || mark[-1] == '=' ||
	    keyword == &mpk_value_keywords[MPK_KEYWORD_STR] ||
	    keyword == &mpk_value_keywords[MPK_KEYWORD_BYTES] ||
	    device->parse(&s, &v, NULL) != MPK_OK) {
		*where = (struct mpk_dldevice){ 0 };
		return strlen(value);
	}
	*where = v.device;
	return (size_t)(mark - value);
}

/* Parses "name=value@device". The name is split off first, then the device, because a value may
 * contain both signs. */
enum mpk_code mpk_value_parse_argument(const char *text, bool is_out, struct mpk_span *name,
				       struct mpk_dldevice *where, struct mpk_value *out,
				       struct mpk_error *err)
{
	const char *value = text;
	char *copy;

	*name = (struct mpk_span){ 0 };
	(void)mpk_value_split_name(text, name, &value);
	copy = strndup(value, find_device(value, where));
	MPK_TRY_ALLOC(copy, err);
	enum mpk_code code = is_out ? parse_out(copy, out, err) : mpk_value_parse(copy, out, err);

	free(copy);
	MPK_TRY(code);
	if (!where->type || out->kind == MPK_VALUE_TENSOR)
		return MPK_OK;
	mpk_value_drop(out);
	return mpk_fail(err, MPK_E_USAGE, "only a tensor is on a device, '%s' is none",
			MPK_QUOTE(mpk_span_str(value)));
}

bool mpk_value_split_kept(struct mpk_span text, struct mpk_span *name, size_t *item)
{
	uint64_t number;
	size_t len = 0;

	while (len < text.len && (isalnum(text.data[len]) || strchr("_-.", text.data[len])))
		len++;
	*name = mpk_span_of(text.data, len);
	*item = SIZE_MAX;
	if (len == text.len)
		return len > 0;
	if (!len || text.data[len] != '[' || text.data[text.len - 1] != ']' ||
	    !mpk_parse_u64(mpk_span_of(text.data + len + 1, text.len - len - 2), &number) ||
	    number >= UINT32_MAX)
		return false;
	*item = (size_t)number;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - what stands before the '=' of a value: "2x3xf32", "[]f32", "8x16x4xf32{texture}" */
#include "value/internal/spec.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "text/escape.h"

enum mpk_code mpk_spec_bad(const struct mpk_spec_source *s, size_t pos, const char *what,
			   struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_USAGE, "%s (column %zu of '%s')", what, pos + 1,
			MPK_QUOTE(mpk_span_str(s->text)));
}

struct mpk_span mpk_spec_rest(const struct mpk_spec_source *s)
{
	return mpk_span_str(s->text + s->pos);
}

static enum mpk_code read_extents(struct mpk_spec_source *s, struct mpk_spec *spec,
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

enum mpk_code mpk_spec_bad_type(const struct mpk_spec_source *s, size_t start, struct mpk_span name,
				struct mpk_error *err)
{
	const char *meant = name.len ? mpk_dtype_suggest(name) : NULL;
	char text[160];

	if (!meant || strcmp(meant, "handle") == 0)
		return mpk_spec_bad(
			s, start,
			"expected a type: f16 f32 f64 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool, f8_e4m3fn and the like",
			err);
	(void)snprintf(text, sizeof text, "'%s' is no type; did you mean '%s'?", MPK_QUOTE(name),
		       meant);
	return mpk_spec_bad(s, start, text, err);
}

/* "{texture}"; the words are those that TVM has behind "global." */
static enum mpk_code read_scope(struct mpk_spec_source *s, struct mpk_spec *spec,
				struct mpk_error *err)
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

enum mpk_code mpk_spec_read(struct mpk_spec_source *s, struct mpk_spec *spec, struct mpk_error *err)
{
	*spec = (struct mpk_spec){ 0 };
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

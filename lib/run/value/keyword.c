/* SPDX-License-Identifier: Apache-2.0 */
/* keyword.c - values that begin with a word: str=hello, shape=2,3, bytes=00ff, dtype=f32,
 * device=cuda:0
 *
 * The table has a row for each word. The value extends to the end of the text. */
#include "value/internal/spec.h"

#include <ctype.h>
#include <string.h>

#include "base/num.h"

static enum mpk_code parse_shape(struct mpk_spec_source *s, struct mpk_value *out,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };
	size_t ndim = s->text[s->pos] != 0;

	for (const char *at = s->text + s->pos; (at = strchr(at, ',')) != NULL; at++)
		ndim++;
	MPK_TRY(mpk_value_of_shape(NULL, ndim, &v, err));
	for (size_t i = 0; s->text[s->pos]; i++) {
		size_t len = strcspn(s->text + s->pos, ",");

		if (!mpk_parse_i64(mpk_span_of(s->text + s->pos, len), &v.shape->extents[i]))
			return mpk_spec_bad(s, s->pos, "expected integers, as in shape=2,3", err);
		s->pos += len;
		if (s->text[s->pos] != ',')
			continue;
		s->pos++;
		if (!s->text[s->pos])
			return mpk_spec_bad(s, s->pos, "an extent is missing behind the comma",
					    err);
	}
	*out = v;
	v = (struct mpk_value){ 0 };
	return MPK_OK;
}

/* Allocates half of the text's length, then converts each pair of digits to a byte. */
static enum mpk_code parse_bytes(struct mpk_spec_source *s, struct mpk_value *out,
				 struct mpk_error *err)
{
	size_t len = strlen(s->text + s->pos);
	struct mpk_value v;

	MPK_TRY(mpk_value_of_text(MPK_VALUE_BYTES, mpk_span_of(s->text + s->pos, len / 2), &v,
				  err));
	for (size_t i = 0; i < len; i++) {
		char c = s->text[s->pos + i];
		const char *digits = "0123456789abcdef",
			   *at = strchr(digits, tolower((unsigned char)c));

		int digit = c && at ? (int)(at - digits) : -1;

		if (digit < 0 || len % 2) {
			mpk_value_drop(&v);
			return mpk_spec_bad(s, s->pos + (digit < 0 ? i : len),
					    "bytes are written as pairs of hexadecimal digits",
					    err);
		}
		if (i % 2 == 0)
			v.text->data[i / 2] = (char)(digit << 4);
		else
			v.text->data[i / 2] = (char)(v.text->data[i / 2] | digit);
	}
	*out = v;
	return MPK_OK;
}

static enum mpk_code parse_str(struct mpk_spec_source *s, struct mpk_value *out,
			       struct mpk_error *err)
{
	return mpk_value_of_text(MPK_VALUE_STR, mpk_spec_rest(s), out, err);
}

static enum mpk_code parse_dtype(struct mpk_spec_source *s, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_dtype dtype;

	if (!mpk_dtype_parse(mpk_spec_rest(s), &dtype))
		return mpk_spec_bad_type(s, s->pos, mpk_spec_rest(s), err);
	*out = (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = dtype };
	return MPK_OK;
}

static enum mpk_code parse_device(struct mpk_spec_source *s, struct mpk_value *out,
				  struct mpk_error *err)
{
	struct mpk_value device = { .kind = MPK_VALUE_DEVICE };
	const char *text = s->text + s->pos;
	size_t len = strcspn(text, ":");
	int64_t id = 0;

	if (!mpk_dl_device_find(mpk_span_of(text, len), &device.device.type))
		return mpk_spec_bad(s, s->pos, "expected cpu, cuda, opencl, vulkan, metal or rocm",
				    err);
	if (text[len] &&
	    (!mpk_parse_i64(mpk_span_str(text + len + 1), &id) || id < 0 || id > INT32_MAX))
		return mpk_spec_bad(s, s->pos + len + 1, "expected the device's number", err);
	device.device.id = (int32_t)id;
	*out = device;
	return MPK_OK;
}

const struct mpk_value_keyword mpk_value_keywords[MPK_KEYWORD_COUNT] = {
	[MPK_KEYWORD_STR] = { "str=", parse_str },
	[MPK_KEYWORD_SHAPE] = { "shape=", parse_shape },
	[MPK_KEYWORD_BYTES] = { "bytes=", parse_bytes },
	[MPK_KEYWORD_DTYPE] = { "dtype=", parse_dtype },
	[MPK_KEYWORD_DEVICE] = { "device=", parse_device },
};

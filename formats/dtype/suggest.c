/* SPDX-License-Identifier: Apache-2.0 */
/* suggest.c - the element type that was meant by a word of C, CUDA, PyTorch or a typing mistake */
#include "base/strmap.h"
#include "dtype/dtype.h"

static const struct {
	const char *word, *type;
} others[] = {
	{ "half", "float16" },       { "fp16", "float16" },
	{ "float", "float32" },      { "single", "float32" },
	{ "fp32", "float32" },       { "real", "float32" },
	{ "double", "float64" },     { "fp64", "float64" },
	{ "bfloat", "bfloat16" },    { "float8", "float8_e4m3fn" },
	{ "fp8", "float8_e4m3fn" },  { "f8", "float8_e4m3fn" },
	{ "e4m3", "float8_e4m3fn" }, { "e5m2", "float8_e5m2" },
	{ "e2m1", "float4_e2m1fn" }, { "nibble", "int4" },
	{ "fp4", "float4_e2m1fn" },  { "float4", "float4_e2m1fn" },
	{ "f4", "float4_e2m1fn" },   { "char", "int8" },
	{ "short", "int16" },        { "int", "int32" },
	{ "integer", "int32" },      { "signed", "int32" },
	{ "long", "int64" },         { "uchar", "uint8" },
	{ "byte", "uint8" },         { "ushort", "uint16" },
	{ "uint", "uint32" },        { "unsigned", "uint32" },
	{ "ulong", "uint64" },       { "size_t", "uint64" },
	{ "boolean", "bool" },       { "bool_", "bool" },
	{ "pred", "bool" },          { "ptr", "handle" },
	{ "pointer", "handle" },     { "buffer", "handle" },
	{ "tensor", "handle" },      { "void*", "handle" },
};

/* What a misspelt word is held against. */
static const char *const types[] = {
	"float32",
	"float16",
	"float64",
	"bfloat16",
	"int8",
	"int16",
	"int32",
	"int64",
	"uint8",
	"uint16",
	"uint32",
	"uint64",
	"bool",
	"handle",
	"f32",
	"f16",
	"f64",
	"bf16",
	"i8",
	"i16",
	"i32",
	"i64",
	"u8",
	"u16",
	"u32",
	"float8_e4m3fn",
	"float8_e5m2",
	"float4_e2m1fn",
	"u64",
	"float8_e3m4",
	"float8_e4m3",
	"float8_e4m3b11fnuz",
	"float8_e4m3fnuz",
	"float8_e5m2fnuz",
	"float8_e8m0fnu",
	"float6_e2m3fn",
	"float6_e3m2fn",
	"f8_e4m3fn",
	"f8_e5m2",
	"f4_e2m1fn",
	"int4",
	"uint4",
	"i4",
	"u4",
};

/* "np.float32", "torch.float32": what stands behind the last point. */
static struct mpk_span last_part(struct mpk_span word)
{
	for (size_t i = word.len; i-- > 0;)
		if (word.data[i] == '.')
			return mpk_span_of(word.data + i + 1, word.len - i - 1);
	return word;
}

/* "int32_t" and the like. */
static struct mpk_span without_suffix(struct mpk_span word)
{
	if (word.len > 2 && word.data[word.len - 2] == '_' && word.data[word.len - 1] == 't')
		word.len -= 2;
	return word;
}

static const char *listed(struct mpk_span word)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
		if (mpk_span_is(word, types[i]))
			return types[i];
	return NULL;
}

static const char *nearest(struct mpk_span word)
{
	struct mpk_span names[MPK_ARRAY_COUNT(types)];
	size_t near;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
		names[i] = mpk_span_str(types[i]);
	near = mpk_closest(word, names, MPK_ARRAY_COUNT(types));
	return near < MPK_ARRAY_COUNT(types) ? types[near] : NULL;
}

const char *mpk_dtype_suggest(struct mpk_span text)
{
	struct mpk_span part = last_part(text), word = without_suffix(part);
	const char *type;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(others); i++)
		if (mpk_span_is(part, others[i].word))
			return others[i].type;
	if (text.len > 1 && text.data[text.len - 1] == '*')
		return "handle";
	type = listed(word);
	return type ? type : nearest(word);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - element types and their names; every printed name parses back to the same type */
#include "dtype/dtype.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/strmap.h"

/* The name of an element type. With fixed_bits the name is the whole type; else the bits follow it. */
struct base_name {
	const char *name;
	uint8_t code, fixed_bits;
};

/* FORMAT.md 1. A longer name comes before its prefixes. */
static const struct base_name bases[] = {
	{ "float8_e3m4", 7, 8 },           { "float8_e4m3b11fnuz", 9, 8 },
	{ "float8_e4m3fnuz", 11, 8 },      { "float8_e4m3fn", 10, 8 },
	{ "float8_e4m3", 8, 8 },           { "float8_e5m2fnuz", 13, 8 },
	{ "float8_e5m2", 12, 8 },          { "float8_e8m0fnu", 14, 8 },
	{ "float6_e2m3fn", 15, 6 },        { "float6_e3m2fn", 16, 6 },
	{ "float4_e2m1fn", 17, 4 },        { "handle", MPK_DTYPE_HANDLE, 64 },
	{ "bool", MPK_DTYPE_BOOL, 8 },     { "int", MPK_DTYPE_INT, 0 },
	{ "uint", MPK_DTYPE_UINT, 0 },     { "float", MPK_DTYPE_FLOAT, 0 },
	{ "bfloat", MPK_DTYPE_BFLOAT, 0 }, { "complex", MPK_DTYPE_COMPLEX, 0 },
	{ "bf", MPK_DTYPE_BFLOAT, 0 },     { "i", MPK_DTYPE_INT, 0 },
	{ "u", MPK_DTYPE_UINT, 0 },        { "f", MPK_DTYPE_FLOAT, 0 },
};

static const struct mpk_dtype dtype_void = { MPK_DTYPE_HANDLE, 0, 0 };

static const struct base_name *base_of_code(uint8_t code)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(bases); i++) {
		if (bases[i].code == code)
			return &bases[i];
	}
	return NULL;
}

static const struct {
	int32_t type;
	const char *name;
} devices[] = {
#define DEVICE(name, number, text) { MPK_DL_##name, text },
	MPK_DL_DEVICES(DEVICE)
#undef DEVICE
};

const char *mpk_dl_device_name(int64_t type)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(devices); i++)
		if (devices[i].type == type)
			return devices[i].name;
	return NULL;
}

bool mpk_dl_device_find(struct mpk_span name, int32_t *out)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(devices); i++) {
		if (!mpk_span_is(name, devices[i].name))
			continue;
		*out = devices[i].type;
		return true;
	}
	return false;
}

/* Prints the lanes after the element type. */
static void print_lanes(uint16_t lanes, char *out, size_t size)
{
	if (lanes == 1)
		*out = '\0';
	else if (lanes < 0x8000)
		snprintf(out, size, "x%u", (unsigned)lanes);
	else
		snprintf(out, size, "xvscalex%u", 0x10000u - lanes);
}

const char *mpk_dtype_print(struct mpk_dtype t, char out[MPK_DTYPE_TEXT])
{
	const struct base_name *base = base_of_code(t.code);
	/* A type with a fixed name but other bits prints its bits, too. */
	bool fixed = base && base->fixed_bits && base->fixed_bits == t.bits;
	bool named = fixed || (base && !base->fixed_bits);
	char lanes[16];

	if (mpk_dtype_equal(t, dtype_void)) {
		snprintf(out, MPK_DTYPE_TEXT, "void");
		return out;
	}
	print_lanes(t.lanes, lanes, sizeof lanes);
	if (fixed)
		snprintf(out, MPK_DTYPE_TEXT, "%s%s", base->name, lanes);
	else if (named)
		snprintf(out, MPK_DTYPE_TEXT, "%s%u%s", base->name, (unsigned)t.bits, lanes);
	else
		snprintf(out, MPK_DTYPE_TEXT, "custom[%u]%u%s", (unsigned)t.code, (unsigned)t.bits,
			 lanes);
	return out;
}

/* Reads decimal digits from the front of *text; false if there are none or too many. */
static bool dtype_take_number(struct mpk_span *text, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < text->len && text->data[i] >= '0' && text->data[i] <= '9'; i++) {
		value = value * 10 + (uint64_t)(text->data[i] - '0');
		if (value > max)
			return false;
	}
	if (i == 0)
		return false;
	*text = mpk_span_from(*text, i);
	*out = value;
	return true;
}

static bool dtype_take_text(struct mpk_span *text, const char *prefix)
{
	size_t n = strlen(prefix);

	if (!mpk_span_starts(*text, prefix))
		return false;
	*text = mpk_span_from(*text, n);
	return true;
}

/* Parses the text after the element type: nothing, "x4" or "xvscalex4". */
static bool parse_lanes(struct mpk_span text, uint16_t *lanes)
{
	uint64_t n;

	*lanes = 1;
	if (text.len == 0)
		return true;
	if (dtype_take_text(&text, "xvscalex")) {
		if (!dtype_take_number(&text, 0x8000, &n) || n == 0 || text.len)
			return false;
		*lanes = (uint16_t)(0x10000 - n);
		return true;
	}
	if (!dtype_take_text(&text, "x") || !dtype_take_number(&text, 0x7fff, &n) || text.len)
		return false;
	*lanes = (uint16_t)n;
	return true;
}

/* Reads a whole name from the front of *text, "f8_e4m3fn" as well as "float8_e4m3fn". */
static bool dtype_take_name(struct mpk_span *text, const struct base_name *base)
{
	static const char word[] = "float";
	struct mpk_span rest = *text;

	if (dtype_take_text(text, base->name))
		return true;
	if (!base->fixed_bits || strncmp(base->name, word, strlen(word)) != 0 ||
	    !dtype_take_text(&rest, "f") || !dtype_take_text(&rest, base->name + strlen(word)))
		return false;
	*text = rest;
	return true;
}

static bool parse_based(struct mpk_span text, const struct base_name *base, struct mpk_dtype *out)
{
	uint64_t bits = base->fixed_bits;
	uint16_t lanes;

	if (!base->fixed_bits && (!dtype_take_number(&text, UINT8_MAX, &bits) || bits == 0))
		return false;
	if (!parse_lanes(text, &lanes))
		return false;
	*out = (struct mpk_dtype){ base->code, (uint8_t)bits, lanes };
	return true;
}

const char *mpk_dtype_print_short(struct mpk_dtype t, char out[MPK_DTYPE_TEXT])
{
	static const struct {
		const char *name, *brief;
	} words[] = { { "float", "f" }, { "int", "i" }, { "uint", "u" }, { "bfloat", "bf" } };

	(void)mpk_dtype_print(t, out);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++) {
		size_t n = strlen(words[i].name);

		if (strncmp(out, words[i].name, n) != 0)
			continue;
		memmove(out + strlen(words[i].brief), out + n, strlen(out + n) + 1);
		memcpy(out, words[i].brief, strlen(words[i].brief));
		break;
	}
	return out;
}

bool mpk_dtype_parse(struct mpk_span text, struct mpk_dtype *out)
{
	struct mpk_span rest = text;

	if (mpk_span_is(text, "void")) {
		*out = dtype_void;
		return true;
	}
	if (dtype_take_text(&rest, "custom[")) {
		uint64_t code, bits;
		uint16_t lanes;

		if (!dtype_take_number(&rest, UINT8_MAX, &code) || !dtype_take_text(&rest, "]") ||
		    !dtype_take_number(&rest, UINT8_MAX, &bits) || !parse_lanes(rest, &lanes))
			return false;
		*out = (struct mpk_dtype){ (uint8_t)code, (uint8_t)bits, lanes };
		return true;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(bases); i++) {
		rest = text;
		if (dtype_take_name(&rest, &bases[i]) && parse_based(rest, &bases[i], out))
			return true;
	}
	return false;
}

size_t mpk_dtype_bytes(struct mpk_dtype t)
{
	unsigned lanes = t.lanes < 0x8000 ? t.lanes : 0x10000u - t.lanes;

	return ((size_t)t.bits * lanes + 7) / 8;
}

size_t mpk_dtype_number_bytes(struct mpk_dtype t)
{
	size_t bits = t.code == MPK_DTYPE_COMPLEX ? t.bits / 2u : t.bits;

	return bits > 8 && bits % 8 == 0 ? bits / 8 : 1;
}

bool mpk_dtype_is_bool(struct mpk_dtype t)
{
	return (t.code == MPK_DTYPE_BOOL && t.bits == 8) ||
	       (t.code == MPK_DTYPE_UINT && t.bits == 1);
}

bool mpk_dtype_is_real(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_FLOAT || t.code == MPK_DTYPE_BFLOAT;
}

bool mpk_dtype_equal(struct mpk_dtype a, struct mpk_dtype b)
{
	return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

enum mpk_code mpk_dtype_read(struct mpk_cursor *c, const char *what, struct mpk_dtype *out,
			     struct mpk_error *err)
{
	struct mpk_span raw;

	MPK_TRY(mpk_read_bytes(c, what, 4, &raw, err));
	*out = (struct mpk_dtype){ raw.data[0], raw.data[1], mpk_load_u16(raw.data + 2) };
	return MPK_OK;
}

void mpk_dtype_write(struct mpk_rope *r, struct mpk_dtype t)
{
	mpk_rope_put_u8(r, t.code);
	mpk_rope_put_u8(r, t.bits);
	mpk_rope_put_u16(r, t.lanes);
}

/* --- The element type that a word of C, CUDA or PyTorch, or a misspelt name, means --- */

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

/* Names that a misspelt word is compared with. */
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

/* "np.float32", "torch.float32": returns the text after the last dot. */
static struct mpk_span last_part(struct mpk_span word)
{
	for (size_t i = word.len; i-- > 0;)
		if (word.data[i] == '.')
			return mpk_span_of(word.data + i + 1, word.len - i - 1);
	return word;
}

/* Removes the suffix of "int32_t" and similar names. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* ir.c - the files that Triton writes for a kernel: the function's arguments in MLIR text, types in
 * signatures, metadata as JSON
 *
 * Of the MLIR text only the arguments are read: "tt.func public @add(%x: !tt.ptr<f32>
 * {tt.divisibility = 16 : i32} loc(...), ...)". */
#include "triton/triton.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "text/escape.h"
#include "text/json_read.h"

/* --- types ------------------------------------------------------------------------------- */

/* MLIR's integers have no sign; NULL: MLIR has no such type. */
static const struct {
	const char *signature, *mlir, *dtype;
} types[] = {
	{ "i1", "i1", "bool" },
	{ "i8", "i8", "int8" },
	{ "i16", "i16", "int16" },
	{ "i32", "i32", "int32" },
	{ "i64", "i64", "int64" },
	{ "u1", NULL, "bool" },
	{ "u8", NULL, "uint8" },
	{ "u16", NULL, "uint16" },
	{ "u32", NULL, "uint32" },
	{ "u64", NULL, "uint64" },
	{ "fp16", "f16", "float16" },
	{ "bf16", "bf16", "bfloat16" },
	{ "fp32", "f32", "float32" },
	{ "f32", NULL, "float32" },
	{ "fp64", "f64", "float64" },
	{ "fp8e4nv", "f8E4M3FN", "float8_e4m3fn" },
	{ "fp8e5", "f8E5M2", "float8_e5m2" },
	{ "fp8e4b8", "f8E4M3FNUZ", "float8_e4m3fnuz" },
	{ "fp8e5b16", "f8E5M2FNUZ", "float8_e5m2fnuz" },
	{ "fp8e4b15", "f8E4M3B11FNUZ", "float8_e4m3b11fnuz" },
};

/* Returns 0 bits for a type without a row. */
static struct mpk_dtype type_of(struct mpk_span word, bool mlir, bool *is_signless)
{
	struct mpk_dtype t = { 0 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++) {
		const char *name = mlir ? types[i].mlir : types[i].signature;

		if (!name || !mpk_span_is(word, name) ||
		    !mpk_dtype_parse(mpk_span_str(types[i].dtype), &t))
			continue;
		*is_signless = mlir && t.code == MPK_DTYPE_INT;
		return t;
	}
	return (struct mpk_dtype){ 0 };
}

/* Reads and removes the hint ":16" after a type, in signatures for Triton's own tools. */
static bool cut_hint(struct mpk_span *text, uint32_t *divisible)
{
	const uint8_t *colon = text->len ? memchr(text->data, ':', text->len) : NULL;
	size_t before = colon ? (size_t)(colon - text->data) : text->len;
	uint64_t n = 1;

	if (colon && (!mpk_parse_u64(mpk_span_of(colon + 1, text->len - before - 1), &n) ||
		      (n != 1 && n != 16)))
		return false;
	*divisible = (uint32_t)n;
	*text = mpk_span_trim(mpk_span_of(text->data, before));
	return true;
}

bool mpk_triton_read_type(struct mpk_span text, struct mpk_triton_param *out)
{
	struct mpk_triton_param p = { 0 };
	struct mpk_span word;

	text = mpk_span_trim(text);
	if (!cut_hint(&text, &p.divisible))
		return false;
	p.text = word = text;
	p.is_pointer = mpk_span_starts(word, "*");
	if (p.is_pointer) /* "*kfp32": the kernel does not write this memory */
		word = mpk_span_from(word, 1);
	if (p.is_pointer && mpk_span_starts(word, "k"))
		word = mpk_span_from(word, 1);
	p.dtype = type_of(word, false, &p.is_signless);
	if (!p.dtype.bits)
		return false;
	*out = p;
	return true;
}

/* --- arguments of a function ---------------------------------------------------------------- */

/* Returns the length of the text before the first of these bytes that is outside of brackets and
 * strings; text.len: none. */
static size_t find_outside(struct mpk_span text, const char *bytes)
{
	unsigned depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = (char)text.data[i];

		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
		} else if (!depth && c && strchr(bytes, c)) {
			return i;
		} else if (c == '"') {
			quoted = true;
		} else if (c == '(' || c == '<' || c == '[' || c == '{') {
			depth++;
		} else if ((c == ')' || c == '>' || c == ']' || c == '}') && depth) {
			depth--;
		}
	}
	return text.len;
}

enum { BEFORE_NAME = 32 }; /* for "public " and similar words */

/* Finds the text after the name and its bracket: "@add(" or "@\"add\"(". */
static bool find_arguments(struct mpk_span text, const char *name, struct mpk_span *out)
{
	static const char opening[] = "tt.func ";
	const uint8_t *at = text.data, *end = text.data + text.len;
	size_t len = strlen(name);

	while (at < end && (at = memmem(at, (size_t)(end - at), opening, sizeof opening - 1))) {
		struct mpk_span left;
		const uint8_t *sign;

		at += sizeof opening - 1;
		sign = memchr(at, '@', end - at < BEFORE_NAME ? (size_t)(end - at) : BEFORE_NAME);
		if (!sign)
			continue;
		left = mpk_span_of(sign + 1, (size_t)(end - sign) - 1);
		bool quoted = mpk_span_starts(left, "\"");

		if (left.len < len + 1 + (size_t)2 * quoted ||
		    memcmp(left.data + quoted, name, len) != 0 ||
		    (quoted && left.data[len + 1] != '"') ||
		    left.data[len + (size_t)2 * quoted] != '(')
			continue;
		len += 1 + (size_t)2 * quoted;
		*out = mpk_span_from(left, len);
		return true;
	}
	return false;
}

/* Reads "{tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}"; returns 1 if it names no
 * divisor. */
static uint32_t divisor_of(struct mpk_span attributes)
{
	static const char key[] = "tt.divisibility = ";
	const uint8_t *at = attributes.len
				    ? memmem(attributes.data, attributes.len, key, sizeof key - 1)
				    : NULL;
	struct mpk_span number;
	uint64_t n;

	if (!at)
		return 1;
	at += sizeof key - 1;
	number = mpk_span_of(at, attributes.len - (size_t)(at - attributes.data));
	number.len = find_outside(number, " ,}:");
	return mpk_parse_u64(number, &n) && n && n <= 4096 ? (uint32_t)n : 1;
}

/* Reads "!tt.ptr<f32>", "!tt.ptr<f32, 1>", "i32"; any other type has no dtype. */
static void read_mlir_type(struct mpk_span text, struct mpk_triton_param *p)
{
	static const char pointer[] = "!tt.ptr<";
	struct mpk_span word = text;

	p->text = text;
	p->is_pointer = mpk_span_starts(text, pointer) && text.data[text.len - 1] == '>';
	if (p->is_pointer) {
		word = mpk_span_of(text.data + sizeof pointer - 1, text.len - sizeof pointer);
		word.len = find_outside(word, ",");
	}
	p->dtype = type_of(mpk_span_trim(word), true, &p->is_signless);
}

/* Reads "%x: TYPE {attributes} loc(...)". */
static enum mpk_code read_argument(struct mpk_span text, struct mpk_triton_param *out,
				   struct mpk_error *err)
{
	size_t colon = find_outside(text, ":");
	struct mpk_span rest;

	if (!mpk_span_starts(text, "%") || colon + 1 >= text.len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"Triton's IR: '%s' is no argument of a function", MPK_QUOTE(text));
	*out = (struct mpk_triton_param){ .name = mpk_span_trim(
						  mpk_span_of(text.data + 1, colon - 1)) };
	rest = mpk_span_trim(mpk_span_of(text.data + colon + 1, text.len - colon - 1));
	size_t len = find_outside(rest, " ");

	if (!len)
		return mpk_fail(err, MPK_E_CORRUPT, "Triton's IR: argument '%s' has no type",
				MPK_QUOTE(out->name));
	read_mlir_type(mpk_span_of(rest.data, len), out);
	out->divisible = divisor_of(mpk_span_from(rest, len));
	return MPK_OK;
}

enum mpk_code mpk_triton_read_ir(struct mpk_span text, const char *name, struct mpk_arena *arena,
				 const struct mpk_triton_param **out, size_t *count,
				 struct mpk_error *err)
{
	struct mpk_triton_param *list;
	size_t most = 1, used = 0, end;
	struct mpk_span args;

	if (!text.len || !find_arguments(text, name, &args))
		return mpk_fail(err, MPK_E_CONFLICT, "Triton's IR: there is no function '%s'",
				MPK_QUOTE(mpk_span_str(name)));
	end = find_outside(args, ")");
	if (end == args.len)
		return mpk_fail(err, MPK_E_CORRUPT, "Triton's IR: the arguments of '%s' do not end",
				MPK_QUOTE(mpk_span_str(name)));
	args = mpk_span_trim(mpk_span_of(args.data, end));
	for (size_t i = 0; i < args.len; i++)
		most += args.data[i] == ',';
	MPK_TRY_ARRAY(list, arena, most, err);
	while (args.len) {
		size_t len = find_outside(args, ",");

		MPK_TRY(read_argument(mpk_span_trim(mpk_span_of(args.data, len)), &list[used++],
				      err));
		len += len < args.len;
		args = mpk_span_from(args, len);
	}
	*out = list;
	*count = used;
	return MPK_OK;
}

/* --- the JSON that Triton's compiler writes for each kernel ----------------------------------- */

struct reader {
	struct mpk_json_value root;
	struct mpk_error *err;
};

/* No block has more than this; the sum for a whole grid fits in 64 bits. */
enum { SCRATCH_MAX = 1 << 30, THREADS_MAX = 1024, CLUSTER_MAX = 16 };

static enum mpk_code metadata_wrong(const struct reader *r, const char *key, const char *want)
{
	return mpk_fail(r->err, MPK_E_CORRUPT, "Triton's metadata: '%s' is not %s", key, want);
}

/* Reads a number within limits; a missing one gets its default, if it has one. */
static enum mpk_code read_number(const struct reader *r, const char *key, int64_t least,
				 int64_t most, int64_t otherwise, int64_t *out)
{
	struct mpk_json_value v = mpk_json_value_get(r->root, key);
	enum mpk_json_type type = mpk_json_value_type(v);

	*out = otherwise;
	if ((type == MPK_JSON_NONE || type == MPK_JSON_NULL) && otherwise >= least)
		return MPK_OK;
	if (mpk_json_value_i64(v, out) && *out >= least && *out <= most)
		return MPK_OK;
	return mpk_fail(r->err, MPK_E_CORRUPT,
			"Triton's metadata: '%s' is not a number from %" PRId64 " to %" PRId64, key,
			least, most);
}

static enum mpk_code read_flag(const struct reader *r, const char *key, bool *out)
{
	struct mpk_json_value v = mpk_json_value_get(r->root, key);
	enum mpk_json_type type = mpk_json_value_type(v);

	*out = mpk_span_is(v.text, "true");
	return type == MPK_JSON_BOOLEAN || type == MPK_JSON_NONE || type == MPK_JSON_NULL
		       ? MPK_OK
		       : metadata_wrong(r, key, "true or false");
}

/* An object with names since Triton 3; before, a list of backend and architecture. */
static enum mpk_code read_target(const struct reader *r, int64_t *warp, unsigned *arch)
{
	struct mpk_json_value target = mpk_json_value_get(r->root, "target"), backend, number;
	struct mpk_json_items items = mpk_json_items(target);
	int64_t n = 0;

	backend = mpk_json_value_get(target, "backend");
	number = mpk_json_value_get(target, "arch");
	if (mpk_json_value_type(target) == MPK_JSON_ARRAY && mpk_json_next(&items, &backend))
		(void)mpk_json_next(&items, &number);
	if (mpk_json_value_type(backend) == MPK_JSON_STRING && !mpk_json_value_is(backend, "cuda"))
		return mpk_fail(r->err, MPK_E_UNSUPPORTED,
				"Triton's metadata: the kernel is for %s, and cubins are CUDA's",
				MPK_QUOTE(backend.text));
	if (mpk_json_value_i64(number, &n) && n > 0 && n < 1000)
		*arch = (unsigned)n;
	if (mpk_json_value_i64(mpk_json_value_get(target, "warp_size"), &n) && n > 0 && n <= 64)
		*warp = n;
	return MPK_OK;
}

/* "cluster_dims" up to Triton 3.3; in every release the number of blocks along x. */
static enum mpk_code read_cluster(const struct reader *r, uint32_t out[3])
{
	struct mpk_json_value dims = mpk_json_value_get(r->root, "cluster_dims"), v;
	struct mpk_json_items items = mpk_json_items(dims);
	int64_t n;

	MPK_TRY(read_number(r, "num_ctas", 1, CLUSTER_MAX, 1, &n));
	out[0] = (uint32_t)n;
	out[1] = out[2] = 1;
	if (mpk_json_value_type(dims) != MPK_JSON_ARRAY)
		return MPK_OK;
	for (unsigned i = 0; i < 3; i++) {
		if (!mpk_json_next(&items, &v) || !mpk_json_value_i64(v, &n) || n < 1 ||
		    n > CLUSTER_MAX)
			return metadata_wrong(r, "cluster_dims", "a list of three sizes");
		out[i] = (uint32_t)n;
	}
	return MPK_OK;
}

static enum mpk_code read_scratch(const struct reader *r, const char *size, const char *align,
				  struct mpk_triton_scratch *out)
{
	int64_t bytes, alignment;

	MPK_TRY(read_number(r, size, 0, SCRATCH_MAX, 0, &bytes));
	MPK_TRY(read_number(r, align, 1, SCRATCH_MAX, 1, &alignment));
	*out = (struct mpk_triton_scratch){ (uint64_t)bytes, (uint64_t)alignment };
	return MPK_OK;
}

enum mpk_code mpk_triton_read(struct mpk_span text, struct mpk_arena *arena, struct mpk_triton *out,
			      struct mpk_error *err)
{
	struct reader r = { .err = err };
	struct mpk_triton t = { 0 };

	MPK_TRY(mpk_json_read(text, &r.root, err));
	MPK_TRY(mpk_json_value_text(mpk_json_value_get(r.root, "name"), arena, &t.name, err));
	if (!t.name || !*t.name ||
	    mpk_json_value_type(mpk_json_value_get(r.root, "num_warps")) == MPK_JSON_NONE)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"this is JSON, but not what Triton notes of a kernel: 'name' and 'num_warps' are not there");
	MPK_TRY(mpk_json_value_text(mpk_json_value_get(r.root, "triton_version"), arena, &t.version,
				    err));

	int64_t warps, warp = 32, shared;

	MPK_TRY(read_target(&r, &warp, &t.arch));
	MPK_TRY(read_number(&r, "num_warps", 1, THREADS_MAX, 0, &warps));
	if (warps * warp > THREADS_MAX)
		return metadata_wrong(&r, "num_warps", "a number of warps that a block has");
	t.threads = (uint32_t)(warps * warp);
	MPK_TRY(read_number(&r, "shared", 0, SCRATCH_MAX, -1, &shared));
	t.shared_bytes = (uint64_t)shared;
	MPK_TRY(read_cluster(&r, t.cluster));
	MPK_TRY(read_scratch(&r, "global_scratch_size", "global_scratch_align", &t.global));
	MPK_TRY(read_scratch(&r, "profile_scratch_size", "profile_scratch_align", &t.profile));
	MPK_TRY(read_flag(&r, "launch_cooperative_grid", &t.cooperative));
	MPK_TRY(read_flag(&r, "launch_pdl", &t.programmatic));
	t.descriptor_count = mpk_json_value_count(mpk_json_value_get(r.root, "tensordesc_meta"));

	*out = t;
	return MPK_OK;
}

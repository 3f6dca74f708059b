/* SPDX-License-Identifier: Apache-2.0 */
/* Files of weights that safetensors, gguf, NumPy and TVM wrote (tests/data/weights/make.py), and damaged ones */
#include "assert_error.h"
#include "harness.h"
#include "robust.h"
#include "weights/weights.h"

static struct mpk_arena arena;
static struct mpk_error err;

static struct mpk_weights weights_of(const char *name)
{
	struct mpk_weights w;
	char path[128];

	(void)snprintf(path, sizeof path, "tests/data/weights/%s", name);
	ck_assert_ok(mpk_weights_read(robust_load(&arena, path), &arena, &w, &err), err);
	return w;
}

static const struct mpk_weight *find(const struct mpk_weights *w, const char *name)
{
	for (size_t i = 0; i < w->count; i++)
		if (mpk_span_is(w->items[i].name, name))
			return &w->items[i];
	ck_abort_msg("no tensor %s", name);
	return NULL;
}

static const struct {
	const char *name, *type;
	struct mpk_dtype dtype;
	size_t ndim;
	uint64_t len;
} types[] = {
	{ "bf16", "BF16", { MPK_DTYPE_BFLOAT, 16, 1 }, 1, 4 },
	{ "f8", "F8_E4M3", { 10, 8, 1 }, 1, 2 },
	{ "bool", "BOOL", { MPK_DTYPE_BOOL, 8, 1 }, 1, 2 },
	{ "u8", "U8", { MPK_DTYPE_UINT, 8, 1 }, 1, 2 },
	{ "i16", "I16", { MPK_DTYPE_INT, 16, 1 }, 1, 4 },
	{ "f64", "F64", { MPK_DTYPE_FLOAT, 64, 1 }, 1, 8 },
	{ "scalar", "U32", { MPK_DTYPE_UINT, 32, 1 }, 0, 4 },
	{ "empty", "F32", { MPK_DTYPE_FLOAT, 32, 1 }, 2, 0 },
};

START_TEST(types_of_safetensors)
{
	struct mpk_weights w = weights_of("types.safetensors");
	const struct mpk_weight *t = find(&w, types[_i].name);

	ck_assert_uint_eq(w.count, MPK_ARRAY_COUNT(types));
	ck_assert_str_eq(t->type, types[_i].type);
	ck_assert(mpk_dtype_equal(t->dtype, types[_i].dtype));
	ck_assert_uint_eq(t->ndim, types[_i].ndim);
	ck_assert_uint_eq(t->len, types[_i].len);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(gguf_has_keys_and_blocks)
{
	struct mpk_weights w = weights_of("small.gguf");
	const struct mpk_weight *q = find(&w, "q"), *a = find(&w, "a");

	ck_assert_uint_eq(w.align, 32);
	ck_assert_int_eq(q->coding, MPK_WEIGHT_BLOCKS);
	ck_assert_str_eq(q->type, "Q8_0");
	ck_assert_uint_eq(q->len, 2 * 34);
	/* outermost first, which GGUF has last */
	ck_assert_int_eq(a->shape[0], 3);
	ck_assert_int_eq(a->shape[1], 4);
	ck_assert_uint_eq(a->off % 32, 0);
	for (size_t i = 0; i < w.note_count; i++)
		if (mpk_span_is(w.notes[i].key, "tokenizer.ggml.tokens"))
			ck_assert(mpk_span_has(w.notes[i].value, "t15, ... 20 in all]"));
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(caches_have_shards)
{
	struct mpk_weights w = weights_of("cache/tensor-cache.json");

	ck_assert_uint_eq(w.shard_count, 1);
	ck_assert(mpk_span_is(w.shards[0].name, "params_shard_0.bin"));
	ck_assert_uint_eq(w.shards[0].bytes, 70);
	ck_assert_uint_eq(w.shards[0].md5.len, 32);
	ck_assert_uint_eq(find(&w, "c")->off, 64);
	w = weights_of("cache-bf16/tensor-cache.json");
	ck_assert_int_eq(find(&w, "a")->coding, MPK_WEIGHT_BF16_UPPER);
	ck_assert_int_eq(find(&w, "b")->coding, MPK_WEIGHT_PLAIN);
	w = weights_of("model.safetensors.index.json");
	ck_assert_uint_eq(w.shard_count, 2);
	ck_assert_int_eq(find(&w, "a")->coding, MPK_WEIGHT_ELSEWHERE);
	mpk_arena_fini(&arena);
}
END_TEST

/* --- what is refused -------------------------------------------------------------------------- */

/* A safetensors file with a header and so many bytes of tensors. */
static struct mpk_span safetensors(const char *header, size_t bytes)
{
	size_t len = strlen(header);
	uint8_t *file = mpk_arena_alloc(&arena, 8 + len + bytes);

	ck_assert_ptr_nonnull(file);
	for (size_t i = 0; i < 8; i++)
		file[i] = (uint8_t)(len >> 8 * i);
	memcpy(file + 8, header, len);
	return mpk_span_of(file, 8 + len + bytes);
}

#define T(type, shape, from, to)                                                                   \
	"{\"a\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}}"

static const struct {
	const char *header;
	enum mpk_code code;
	const char *text;
} bad[] = {
	{ T("F32", "[1]", "0", "4") "x", MPK_E_SYNTAX, "" },
	{ T("F33", "[1]", "0", "4"), MPK_E_UNSUPPORTED, "unknown type \"F33\"" },
	{ T("F32", "[1]", "0", "8"), MPK_E_CORRUPT, "ends 8 bytes after the header" },
	{ T("F32", "[2]", "0", "4"), MPK_E_CORRUPT, "not those of its type and shape" },
	{ T("F32", "[-1]", "0", "4"), MPK_E_CORRUPT, "extent 0 is -1" },
	{ T("F32", "[1.5]", "0", "4"), MPK_E_CORRUPT, "extent 0 is 1.5" },
	{ T("F32", "7", "0", "4"), MPK_E_CORRUPT, "no list of extents" },
	{ T("F32", "[1]", "4", "0"), MPK_E_CORRUPT, "data_offsets are [4,0]" },
	{ T("F32", "[9223372036854775807,9223372036854775807]", "0", "4"), MPK_E_CORRUPT,
	  "not those of its type and shape" },
	{ "{\"a\":1}", MPK_E_CORRUPT, "no object" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
	  "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
	  MPK_E_CORRUPT, "two tensors are named 'a'" },
};

START_TEST(bad_headers)
{
	struct mpk_weights w;

	ck_assert_int_eq(mpk_weights_read(safetensors(bad[_i].header, 4), &arena, &w, &err),
			 bad[_i].code);
	ck_assert_text(err, bad[_i].text);
	mpk_arena_fini(&arena);
}
END_TEST

/* --- where tensors lie -------------------------------------------------------------------------- */

#define P(name, from, to)                                                                          \
	"\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" from "," to "]}"

static const struct {
	const char *header;
	size_t bytes;
	const char *check, *text;
} places[] = {
	{ "{" P("a", "0", "4") "," P("b", "4", "8") "}", 8, NULL, NULL },
	{ "{" P("b", "4", "8") "," P("a", "0", "4") "}", 8, NULL, NULL },
	{ "{" P("a", "0", "4") "," P("b", "2", "6") "}", 6, "tensor-overlap", "'b' lies over 'a'" },
	{ "{" P("a", "0", "4") "," P("b", "6", "10") "}", 10, "tensor-gap",
	  "2 bytes before tensor 'b'" },
	{ "{" P("a", "0", "4") "}", 9, "tensor-gap", "5 bytes after the last tensor" },
};

static bool has_check(const struct mpk_report *report, const char *name)
{
	for (size_t i = 0; i < report->count; i++)
		if (strcmp(report->findings[i].check, name) == 0)
			return true;
	return false;
}

START_TEST(places_of_tensors)
{
	struct mpk_span file = safetensors(places[_i].header, places[_i].bytes);
	struct mpk_report report = { 0 };
	uint64_t bytes = file.len;
	struct mpk_weights w;

	ck_assert_ok(mpk_weights_read(file, &arena, &w, &err), err);
	ck_assert_ok(mpk_weights_lay_out(&w, &bytes, &report, &err), err);
	ck_assert_uint_eq(report.count, places[_i].check != NULL);
	if (report.count) {
		ck_assert_str_eq(report.findings[0].check, places[_i].check);
		ck_assert_text(report.findings[0].error, places[_i].text);
	}
	bytes -= 1;
	mpk_report_fini(&report);
	report = (struct mpk_report){ 0 };
	ck_assert_ok(mpk_weights_lay_out(&w, &bytes, &report, &err), err);
	ck_assert(has_check(&report, places[_i].bytes == 9 ? "tensor-gap" : "tensor-bounds"));
	mpk_report_fini(&report);
	mpk_arena_fini(&arena);
}
END_TEST

static enum mpk_code read_any(struct mpk_span bytes, struct mpk_error *e)
{
	struct mpk_arena a = { 0 };
	struct mpk_weights w;
	enum mpk_code code = mpk_weights_read(bytes, &a, &w, e);

	/* who asks only whether it is one wants no message */
	ck_assert_int_eq(mpk_weights_read(bytes, &a, &w, NULL), code);
	mpk_arena_fini(&a);
	return code;
}

static const char *const files[] = {
	"small.safetensors",
	"types.safetensors",
	"small.gguf",
	"small.npz",
	"model.safetensors.index.json",
	"cache/tensor-cache.json",
	"cache-bf16/tensor-cache.json",
};

START_TEST(damaged)
{
	char path[128];

	(void)snprintf(path, sizeof path, "tests/data/weights/%s", files[_i]);
	robust_check(path, read_any, 20000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("weights");
	TCase *tc = tcase_create("files of weights");

	tcase_add_loop_test(tc, types_of_safetensors, 0, (int)MPK_ARRAY_COUNT(types));
	tcase_add_test(tc, gguf_has_keys_and_blocks);
	tcase_add_test(tc, caches_have_shards);
	tcase_add_loop_test(tc, bad_headers, 0, (int)MPK_ARRAY_COUNT(bad));
	tcase_add_loop_test(tc, places_of_tensors, 0, (int)MPK_ARRAY_COUNT(places));
	tcase_add_loop_test(tc, damaged, 0, (int)MPK_ARRAY_COUNT(files));
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

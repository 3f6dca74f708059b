/* SPDX-License-Identifier: Apache-2.0 */
/* formats/triton: metadata and IR that Triton wrote, damaged ones, and the spellings of types */
#include <check.h>
#include <stdlib.h>

#include "robust.h"
#include "triton/triton.h"

#define DATA "tests/data/triton/"

static struct mpk_arena arena;

static struct mpk_span text_of(const char *text)
{
	return mpk_span_str(text);
}

START_TEST(metadata_of_triton)
{
	struct mpk_triton t;
	struct mpk_span json = robust_load(&arena, DATA "clustered.json");

	ck_assert_int_eq(mpk_triton_read(json, &arena, &t, NULL), MPK_OK);
	ck_assert_str_eq(t.name, "clustered");
	ck_assert_str_eq(t.version, "3.9.0");
	ck_assert_uint_eq(t.arch, 90);
	ck_assert_uint_eq(t.threads, 128);
	ck_assert(t.cluster[0] == 2 && t.cluster[1] == 1 && t.cluster[2] == 1);
	ck_assert(t.cooperative && t.programmatic);
	json = robust_load(&arena, DATA "described.json");
	ck_assert_int_eq(mpk_triton_read(json, &arena, &t, NULL), MPK_OK);
	ck_assert(t.global.bytes == 128 && t.global.align == 128 && !t.profile.bytes);
	ck_assert_uint_eq(t.shared_bytes, 520);
}
END_TEST

/* As releases before 3.3 wrote them. */
START_TEST(metadata_of_older_releases)
{
	struct mpk_triton t;
	const char *text =
		"{\"name\": \"k\", \"target\": [\"cuda\", 80], \"num_warps\": 8, \"num_ctas\": 4, "
		"\"cluster_dims\": [1, 2, 2], \"shared\": 0, \"enable_warp_specialization\": false}";

	ck_assert_int_eq(mpk_triton_read(text_of(text), &arena, &t, NULL), MPK_OK);
	ck_assert_ptr_null(t.version);
	ck_assert_uint_eq(t.arch, 80);
	ck_assert_uint_eq(t.threads, 256);
	ck_assert(t.cluster[0] == 1 && t.cluster[1] == 2 && t.cluster[2] == 2);
	ck_assert(!t.cooperative && !t.global.bytes && t.global.align == 1);
}
END_TEST

static const struct {
	const char *text;
	enum mpk_code code;
} wrong[] = {
	{ "", MPK_E_SYNTAX },
	{ "[]", MPK_E_UNSUPPORTED },
	{ "{\"name\": \"k\"}", MPK_E_UNSUPPORTED },
	{ "{\"name\": \"\", \"num_warps\": 4, \"shared\": 0}", MPK_E_UNSUPPORTED },
	{ "{\"name\": 1, \"num_warps\": 4, \"shared\": 0}", MPK_E_UNSUPPORTED },
	{ "{\"name\": \"k\", \"num_warps\": 4}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": null, \"shared\": 0}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 0, \"shared\": 0}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 33, \"shared\": 0}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 4.5, \"shared\": 0}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 4, \"shared\": 9999999999}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 4, \"shared\": 0, \"num_ctas\": 17}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 4, \"shared\": 0, \"cluster_dims\": [1, 1]}",
	  MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 4, \"shared\": 0, \"launch_pdl\": 1}", MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 4, \"shared\": 0, \"global_scratch_size\": -1}",
	  MPK_E_CORRUPT },
	{ "{\"name\": \"k\", \"num_warps\": 4, \"shared\": 0, \"target\": {\"backend\": \"hip\"}}",
	  MPK_E_UNSUPPORTED },
};

START_TEST(wrong_metadata)
{
	struct mpk_triton t;

	ck_assert_int_eq(mpk_triton_read(text_of(wrong[_i].text), &arena, &t, NULL),
			 wrong[_i].code);
}
END_TEST

START_TEST(arguments_of_triton)
{
	const struct mpk_triton_param *p;
	size_t count;
	struct mpk_span ir = robust_load(&arena, DATA "scaled_add.ttir");
	static const uint32_t divisible[] = { 16, 1, 16, 16, 1 };

	ck_assert_int_eq(mpk_triton_read_ir(ir, "scaled_add", &arena, &p, &count, NULL), MPK_OK);
	ck_assert_uint_eq(count, 5);
	for (size_t i = 0; i < count; i++) {
		ck_assert_int_eq(p[i].is_pointer, i < 3);
		ck_assert_uint_eq(p[i].divisible, divisible[i]);
		ck_assert_uint_eq(p[i].dtype.bits, 32);
		ck_assert_uint_eq(p[i].dtype.code, i == 3 ? MPK_DTYPE_INT : MPK_DTYPE_FLOAT);
	}
	ck_assert(mpk_span_is(p[4].name, "alpha") && mpk_span_is(p[3].text, "i32"));
	ck_assert_int_eq(mpk_triton_read_ir(ir, "scaled_ad", &arena, &p, &count, NULL),
			 MPK_E_CONFLICT);
	ck_assert_int_eq(mpk_triton_read_ir((struct mpk_span){ 0 }, "k", &arena, &p, &count, NULL),
			 MPK_E_CONFLICT);
}
END_TEST

/* Forms that other releases have, and types that nobody passes. */
START_TEST(arguments_of_other_forms)
{
	const struct mpk_triton_param *p;
	size_t count;
	const char *text =
		"tt.func private @helper(%a: i32) { }\n"
		"tt.func public @\"k\"(%arg0: !tt.ptr<f8E4M3FN, 1> {tt.divisibility = 16 : i32, a = \"),\"} loc(\"x\\\"(,\"), "
		"%arg1: !tt.tensordesc<tensor<64x64xf16>>, %arg2: !tt.ptr<!tt.ptr<f32>>, %arg3: i1, "
		"%arg4: i64 {tt.divisibility = 99999 : i32})";

	ck_assert_int_eq(mpk_triton_read_ir(text_of(text), "k", &arena, &p, &count, NULL), MPK_OK);
	ck_assert_uint_eq(count, 5);
	ck_assert(p[0].is_pointer && p[0].dtype.bits == 8 && p[0].divisible == 16);
	ck_assert(!p[1].dtype.bits && mpk_span_is(p[1].text, "!tt.tensordesc<tensor<64x64xf16>>"));
	ck_assert(p[2].is_pointer && !p[2].dtype.bits);
	ck_assert(mpk_dtype_is_bool(p[3].dtype) && !p[3].is_signless);
	ck_assert(p[4].is_signless && p[4].divisible == 1);
	ck_assert_int_eq(mpk_triton_read_ir(text_of("tt.func @k()"), "k", &arena, &p, &count, NULL),
			 MPK_OK);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(broken_arguments)
{
	static const char *const texts[] = { "tt.func @k(%a: i32", "tt.func @k(a: i32)",
					     "tt.func @k(%a i32)", "tt.func @k(%a: )",
					     "tt.func @k(%a: i32, )" };
	const struct mpk_triton_param *p;
	size_t count;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(texts); i++)
		ck_assert_msg(mpk_triton_read_ir(text_of(texts[i]), "k", &arena, &p, &count,
						 NULL) == (i == 4 ? MPK_OK : MPK_E_CORRUPT),
			      "%s", texts[i]);
}
END_TEST

START_TEST(types_of_signatures)
{
	struct mpk_triton_param p;

	ck_assert(mpk_triton_read_type(text_of(" *fp32:16 "), &p));
	ck_assert(p.is_pointer && p.divisible == 16 && mpk_span_is(p.text, "*fp32"));
	ck_assert(mpk_triton_read_type(text_of("*ku8"), &p));
	ck_assert(p.is_pointer && p.dtype.code == MPK_DTYPE_UINT && !p.is_signless);
	ck_assert(mpk_triton_read_type(text_of("bf16"), &p) && !p.is_pointer && p.divisible == 1);
	ck_assert(!mpk_triton_read_type(text_of("fp31"), &p));
	ck_assert(!mpk_triton_read_type(text_of("i32:8"), &p));
	ck_assert(!mpk_triton_read_type(text_of("i32:"), &p));
	ck_assert(!mpk_triton_read_type(text_of("*"), &p));
	ck_assert(!mpk_triton_read_type(text_of(""), &p));
	ck_assert(!mpk_triton_read_type(text_of("f16"), &p)); /* MLIR's */
}
END_TEST

static enum mpk_code read_metadata(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena own = { 0 };
	struct mpk_triton t;
	enum mpk_code code = mpk_triton_read(bytes, &own, &t, err);

	mpk_arena_fini(&own);
	return code;
}

static enum mpk_code read_ir(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena own = { 0 };
	const struct mpk_triton_param *p;
	size_t count;
	enum mpk_code code = mpk_triton_read_ir(bytes, "record", &own, &p, &count, err);

	mpk_arena_fini(&own);
	return code;
}

START_TEST(damage_is_survived)
{
	robust_check(DATA "record.json", read_metadata, 4000);
	robust_check(DATA "record.ttir", read_ir, 4000);
}
END_TEST

static void set_up(void)
{
	arena = (struct mpk_arena){ 0 };
}

static void tear_down(void)
{
	mpk_arena_fini(&arena);
}

int main(void)
{
	Suite *s = suite_create("triton");
	TCase *t = tcase_create("triton");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, metadata_of_triton);
	tcase_add_test(t, metadata_of_older_releases);
	tcase_add_loop_test(t, wrong_metadata, 0, (int)MPK_ARRAY_COUNT(wrong));
	tcase_add_test(t, arguments_of_triton);
	tcase_add_test(t, arguments_of_other_forms);
	tcase_add_test(t, broken_arguments);
	tcase_add_test(t, types_of_signatures);
	tcase_add_test(t, damage_is_survived);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

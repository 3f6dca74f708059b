/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of host functions, read from the texts of their errors: what TVM wrote, what is no such
 * text, and the extents in it. What a linker makes of texts is in tests/cli/minspect/signatures. */
#include "assert_error.h"
#include "harness.h"
#include "hostcode/host.h"
#include "hostcode/internal/hostcode.h"
#include "robust.h"
#include "signature/signature.h"

static struct mpk_arena arena;

static void teardown(void)
{
	mpk_arena_fini(&arena);
}

/* --- extents ---------------------------------------------------------------------------- */

static const struct {
	const char *text;
	int64_t value; /* n being 7, m being 3; -1: none */
	const char *brief;
} extents[] = {
	{ "16", 16, "16" },
	{ "n", 7, "n" },
	{ "T.int64(8)", 8, "8" },
	{ "n * 8", 56, "n * 8" },
	{ "n + T.int64(4) - T.int64(1)", 10, "n + 4 - 1" },
	{ "(n + T.int64(4) - T.int64(1)) // T.int64(4)", 2, "(n + 4 - 1) // 4" },
	{ "n % m", 1, "n % m" },
	{ "T.max(n, m)", 7, "max(n, m)" },
	{ "T.min(n, T.int64(4))", 4, "min(n, 4)" },
	{ "T.Cast(\"int64\", n) * m", 21, "Cast(\"int64\", n) * m" },
	{ "T.int64(n)", 7, "int64(n)" },
	{ "T.int64(-3) // T.int64(2)", -2, "-3 // 2" },
	{ "-n + 9", 2, "-n + 9" },
	{ "T.truncdiv(n, 2)", 3, "truncdiv(n, 2)" },
	{ "T.ceildiv(n, 2)", 4, "ceildiv(n, 2)" },
	{ "2 - 3 - n", -8, "2 - 3 - n" },
	{ "(n + 1) / 4", 2, "(n + 1) / 4" },
	{ "n %% m", 1, "n % m" },
	/* nothing to compute */
	{ "k", -1, "k" },
	{ "n // 0", -1, "n // 0" },
	{ "n %", -1, "n %" },
	{ "(n", -1, "(n" },
	{ "n)", -1, "n)" },
	{ "f(n)", -1, "f(n)" },
	{ "9223372036854775807 + n", -1, "9223372036854775807 + n" },
	{ "9223372036854775807 * n", -1, "9223372036854775807 * n" },
	{ "99999999999999999999", -1, "99999999999999999999" },
	{ "", -1, "" },
};

START_TEST(extents_are_computed_and_shortened)
{
	const struct mpk_extent_value known[] = { { mpk_span_str("n"), 7 },
						  { mpk_span_str("m"), 3 } };
	const struct mpk_extent_values values = { known, 2, 0 };
	struct mpk_span text = mpk_span_str(extents[_i].text), brief;
	struct mpk_error err = { 0 };
	int64_t value = -1;

	ck_assert_int_eq(mpk_extent_compute(text, &values, &value), extents[_i].value != -1);
	ck_assert_int_eq(value, extents[_i].value);
	ck_assert_ok(mpk_extent_shorten(text, &arena, &brief, &err), err);
	ck_assert_msg(mpk_span_is(brief, extents[_i].brief), "%s", extents[_i].text);
}
END_TEST

START_TEST(parentheses_are_bounded)
{
	static const struct mpk_extent_values none;
	char text[401];
	int64_t value;

	memset(text, '(', 200);
	text[200] = '1';
	memset(text + 201, ')', 200);
	ck_assert(!mpk_extent_compute((struct mpk_span){ 0 }, &none, &value));
	ck_assert(!mpk_extent_compute(mpk_span_of(text, 401), &none, &value));
	ck_assert(mpk_extent_compute(mpk_span_of(text + 190, 21), &none, &value));
	memset(text, '-', 400);
	text[400] = '1';
	ck_assert(!mpk_extent_compute(mpk_span_of(text, 401), &none, &value));
	ck_assert(mpk_extent_compute(mpk_span_of(text + 380, 21), &none, &value));
}
END_TEST

/* --- prototypes ------------------------------------------------------------------------- */

static const struct {
	const char *text, *shown; /* NULL: refused */
} prototypes[] = {
	{ "noargs()", "noargs()" },
	{ "saxpy(alpha: float32, X: Tensor([n], float32), Y: Tensor([n, T.int64(8)], float32))",
	  "saxpy(alpha: f32, X: f32[n], Y: f32[n, 8])" },
	{ "f(A: Tensor([], float8_e4m3fn), B: Tensor([T.max(n, T.int64(4)), 2], bool))",
	  "f(A: f8_e4m3fn[], B: bool[max(n, 4), 2])" },
	{ "f(i: int8, u: uint64, x: bfloat16, b: bool, h: T.handle, g: handle)",
	  "f(i: i8, u: u64, x: bf16, b: bool, h: handle, g: handle)" },
	{ "f(A: Tensor([4], int4), B: Tensor([4], float32x4))", "f(A: i4[4], B: f32x4[4])" },
	{ "a.b-c(A: Tensor([0], float64))", "a.b-c(A: f64[0])" },
	{ "dot(x: Tensor([n], float32)) -> (float64)", "dot(x: f32[n]) -> (f64)" },
	{ "one() -> (bool)", "one() -> (bool)" },
	/* cut, or something else */
	{ "f(A: float32) -> (float64", NULL },
	{ "f(A: float32) -> ()", NULL },
	{ "f(A: float32) -> (f) -> (float64)", NULL },
	{ "f(A: float32) -> float64", NULL },
	{ "saxpy(alpha: float32, X: Tensor([n], float32), Y: Ten", NULL },
	{ "saxpy(alpha: float32, X: Tensor([n], float32)", NULL },
	{ "saxpy(alpha: float32, X: Tensor([n, float32))", NULL },
	{ "(A: float32)", NULL },
	{ "f", NULL },
	{ "", NULL },
	{ "f(A)", NULL },
	{ "f(A: )", NULL },
	{ "f(A: float33x)", NULL },
	{ "f(: float32)", NULL },
	{ "f(A: float32,, B: float32)", NULL },
	{ "f(A: Tensor([-4], float32))", NULL },
	{ "f(A: Tensor(n, float32))", NULL },
	{ "f(A: Tensor([n]))", NULL },
	{ "f(A: float32)\n", NULL },
	{ "f(%s)", NULL },
	{ "f(the name of the function)", NULL },
};

START_TEST(prototypes_are_read)
{
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_signature s;
	enum mpk_code code =
		mpk_signature_read(mpk_span_str(prototypes[_i].text), &arena, &s, &err);

	if (!prototypes[_i].shown) {
		ck_assert_int_eq(code, MPK_E_SYNTAX);
		return;
	}
	ck_assert_ok(code, err);
	mpk_signature_text(&s, &text);
	ck_assert_str_eq(mpk_strbuf_text(&text), prototypes[_i].shown);
	mpk_strbuf_fini(&text);
}
END_TEST

/* Every prefix of a prototype but the whole is refused: none reads as another function. */
START_TEST(cut_prototypes_are_refused)
{
	static const char whole[] = "f(a: float32, X: Tensor([n, T.int64(8)], float32))";
	struct mpk_error err = { 0 };
	struct mpk_signature s;

	for (size_t n = 0; n < sizeof whole - 1; n++)
		ck_assert_int_eq(mpk_signature_read(mpk_span_of(whole, n), &arena, &s, &err),
				 MPK_E_SYNTAX);
	ck_assert_ok(mpk_signature_read(mpk_span_of(whole, sizeof whole - 1), &arena, &s, &err),
		     err);
}
END_TEST

/* --- calls ------------------------------------------------------------------------------ */

static const struct {
	const char *text, *options;
} calls[] = {
	{ "f()", "" },
	{ "f(A: Tensor([n, 8], float32), B: Tensor([n * 8], float32))",
	  " --input 1x8xf32=rand --out 8xf32" },
	/* the smallest size that leaves no extent empty */
	{ "f(A: Tensor([n], float32), B: Tensor([n // 4], int8))",
	  " --input 4xf32=rand --out 1xi8" },
	/* a scalar that is an extent, behind the tensor that is filled */
	{ "f(A: Tensor([n], float32), B: Tensor([n - 1], float32), n: int32)",
	  " --input 2xf32=rand --out 1xf32 --input i32=2" },
	{ "f(b: bool, h: T.handle, x: float16)", " --input true --input none --input f16=1" },
	{ "f(A: Tensor([], float32))", " --out '[]f32'" },
	/* types without random values get zeros */
	{ "f(A: Tensor([2], float8_e5m2), B: Tensor([2], int4), C: Tensor([2], float32))",
	  " --input 2xf8_e5m2 --input 2xi4 --out 2xf32" },
	/* what cannot be computed is left open */
	{ "f(A: Tensor([n, size(n)], float32))", " --out 1xEXTENTxf32" },
};

START_TEST(calls_have_consistent_sizes)
{
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_signature s;

	ck_assert_ok(mpk_signature_read(mpk_span_str(calls[_i].text), &arena, &s, &err), err);
	mpk_signature_options(&s, &text);
	ck_assert_str_eq(mpk_strbuf_text(&text), calls[_i].options);
	mpk_strbuf_fini(&text);
}
END_TEST

/* --- metadata ---------------------------------------------------------------------------- */

#define OF(schema) "{\"type_schema\":\"" schema "\"}"
#define T(name) "{\\\"type\\\":\\\"" name "\\\"}"
#define LIST(name, items) "{\\\"type\\\":\\\"" name "\\\",\\\"args\\\":[" items "]}"
#define FUNCTION(ret, params)                                                                      \
	OF("{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":{\\\"return\\\":[" ret           \
	   "],\\\"params\\\":[" params "]}}")

static const struct {
	const char *text, *signature, *options; /* NULL: it is no metadata */
} schemas[] = {
	{ FUNCTION(T("int"), T("int")), "(int) -> (int)", " --input 1" },
	{ FUNCTION(T("None"), ""), "()", "" },
	{ FUNCTION(T("None"), T("DLTensor*") "," T("ffi.Tensor")), "(tensor[...], tensor[...])",
	  " --input SHAPExTYPE=VALUES --out SHAPExTYPE" },
	{ FUNCTION(T("None"), T("ffi.Tensor") "," T("float")), "(tensor[...], float)",
	  " --input SHAPExTYPE=VALUES --input 1.0" },
	{ FUNCTION(T("ffi.String"), T("bool") "," T("ffi.String") "," T("ffi.Shape") "," T("Any")),
	  "(bool, str, shape[...], any value) -> (str)",
	  " --input true --input str=TEXT --input shape=EXTENTS --input SHAPExTYPE=VALUES" },
	{ FUNCTION(LIST("Tuple", T("int") "," T("float")),
		   LIST("Optional", LIST("ffi.Array", T("int"))) "," T("Device")),
	  "(Optional[ffi.Array[int]], Device) -> (Tuple[int, float])",
	  " --input none --input VALUE" },
	/* the older, positional form */
	{ OF("{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[" T("int") "," T("bool") "]}"),
	  "(bool) -> (int)", " --input true" },
	{ "", NULL, NULL },
	{ "{\"type_schema\":", NULL, NULL },
	{ "{\"type_schema\":17}", NULL, NULL },
	{ OF("{}"), NULL, NULL },
	{ OF("{"), NULL, NULL },
	{ OF(T("int")), NULL, NULL },
	{ OF(T("ffi.Function")), NULL, NULL },
	{ FUNCTION(T("int"), "3"), NULL, NULL },
	{ OF("{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[]}"), NULL, NULL },
};

START_TEST(metadata_is_read)
{
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_signature s;
	struct mpk_span given = mpk_span_str(schemas[_i].text);

	if (!schemas[_i].signature) {
		ck_assert_int_eq(mpk_signature_read(given, &arena, &s, &err), MPK_E_SYNTAX);
		return;
	}
	ck_assert_ok(mpk_signature_read(given, &arena, &s, &err), err);
	mpk_signature_text(&s, &text);
	ck_assert_str_eq(mpk_strbuf_text(&text), schemas[_i].signature);
	text.len = 0;
	mpk_signature_options(&s, &text);
	ck_assert_str_eq(text.len ? mpk_strbuf_text(&text) : "", schemas[_i].options);
	mpk_strbuf_fini(&text);
	for (size_t n = 0; n < given.len; n++)
		ck_assert_int_eq(mpk_signature_read(mpk_span_of(given.data, n), &arena, &s, NULL),
				 MPK_E_SYNTAX);
}
END_TEST

/* Types within types end somewhere. */
START_TEST(metadata_is_bounded)
{
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_signature s;

	mpk_strbuf_puts(&text,
			"{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[");
	for (unsigned i = 0; i < 200; i++)
		mpk_strbuf_puts(&text, "{\\\"type\\\":\\\"L\\\",\\\"args\\\":[");
	for (unsigned i = 0; i < 200; i++)
		mpk_strbuf_puts(&text, "]}");
	mpk_strbuf_puts(&text, "]}\"}");
	ck_assert_ok(mpk_signature_read(mpk_span_of(text.data, text.len), &arena, &s, &err), err);
	ck_assert_uint_lt(s.outputs[0].type.title.len, 100);
	mpk_strbuf_fini(&text);
}
END_TEST

/* --- assertions ------------------------------------------------------------------------- */

static const struct {
	const char *text;
	int kind; /* -1: none */
	const char *path, *variable, *value;
	int64_t number;
} assertions[] = {
	{ "Assert fail: num_args == 2, f: num_args should be 2", MPK_ASSERT_COUNT, "f", "", "", 2 },
	{ "Assert fail: (((arg0.code == 3) || (arg0.code == 4))), f: Expect arg[0] to be pointer",
	  MPK_ASSERT_CLASS, "f", "arg0", "pointer", 0 },
	{ "Assert fail: n_code == 0, f: Expect arg[1] to be int", MPK_ASSERT_CLASS, "f", "n", "int",
	  1 },
	{ "Assert fail: 1 == T.tvm_struct_get(A, 0, 4, \"int32\"), f.A.ndim is expected to equal 1",
	  MPK_ASSERT_RANK, "f.A", "A", "", 1 },
	{ "Assert fail: x, f.A.dtype is expected to be float32", MPK_ASSERT_DTYPE, "f.A", "",
	  "float32", 0 },
	{ "Assert fail: n == T.Cast(\"int32\", f_B_shape[0]), Argument f.B.shape[0] has an unsatisfied "
	  "constraint: n == T.Cast(\"int32\", f_B_shape[0])",
	  MPK_ASSERT_SHAPE, "f.B", "", "n", 0 },
	{ "Assert fail: x, Argument f.B.shape[1] has an unsatisfied constraint: (16 == "
	  "int32(arg.shape[1]))",
	  MPK_ASSERT_SHAPE, "f.B", "", "16", 1 },
	{ "Assert fail: n * 8 == 0 or not T.isnullptr(A), f.A is expected to have non-NULL data pointer",
	  MPK_ASSERT_DATA, "f.A", "", "n * 8", 0 },
	{ "Assert fail: num_args == 2", -1, "", "", "", 0 },
	{ "Assert fail: x, f: num_args should be -2", -1, "", "", "", 0 },
	{ "Assert fail: x, f: num_args should be two", -1, "", "", "", 0 },
	{ "f: num_args should be 2", -1, "", "", "", 0 },
	{ "Assert fail: (x, f: num_args should be 2", -1, "", "", "", 0 },
	{ "", -1, "", "", "", 0 },
};

START_TEST(assertions_are_read)
{
	struct mpk_assertion a = { 0 };
	bool read = mpk_assertion_read(mpk_span_str(assertions[_i].text), &a);

	ck_assert_int_eq(read, assertions[_i].kind >= 0);
	if (!read)
		return;
	ck_assert_int_eq(a.kind, assertions[_i].kind);
	ck_assert(mpk_span_is(a.path, assertions[_i].path));
	ck_assert(mpk_span_is(a.variable, assertions[_i].variable));
	ck_assert(mpk_span_is(a.value, assertions[_i].value));
	ck_assert_int_eq(a.number, assertions[_i].number);
}
END_TEST

START_TEST(strides_are_found_in_a_conjunction)
{
	struct mpk_span condition = mpk_span_str(
		"1 == T.Cast(\"int32\", f_A_strides[1]) and m == T.Cast(\"int32\", f_A_strides[0])");
	struct mpk_span value;

	ck_assert(mpk_assertion_stride(condition, 0, &value));
	ck_assert(mpk_span_is(value, "m"));
	ck_assert(!mpk_assertion_stride(condition, 2, &value));
}
END_TEST

/* --- libraries of TVM ------------------------------------------------------------------- */

static const struct {
	const char *file, *function, *shown; /* NULL: not known */
} libraries[] = {
	{ "cuda/saxpy_opencl.so", "saxpy", "saxpy(alpha: f32, X: f32[n], Y: f32[n])" },
	/* the entry only calls saxpy */
	{ "cuda/saxpy_opencl.so", "main", "main(alpha: f32, X: f32[n], Y: f32[n])" },
	{ "formats/13_chost_opencl.so", "main", "main(A: f32[16], B: f32[16], C: f32[16])" },
	{ "formats/01_opencl_scale.so", "scale", "scale(A: f32[n], B: f32[n], alpha: f32)" },
	{ "formats/14_llvm_noblob.so", "add", "add(A: f32[16], B: f32[16], C: f32[16])" },
	{ "formats/12_syslib_prefix.tar", "add", "add(A: f32[16], B: f32[16], C: f32[16])" },
	{ "formats/12_syslib_prefix.tar", "main", "main(A: f32[16], B: f32[16], C: f32[16])" },
	{ "relax/gelu_dyn.so", "add", "add(matmul: f32[m, 48], B: f32[48], T_add: f32[m, 48])" },
	{ "relax/gelu_dyn.so", "shape_func", "shape_func(H: i64[4])" },
	{ "legacy/mulsub_llvm.so", "mulsub", "mulsub(A: f32[n], B: f32[n])" },
	{ "legacy/mulsub_llvm.so", "__tvm_main__", "mulsub(A: f32[n], B: f32[n])" },
	{ "legacy/mulsub_opencl.so", "mulsub", "mulsub(A: f32[n], B: f32[n])" },
	{ "legacy/mlp_llvm.so", "tvmgen_default_fused_nn_contrib_dense_pack_add_tanh_add",
	  "tvmgen_default_fused_nn_contrib_dense_pack_add_tanh_add(p0: f32[2, 20], p1: f32[2, 20, "
	  "6], p2: f32[1, 12], p3: f32[2, 12], T_add: f32[2, 12])" },
	{ "legacy/mlp_aot.so", "tvmgen_default___tvm_main__",
	  "tvmgen_default___tvm_main__(data: f32[2, 20], extra: f32[2, 12], output: f32[2, 12], "
	  "output2: f32[2])" },
	/* texts that no code of TVM wrote, and none at all */
	{ "legacy/mlp_aot.so", "get_c_metadata", NULL },
	{ "legacy/mulsub_c.so", "mulsub", NULL },
};

/* Another name of a function has its signature. */
static const struct mpk_signature *signature_of(const struct mpk_image *image,
						const struct mpk_signature *const *list,
						const char *name)
{
	for (size_t i = 0; i < image->function_count; i++)
		if (strcmp(image->functions[i].name, name) == 0)
			return image->functions[i].alias_of
				       ? signature_of(image, list, image->functions[i].alias_of)
				       : list[i];
	return NULL;
}

START_TEST(libraries_tell_their_functions)
{
	struct mpk_span bytes = fixture_load(libraries[_i].file);
	const struct mpk_signature *const *list, *s;
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_image image;

	ck_assert_ok(mpk_image_open(bytes, NULL, &arena, &image, &err), err);
	ck_assert_ok(mpk_host_signatures(&image, &arena, &list, &err), err);
	s = signature_of(&image, list, libraries[_i].function);
	if (s)
		mpk_signature_text(s, &text);
	ck_assert_str_eq(mpk_strbuf_text(&text), libraries[_i].shown ? libraries[_i].shown : "");
	mpk_strbuf_fini(&text);
	fixture_free(bytes);
}
END_TEST

/* --- hostile files ---------------------------------------------------------------------- */

static enum mpk_code read_signatures(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_host_texts texts;
	const struct mpk_signature *const *list;
	struct mpk_arena a = { 0 };
	struct mpk_image image;
	enum mpk_code code = mpk_image_open(bytes, NULL, &a, &image, err);

	if (code == MPK_OK)
		code = mpk_host_signatures(&image, &a, &list, err);
	if (code == MPK_OK)
		code = mpk_host_texts_read(&image, &a, &texts, err);
	for (size_t i = 0; code == MPK_OK && i < image.function_count; i++) {
		struct mpk_strbuf text = { 0 };

		if (list[i]) {
			mpk_signature_text(list[i], &text);
			mpk_signature_options(list[i], &text);
		}
		mpk_strbuf_fini(&text);
	}
	mpk_arena_fini(&a);
	return code;
}

/* What tvm-ffi's exporter left: the docs are constants, the metadata is made at run time. */
START_TEST(docs_are_found)
{
	struct mpk_span bytes = fixture_load("ffi/ffi_docs.so");
	struct mpk_host_texts texts;
	struct mpk_error err = { 0 };
	struct mpk_image image;

	ck_assert_ok(mpk_image_open(bytes, NULL, &arena, &image, &err), err);
	ck_assert_uint_eq(image.function_count, 2);
	ck_assert_uint_eq(image.getter_count, 4);
	ck_assert_ok(mpk_host_texts_read(&image, &arena, &texts, &err), err);
	ck_assert(mpk_span_is(texts.docs[0], "Add one.\n\nx : int"));
	ck_assert(mpk_span_is(texts.docs[1], "Add a and b into c."));
	ck_assert(!texts.metadata[0].len && !texts.metadata[1].len && !texts.unassigned_count);
}
END_TEST

START_TEST(survives_anything)
{
	robust_check("tests/data/cuda/saxpy_opencl.so", read_signatures, 2000);
	robust_check("tests/data/legacy/mulsub_llvm.so", read_signatures, 2000);
	robust_check("tests/data/formats/12_syslib_prefix.tar", read_signatures, 2000);
	robust_check("tests/data/ffi/ffi_docs.so", read_signatures, 2000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("signatures");
	TCase *tc = tcase_create("signatures");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, extents_are_computed_and_shortened, 0,
			    (int)MPK_ARRAY_COUNT(extents));
	tcase_add_test(tc, parentheses_are_bounded);
	tcase_add_loop_test(tc, prototypes_are_read, 0, (int)MPK_ARRAY_COUNT(prototypes));
	tcase_add_test(tc, cut_prototypes_are_refused);
	tcase_add_loop_test(tc, calls_have_consistent_sizes, 0, (int)MPK_ARRAY_COUNT(calls));
	tcase_add_loop_test(tc, metadata_is_read, 0, (int)MPK_ARRAY_COUNT(schemas));
	tcase_add_test(tc, metadata_is_bounded);
	tcase_add_loop_test(tc, assertions_are_read, 0, (int)MPK_ARRAY_COUNT(assertions));
	tcase_add_test(tc, strides_are_found_in_a_conjunction);
	tcase_add_loop_test(tc, libraries_tell_their_functions, 0, (int)MPK_ARRAY_COUNT(libraries));
	tcase_add_test(tc, docs_are_found);
	tcase_add_test(tc, survives_anything);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

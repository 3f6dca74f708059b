/* SPDX-License-Identifier: Apache-2.0 */
/* formats/dtype: names and bytes of element types */
#include "harness.h"

#include "dtype/dtype.h"

/* What TVM and NumPy call these types. */
static const struct {
	const char *text;
	struct mpk_dtype type;
	size_t bytes;
	const char *printed; /* NULL: as text */
} names[] = {
	{ "int8", { 0, 8, 1 }, 1, NULL },
	{ "int32", { 0, 32, 1 }, 4, NULL },
	{ "uint64", { 1, 64, 1 }, 8, NULL },
	{ "uint1", { 1, 1, 1 }, 1, NULL },
	{ "float16", { 2, 16, 1 }, 2, NULL },
	{ "float32x4", { 2, 32, 4 }, 16, NULL },
	{ "bfloat16", { 4, 16, 1 }, 2, NULL },
	{ "complex64", { 5, 64, 1 }, 8, NULL },
	{ "bool", { 6, 8, 1 }, 1, NULL },
	{ "boolx8", { 6, 8, 8 }, 8, NULL },
	{ "handle", { 3, 64, 1 }, 8, NULL },
	{ "void", { 3, 0, 0 }, 0, NULL },
	{ "float8_e4m3fn", { 10, 8, 1 }, 1, NULL },
	{ "float8_e4m3fnuz", { 11, 8, 1 }, 1, NULL },
	{ "float8_e5m2", { 12, 8, 1 }, 1, NULL },
	{ "float6_e3m2fn", { 16, 6, 1 }, 1, NULL },
	{ "float4_e2m1fn", { 17, 4, 1 }, 1, NULL },
	{ "float4_e2m1fnx2", { 17, 4, 2 }, 1, NULL },
	{ "int4x8", { 0, 4, 8 }, 4, NULL },
	{ "int32xvscalex4", { 0, 32, 0xfffc }, 16, NULL },
	{ "custom[131]16", { 131, 16, 1 }, 2, NULL },
	{ "f32", { 2, 32, 1 }, 4, "float32" },
	{ "i64", { 0, 64, 1 }, 8, "int64" },
	{ "u8", { 1, 8, 1 }, 1, "uint8" },
	{ "bf16", { 4, 16, 1 }, 2, "bfloat16" },
};

START_TEST(named)
{
	char out[MPK_DTYPE_TEXT];
	struct mpk_dtype t;

	ck_assert(mpk_dtype_parse(mpk_span_str(names[_i].text), &t));
	ck_assert_msg(mpk_dtype_equal(t, names[_i].type), "%s", names[_i].text);
	ck_assert_str_eq(mpk_dtype_print(t, out),
			 names[_i].printed ? names[_i].printed : names[_i].text);
	ck_assert_uint_eq(mpk_dtype_bytes(t), names[_i].bytes);
}
END_TEST

START_TEST(refused)
{
	static const char *const texts[] = { "",
					     "int",
					     "int0",
					     "int256",
					     "float",
					     "float32x",
					     "float32x-1",
					     "float32 ",
					     " int8",
					     "int8x99999",
					     "boo",
					     "handle64x",
					     "custom[1]",
					     "custom[300]8",
					     "custom[]8",
					     "int32xvscalex0",
					     "float8_e9m9",
					     "i",
					     "f32x2x2" };
	struct mpk_dtype t;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert_msg(!mpk_dtype_parse(mpk_span_str(texts[i]), &t), "'%s' parsed",
			      texts[i]);
}
END_TEST

/* Whatever prints, parses back to itself: names can go through a manifest. */
START_TEST(every_code_and_width_prints_and_parses_back)
{
	static const uint16_t lanes[] = { 1, 2, 16, 0x7fff, 0x8000, 0xffff };
	char out[MPK_DTYPE_TEXT];

	for (unsigned code = 0; code < 256; code++) {
		for (unsigned bits = 1; bits < 256; bits++) {
			for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
				struct mpk_dtype t = { (uint8_t)code, (uint8_t)bits, lanes[i] };
				struct mpk_dtype back;

				mpk_dtype_print(t, out);
				ck_assert_msg(mpk_dtype_parse(mpk_span_str(out), &back) &&
						      mpk_dtype_equal(t, back),
					      "%s", out);
			}
		}
	}
}
END_TEST

/* What is suggested is a type, and not the word itself. */
START_TEST(what_was_meant)
{
	static const struct {
		const char *word, *type;
	} meant[] = {
		{ "half", "float16" },  { "double", "float64" },        { "int", "int32" },
		{ "size_t", "uint64" }, { "torch.float32", "float32" }, { "np.int8", "int8" },
		{ "int64_t", "int64" }, { "flaot32", "float32" },       { "FLOAT32", "float32" },
		{ "float*", "handle" }, { "handel", "handle" },         { "unsigned", "uint32" },
		{ "bool_", "bool" },    { "float8", "float8_e4m3fn" },  { "string", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
		const char *type = mpk_dtype_suggest(mpk_span_str(meant[i].word));
		struct mpk_dtype parsed;

		ck_assert_msg(!type == !meant[i].type, "%s: %s", meant[i].word, type ? type : "-");
		if (!type)
			continue;
		ck_assert_str_eq(type, meant[i].type);
		ck_assert(mpk_dtype_parse(mpk_span_str(type), &parsed));
	}
}
END_TEST

START_TEST(bytes_on_the_wire)
{
	static const uint8_t raw[] = { 3, 64, 1, 0 };
	struct mpk_cursor c = mpk_cursor_of(mpk_span_of(raw, sizeof raw), 0, "payload");
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_span back;
	struct mpk_dtype t;

	ck_assert_int_eq(mpk_dtype_read(&c, "t", &t, NULL), MPK_OK);
	ck_assert(t.code == MPK_DTYPE_HANDLE && t.bits == 64 && t.lanes == 1);
	ck_assert_int_eq(mpk_dtype_read(&c, "t", &t, NULL), MPK_E_CORRUPT);
	mpk_dtype_write(&rope, t);
	ck_assert_int_eq(mpk_rope_flat(&rope, &back, NULL), MPK_OK);
	ck_assert(mpk_span_equal(back, mpk_span_of(raw, sizeof raw)));
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(both_spellings_of_bool)
{
	ck_assert(mpk_dtype_is_bool((struct mpk_dtype){ 6, 8, 1 }));
	ck_assert(mpk_dtype_is_bool((struct mpk_dtype){ 1, 1, 1 }));
	ck_assert(!mpk_dtype_is_bool((struct mpk_dtype){ 1, 8, 1 }));
}
END_TEST

START_TEST(device_types_have_names)
{
	int32_t type = -1;

	for (int64_t i = -1; i < 300; i++) {
		const char *name = mpk_dl_device_name(i);

		ck_assert(!name == !mpk_dl_device_find(mpk_span_str(name ? name : "none"), &type));
		ck_assert(!name || type == i);
	}
	ck_assert_str_eq(mpk_dl_device_name(MPK_DL_ROCM), "rocm");
	ck_assert_ptr_null(mpk_dl_device_name((INT64_C(1) << 32) + MPK_DL_CPU));
	ck_assert(!mpk_dl_device_find(mpk_span_str("cud"), &type));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dtype");
	TCase *t = tcase_create("dtype");

	tcase_add_loop_test(t, named, 0, sizeof names / sizeof *names);
	tcase_add_test(t, refused);
	tcase_add_test(t, every_code_and_width_prints_and_parses_back);
	tcase_add_test(t, what_was_meant);
	tcase_add_test(t, bytes_on_the_wire);
	tcase_add_test(t, both_spellings_of_bool);
	tcase_add_test(t, device_types_have_names);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

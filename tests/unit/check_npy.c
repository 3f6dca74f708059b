/* SPDX-License-Identifier: Apache-2.0 */
/* .npy and .npz against files that NumPy wrote (tests/data/npy/make.py) */
#include "harness.h"

#include "base/cursor.h"
#include "base/native.h"
#include "npy/npy.h"
#include "value/element.h"
#include "value/parse.h"

static struct mpk_span load(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof path, "npy/%s", name);
	return fixture_load(path);
}

static void unload(struct mpk_span s)
{
	free((void *)(uintptr_t)s.data);
}

static const struct {
	const char *name;
	struct mpk_dtype dtype;
} types[] = {
	{ "int8", { MPK_DTYPE_INT, 8, 1 } },       { "int16", { MPK_DTYPE_INT, 16, 1 } },
	{ "int32", { MPK_DTYPE_INT, 32, 1 } },     { "int64", { MPK_DTYPE_INT, 64, 1 } },
	{ "uint8", { MPK_DTYPE_UINT, 8, 1 } },     { "uint16", { MPK_DTYPE_UINT, 16, 1 } },
	{ "uint32", { MPK_DTYPE_UINT, 32, 1 } },   { "uint64", { MPK_DTYPE_UINT, 64, 1 } },
	{ "float16", { MPK_DTYPE_FLOAT, 16, 1 } }, { "float32", { MPK_DTYPE_FLOAT, 32, 1 } },
	{ "float64", { MPK_DTYPE_FLOAT, 64, 1 } }, { "bool", { MPK_DTYPE_BOOL, 8, 1 } },
};

START_TEST(every_type_is_read)
{
	char name[64];
	struct mpk_npy npy;

	(void)snprintf(name, sizeof name, "%s.npy", types[_i].name);
	struct mpk_span file = load(name);
	ck_assert_int_eq(mpk_npy_read(file, &npy, NULL), MPK_OK);
	ck_assert(mpk_dtype_equal(npy.dtype, types[_i].dtype));
	ck_assert_uint_eq(npy.ndim, 2);
	ck_assert_int_eq(npy.shape[0], 2);
	ck_assert_int_eq(npy.shape[1], 3);
	ck_assert_uint_eq(npy.data_off % 64, 0);
	for (size_t i = 0; i < 6; i++) {
		size_t each = mpk_dtype_bytes(npy.dtype);
		double want = types[_i].dtype.code == MPK_DTYPE_BOOL ? (double)(i % 2) : (double)i;

		uint8_t raw[8];

		memcpy(raw, npy.data.data + i * each, each);
		mpk_native_from_little(raw, each, mpk_dtype_number_bytes(npy.dtype));
		ck_assert_double_eq(mpk_element_to_double(mpk_element_load(npy.dtype, raw)), want);
	}
	unload(file);
}
END_TEST

/* Header and data written by us are the file that numpy.save wrote. */
START_TEST(written_bytes_are_numpys)
{
	static const char *const more[] = { "scalar", "empty", "vector", "opaque2" };
	const char *stem = _i < (int)MPK_ARRAY_COUNT(types)
				   ? types[_i].name
				   : more[(size_t)_i - MPK_ARRAY_COUNT(types)];
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_span flat;
	struct mpk_npy npy;
	char name[64];

	(void)snprintf(name, sizeof name, "%s.npy", stem);
	struct mpk_span file = load(name);
	ck_assert_int_eq(mpk_npy_read(file, &npy, NULL), MPK_OK);
	if (npy.is_opaque)
		npy.dtype = (struct mpk_dtype){ MPK_DTYPE_BFLOAT, 16, 1 };
	ck_assert_int_eq(mpk_npy_write_header(&rope, npy.dtype, npy.shape, npy.ndim, NULL), MPK_OK);
	mpk_rope_put_view(&rope, npy.data);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	if (npy.is_opaque) /* numpy writes "|V2" and ml_dtypes "<V2" for the same */
		ck_assert_uint_eq(flat.len, file.len);
	else
		ck_assert(mpk_span_equal(flat, file));
	mpk_arena_fini(&arena);
	unload(file);
}
END_TEST

static const struct {
	const char *name;
	enum mpk_code code;
	const char *part;
} refusals[] = {
	{ "fortran.npy", MPK_E_UNSUPPORTED, "ascontiguousarray" },
	{ "object.npy", MPK_E_UNSUPPORTED, "'|O'" },
	{ "text.npy", MPK_E_UNSUPPORTED, "'<U1'" },
	{ "record.npy", MPK_E_UNSUPPORTED, "records" },
	{ "pair.npz", MPK_E_CORRUPT, "magic" },
};

START_TEST(refusals_say_why)
{
	struct mpk_span file = load(refusals[_i].name);
	struct mpk_error err = { 0 };
	struct mpk_npy npy;

	ck_assert_int_eq(mpk_npy_read(file, &npy, &err), refusals[_i].code);
	ck_assert_msg(strstr(err.text, refusals[_i].part) != NULL, "%s", err.text);
	unload(file);
}
END_TEST

START_TEST(versions_2_and_3)
{
	struct mpk_span a = load("version2.npy"), b = load("version3.npy");
	struct mpk_npy x, y;

	ck_assert_int_eq(mpk_npy_read(a, &x, NULL), MPK_OK);
	ck_assert_int_eq(mpk_npy_read(b, &y, NULL), MPK_OK);
	ck_assert(mpk_span_equal(x.data, y.data));
	ck_assert_int_eq(x.shape[1], 3);
	unload(a);
	unload(b);
}
END_TEST

START_TEST(archives)
{
	struct mpk_span pair = load("pair.npz"), one = load("one.npz"), packed = load("packed.npz"),
			member;
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_npy npy;

	ck_assert_int_eq(mpk_npz_find(pair, "y", &arena, &member, &err), MPK_OK);
	ck_assert_int_eq(mpk_npy_read(member, &npy, &err), MPK_OK);
	ck_assert_int_eq(npy.shape[0], 3);
	ck_assert_int_eq(mpk_npz_find(pair, "x.npy", &arena, &member, &err), MPK_OK);
	ck_assert_int_eq(mpk_npz_find(one, NULL, &arena, &member, &err), MPK_OK);
	ck_assert_int_eq(mpk_npz_find(pair, NULL, &arena, &member, &err), MPK_E_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "x, y"));
	ck_assert_int_eq(mpk_npz_find(one, "onyl", &arena, &member, &err), MPK_E_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "did you mean 'only'"));
	ck_assert_int_eq(mpk_npz_find(packed, "x", &arena, &member, &err), MPK_OK);
	ck_assert_int_eq(mpk_npy_read(member, &npy, &err), MPK_OK);
	ck_assert_int_eq(npy.shape[0], 4);
	ck_assert_uint_eq(mpk_load_u32(npy.data.data + 12), 0x40400000); /* 3 */
	mpk_arena_fini(&arena);
	unload(pair);
	unload(one);
	unload(packed);
}
END_TEST

/* Every beginning and every single changed byte: an error or an array that lies
 * within. */
static void try_all(struct mpk_span file, bool is_archive)
{
	struct guarded g = guarded_create(file.len);
	struct mpk_arena arena = { 0 };
	struct mpk_span member;
	struct mpk_npy npy;

	for (size_t len = 0; len <= file.len; len++) {
		struct mpk_span s = guarded_put(&g, mpk_span_of(file.data, len));

		ck_assert(len == file.len || is_archive || mpk_npy_read(s, &npy, NULL) != MPK_OK);
		if (is_archive && mpk_npz_find(s, "x", &arena, &member, NULL) == MPK_OK)
			ck_assert_int_eq(mpk_npy_read(member, &npy, NULL), MPK_OK);
	}
	for (size_t at = 0; at < file.len; at++) {
		struct mpk_span s = guarded_put(&g, file);

		((uint8_t *)(uintptr_t)s.data)[at] ^= (uint8_t)(1 + at % 255);
		if (is_archive && mpk_npz_find(s, "x", &arena, &member, NULL) != MPK_OK)
			continue;
		if (!is_archive)
			member = s;
		if (mpk_npy_read(member, &npy, NULL) == MPK_OK)
			ck_assert(npy.data.data + npy.data.len <= member.data + member.len);
	}
	mpk_arena_fini(&arena);
	guarded_free(&g);
}

START_TEST(damage_is_harmless)
{
	static const char *const names[] = { "float32.npy", "version2.npy", "pair.npz",
					     "packed.npz" };
	struct mpk_span file = load(names[_i]);

	try_all(file, _i >= 2);
	unload(file);
}
END_TEST

/* Files as values: byte order is turned, a declared type is checked, raw bytes are
 * taken. */
START_TEST(files_as_tensors)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_strbuf text = { 0 };

	ck_assert_int_eq(mpk_value_parse("@tests/data/npy/big_endian.npy", &v, &err), MPK_OK);
	mpk_value_print(&text, &v, 0);
	ck_assert_str_eq(mpk_strbuf_text(&text), "2x3xf32=[[0 1 2][3 4 5]]");
	mpk_value_drop(&v);
	ck_assert_int_eq(mpk_value_parse("@tests/data/npy/opaque2.npy", &v, &err), MPK_OK);
	text.len = 0;
	mpk_value_print(&text, &v, 0);
	ck_assert_str_eq(mpk_strbuf_text(&text), "2xbf16=1 2");
	mpk_value_drop(&v);
	ck_assert_int_eq(mpk_value_parse("@tests/data/npy/pair.npz:y", &v, &err), MPK_OK);
	ck_assert_uint_eq(mpk_tensor_count(v.tensor), 3);
	mpk_value_drop(&v);
	ck_assert_int_eq(mpk_value_parse("2x3xf32=@tests/data/npy/float32.npy", &v, &err), MPK_OK);
	mpk_value_drop(&v);
	ck_assert_int_eq(mpk_value_parse("3x2xf32=@tests/data/npy/float32.npy", &v, &err),
			 MPK_E_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "2x3xf32, not 3x2xf32"));
	ck_assert_int_eq(mpk_value_parse("8xu8=@tests/data/npy/make.py", &v, &err), MPK_E_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "8 are needed"));
	ck_assert_int_eq(mpk_value_parse("@tests/data/npy/none.npy", &v, &err), MPK_E_IO);
	ck_assert_int_eq(mpk_value_parse("@tests/data/npy/make.py", &v, &err), MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_value_parse("@tests/data/npy/pair.npz:z", &v, &err), MPK_E_USAGE);
	ck_assert_int_eq(mpk_value_parse("@tests/data/npy/int8.npy:z", &v, &err), MPK_E_USAGE);
	mpk_strbuf_fini(&text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("npy");
	TCase *tc = tcase_create("files of NumPy");
	int type_count = (int)MPK_ARRAY_COUNT(types);

	tcase_add_loop_test(tc, every_type_is_read, 0, type_count);
	tcase_add_loop_test(tc, written_bytes_are_numpys, 0, type_count + 4);
	tcase_add_loop_test(tc, refusals_say_why, 0, MPK_ARRAY_COUNT(refusals));
	tcase_add_test(tc, versions_2_and_3);
	tcase_add_test(tc, archives);
	tcase_add_loop_test(tc, damage_is_harmless, 0, 4);
	tcase_add_test(tc, files_as_tensors);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

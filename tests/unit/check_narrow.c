/* SPDX-License-Identifier: Apache-2.0 */
/* Types of less than 16 bits (value/element.h), held against what ml_dtypes made of
 * them (tests/data/narrow), and every type's numbers as text, out and in */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/native.h"
#include "io/mapping.h"
#include "npy/npy.h"
#include "value/element.h"
#include "value/param_file.h"
#include "value/parse.h"

static struct mpk_arena arena;

static void setup(void)
{
	arena = (struct mpk_arena){ 0 };
}

static void teardown(void)
{
	mpk_arena_fini(&arena);
}

/* Those that ml_dtypes has; the first 11 are floats. */
static const char *const types[] = {
	"float8_e3m4",
	"float8_e4m3",
	"float8_e4m3b11fnuz",
	"float8_e4m3fn",
	"float8_e4m3fnuz",
	"float8_e5m2",
	"float8_e5m2fnuz",
	"float8_e8m0fnu",
	"float6_e2m3fn",
	"float6_e3m2fn",
	"float4_e2m1fn",
	"int4",
	"uint4",
	"int2",
	"uint2",
};
enum { TYPES = MPK_ARRAY_COUNT(types), FLOATS = 11 };

static struct mpk_dtype dtype_of(const char *name)
{
	struct mpk_dtype t;

	ck_assert_msg(mpk_dtype_parse(mpk_span_str(name), &t), "%s", name);
	return t;
}

static struct mpk_tensor *parse(const char *text)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_value_parse(text, &v, &err) == MPK_OK, "%s: %s", text, err.text);
	ck_assert_int_eq(v.kind, MPK_VALUE_TENSOR);
	return v.tensor;
}

/* An array of ml_dtypes' file. */
static struct mpk_tensor *array_of(const char *name, const char *key)
{
	return parse(mpk_arena_printf(&arena, "@tests/data/narrow/%s.npz:%s", name, key));
}

/* The same, whose elements have the type in question. */
static struct mpk_tensor *typed_array_of(const char *name, const char *key, uint64_t count)
{
	return parse(mpk_arena_printf(&arena, "%llux%s=@tests/data/narrow/%s.npz:%s",
				      (unsigned long long)count, name, name, key));
}

static double number(const struct mpk_tensor *t, uint64_t i)
{
	struct mpk_scalars s = mpk_scalars_of(&t->dl);
	uint8_t raw[MPK_SCALAR_MAX];

	return mpk_element_to_double(mpk_element_load(s.dtype, mpk_scalar_at(&s, i, raw)));
}

static bool same_number(double a, double b)
{
	return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* Every bit pattern has the value that ml_dtypes says. */
START_TEST(values)
{
	struct mpk_tensor *want = array_of(types[_i], "values");
	uint64_t count = mpk_tensor_count(want);
	struct mpk_tensor *got = typed_array_of(types[_i], "patterns", count);
	struct mpk_dtype t = dtype_of(types[_i]);

	ck_assert_uint_eq(count, 1u << t.bits);
	ck_assert_int_eq(mpk_dtype_is_narrow(t), _i < FLOATS);
	ck_assert_uint_eq(got->bytes, count * t.bits / 8);
	for (uint64_t i = 0; i < count; i++)
		ck_assert_msg(same_number(number(got, i), number(want, i)), "%s %#llx: %g, not %g",
			      types[_i], (unsigned long long)i, number(got, i), number(want, i));
	mpk_tensor_drop(want);
	mpk_tensor_drop(got);
}
END_TEST

static uint8_t narrowed(struct mpk_dtype t, double value)
{
	uint8_t bits = 0;

	mpk_element_store(t, (struct mpk_element){ .class = MPK_ELEMENT_FLOAT, .f = value }, &bits);
	return bits;
}

/* Floats on, beside and between the numbers round as ml_dtypes rounds them. Bits are compared, those
 * of NaN as well. */
START_TEST(rounding)
{
	struct mpk_tensor *inputs = array_of(types[_i], "inputs");
	uint64_t count = mpk_tensor_count(inputs);
	struct mpk_tensor *want = typed_array_of(types[_i], "rounded", count);
	struct mpk_scalars s = mpk_scalars_of(&want->dl);
	uint8_t raw[MPK_SCALAR_MAX];

	ck_assert_uint_gt(count, 20);
	for (uint64_t i = 0; i < count; i++) {
		double value = number(inputs, i);
		uint8_t got = narrowed(s.dtype, value);
		uint8_t bits = *(const uint8_t *)mpk_scalar_at(&s, i, raw);

		ck_assert_msg(got == bits, "%s: %a becomes %#x, not %#x", types[_i], value, got,
			      bits);
	}
	mpk_tensor_drop(inputs);
	mpk_tensor_drop(want);
}
END_TEST

/* A double is rounded once: by way of a float this would be the tie, and 1. */
START_TEST(rounded_once)
{
	struct mpk_dtype t = dtype_of("float8_e4m3fn");

	ck_assert_uint_eq(narrowed(t, 1 + 0x1p-4 + 0x1p-40), 0x39);
	ck_assert_uint_eq(narrowed(t, 1 + 0x1p-4), 0x38);
}
END_TEST

/* What is written is byte for byte what ml_dtypes wrote. */
START_TEST(files)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping m = { .fd = -1 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_error err = { 0 };
	struct mpk_span file;

	ck_assert_int_eq(
		mpk_mapping_open(mpk_arena_printf(&arena, "tests/data/narrow/%s.npz", types[_i]),
				 &m, &err),
		MPK_OK);
	ck_assert_int_eq(mpk_npz_find(m.bytes, "patterns", &arena, &file, &err), MPK_OK);

	struct mpk_tensor *t =
		typed_array_of(types[_i], "patterns", 1u << dtype_of(types[_i]).bits);
	ck_assert_int_eq(mpk_array_write(t, &rope, &err), MPK_OK);
	ck_assert(mpk_rope_equals(&rope, file));
	mpk_tensor_drop(t);
}
END_TEST

/* --- text ------------------------------------------------------------------------ */

static const char *const all_types[] = {
	"i1",           "i2",
	"u2",           "i3",
	"u3",           "i4",
	"u4",           "i5",
	"u6",           "i7",
	"u7",           "i8",
	"u8",           "i16",
	"u16",          "f16",
	"bf16",         "bool",
	"uint1",        "f8_e3m4",
	"f8_e4m3",      "f8_e4m3b11fnuz",
	"f8_e4m3fn",    "f8_e4m3fnuz",
	"f8_e5m2",      "f8_e5m2fnuz",
	"f8_e8m0fnu",   "f6_e2m3fn",
	"f6_e3m2fn",    "f4_e2m1fn",
	"float8",       "custom[99]8",
	"custom[99]12",
};

/* Every bit pattern of every type of up to 16 bits is printed as text that gives it again. NaN is one
 * text, which gives one of its patterns; a bool has two values. */
START_TEST(every_pattern_as_text)
{
	const char *name = all_types[_i];
	struct mpk_dtype t = dtype_of(name);
	bool is_bool = mpk_dtype_is_bool(t);
	uint64_t count = is_bool ? 2 : UINT64_C(1) << t.bits;
	struct mpk_tensor *all =
		parse(mpk_arena_printf(&arena, "%llux%s", (unsigned long long)count, name));
	struct mpk_scalars s = mpk_scalars_of(&all->dl);
	struct mpk_strbuf text = { 0 };
	uint8_t a[MPK_SCALAR_MAX], b[MPK_SCALAR_MAX];

	for (uint64_t i = 0; i < count; i++) {
		uint8_t raw[] = { (uint8_t)i, (uint8_t)(i >> 8) };

		mpk_scalar_put(&s, i, raw);
	}
	mpk_value_print(&text, &(struct mpk_value){ .kind = MPK_VALUE_TENSOR, .tensor = all }, 0);

	struct mpk_tensor *again = parse(mpk_strbuf_text(&text));
	struct mpk_scalars r = mpk_scalars_of(&again->dl);
	ck_assert_uint_eq(r.count, count);
	for (uint64_t i = 0; i < count; i++) {
		const void *x = mpk_scalar_at(&s, i, a), *y = mpk_scalar_at(&r, i, b);
		struct mpk_element e = mpk_element_load(t, x), f = mpk_element_load(r.dtype, y);
		bool nan = e.class == MPK_ELEMENT_FLOAT && isnan(e.f) && isnan(f.f);

		ck_assert_msg(nan || memcmp(x, y, mpk_dtype_bytes(t)) == 0, "%s %#llx", name,
			      (unsigned long long)i);
	}
	mpk_strbuf_fini(&text);
	mpk_tensor_drop(all);
	mpk_tensor_drop(again);
}
END_TEST

/* Row: what is typed, its bytes, and what is printed. Packed elements begin with the lowest bits. */
static const struct {
	const char *typed;
	uint8_t bytes[8];
	size_t count;
	const char *printed;
} packings[] = {
	{ "3xi4=1,-2,7", { 0xe1, 0x07 }, 2, "3xi4=1 -2 7" },
	{ "3xuint4=1,14,7", { 0xe1, 0x07 }, 2, "3xu4=1 14 7" },
	{ "5xi2=0,1,-2,-1,1", { 0xe4, 0x01 }, 2, "5xi2=0 1 -2 -1 1" },
	{ "2xfloat4_e2m1fn=0.5,-6", { 0xf1 }, 1, "2xf4_e2m1fn=0.5 -6" },
	{ "4xf6_e3m2fn=28,-0.0625,0,-28", { 0x5f, 0x08, 0xfc }, 3, "4xf6_e3m2fn=28 -0.06 0 -28" },
	{ "2xf8_e5m2=1,-inf", { 0x3c, 0xfc }, 2, "2xf8_e5m2=1 -inf" },
	{ "[]f8_e4m3fn=448", { 0x7e }, 1, "[]f8_e4m3fn=448" },
	{ "2xf8_e8m0fnu=0.5,nan", { 0x7e, 0xff }, 2, "2xf8_e8m0fnu=0.5 nan" },
	{ "2xi8x2=[1 2][3 4]", { 1, 2, 3, 4 }, 4, "2xi8x2=[[1 2][3 4]]" },
	{ "[]i4x8=1 2 3 4 5 6 7 -8", { 0x21, 0x43, 0x65, 0x87 }, 4, "[]i4x8=1 2 3 4 5 6 7 -8" },
	{ "1xboolx2=[true false]", { 1, 0 }, 2, "1xboolx2=[[true false]]" },
	{ "3xf4_e2m1fnx2=[1 2][3 4][6 -1]",
	  { 0x42, 0x65, 0xa7 },
	  3,
	  "3xf4_e2m1fnx2=[[1 2][3 4][6 -1]]" },
	{ "1xcomplex64=0x400000003f800000",
	  { 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40 },
	  8,
	  "1xcomplex64=0x400000003f800000" },
	{ "2xcustom[99]8=0x7,0xAb", { 0x07, 0xab }, 2, "2xcustom[99]8=0x07 0xab" },
};

START_TEST(packed)
{
	struct mpk_tensor *t = parse(packings[_i].typed);
	uint8_t bytes[sizeof packings[0].bytes];
	struct mpk_strbuf text = { 0 };

	ck_assert_uint_eq(t->bytes, packings[_i].count);
	memcpy(bytes, packings[_i].bytes, packings[_i].count);
	mpk_native_from_little(bytes, packings[_i].count, mpk_dtype_number_bytes(t->dl.dtype));
	ck_assert_mem_eq(mpk_dltensor_data(&t->dl), bytes, packings[_i].count);
	mpk_value_print(&text, &(struct mpk_value){ .kind = MPK_VALUE_TENSOR, .tensor = t }, 0);
	ck_assert_str_eq(mpk_strbuf_text(&text), packings[_i].printed);
	mpk_strbuf_fini(&text);
	mpk_tensor_drop(t);
}
END_TEST

static const struct {
	const char *typed, *says;
} refusals[] = {
	{ "1xf4_e2m1fn=8", "'8' does not fit" },
	{ "1xf4_e2m1fn=nan", "'nan' does not fit" },
	{ "1xf6_e2m3fn=inf", "'inf' does not fit" },
	{ "1xf8_e4m3fn=465", "'465' does not fit" },
	{ "1xf8_e4m3fn=inf", "'inf' does not fit" },
	{ "1xf8_e8m0fnu=0", "'0' does not fit" },
	{ "1xf8_e8m0fnu=-1", "'-1' does not fit" },
	{ "1xi4=8", "'8' does not fit" },
	{ "1xu2=4", "'4' does not fit" },
	{ "1xcomplex64=1", "written as their bits" },
	{ "1xcomplex64=rand", "have no text form" },
	{ "1xcustom[99]12=0x1000", "does not fit" },
	{ "1xcustom[99]8=0x", "written as their bits" },
	{ "1xcustom[99]8=0xg", "written as their bits" },
	{ "1xf8_e4m3x=1", "did you mean" },
};

START_TEST(refused)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_value_parse(refusals[_i].typed, &v, &err) != MPK_OK, "%s",
		      refusals[_i].typed);
	ck_assert_msg(strstr(err.text, refusals[_i].says), "%s: %s", refusals[_i].typed, err.text);
}
END_TEST

/* The largest number's neighbourhood that still rounds to it is taken. */
START_TEST(rounds_to_the_largest)
{
	struct mpk_tensor *t = parse("3xf8_e4m3fn=464,-464,455.9");

	for (uint64_t i = 0; i < 3; i++)
		ck_assert_double_eq(fabs(number(t, i)), 448);
	mpk_tensor_drop(t);
}
END_TEST

START_TEST(random_numbers)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(all_types); i++) {
		struct mpk_dtype t = dtype_of(all_types[i]);

		if (mpk_element_class(t) == MPK_ELEMENT_NONE)
			continue;
		struct mpk_tensor *r = parse(mpk_arena_printf(&arena, "99x%s=rand", all_types[i]));
		double least = INFINITY, most = -INFINITY;

		for (uint64_t k = 0; k < 99; k++) {
			ck_assert_msg(!isnan(number(r, k)), "%s", all_types[i]);
			least = fmin(least, number(r, k));
			most = fmax(most, number(r, k));
		}
		ck_assert_msg(least < most || strcmp(all_types[i], "i1") == 0, "%s", all_types[i]);
		mpk_tensor_drop(r);
	}
}
END_TEST

/* --- memory ---------------------------------------------------------------------- */

/* A transposed view of packed elements, and one of packed vectors. */
START_TEST(strided)
{
	static const char *const pairs[][2] = {
		{ "2x3xi4=[1 2 3][4 5 6]", "3x2xi4=[1 4][2 5][3 6]" },
		{ "2x3xu2x2=[[0 1][1 2][2 3]][[3 2][2 1][1 0]]",
		  "3x2xu2x2=[[0 1][3 2]][[1 2][2 1]][[2 3][1 0]]" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(pairs); i++) {
		struct mpk_tensor *t = parse(pairs[i][0]), *want = parse(pairs[i][1]), *got, *view;
		int64_t shape[] = { 3, 2 }, strides[] = { 1, 3 };
		struct mpk_dltensor dl = t->dl;
		struct mpk_error err = { 0 };

		dl.shape = shape;
		dl.strides = strides;
		ck_assert_int_eq(mpk_tensor_wrap(&dl, t->storage, &view, &err), MPK_OK);
		ck_assert_int_eq(mpk_tensor_compact(view, &got, &err), MPK_OK);
		ck_assert_uint_eq(got->bytes, want->bytes);
		ck_assert_mem_eq(mpk_dltensor_data(&got->dl), mpk_dltensor_data(&want->dl),
				 want->bytes);
		mpk_tensor_drop(t);
		mpk_tensor_drop(want);
		mpk_tensor_drop(got);
		mpk_tensor_drop(view);
	}
}
END_TEST

/* As DLPack and tvm-ffi count them: the bits of all elements, rounded up once. */
START_TEST(sizes)
{
	static const struct {
		const char *type;
		uint64_t count, bytes;
	} rows[] = {
		{ "int4", 5, 3 },
		{ "int4x2", 5, 5 },
		{ "float6_e2m3fn", 5, 4 },
		{ "float4_e2m1fnx2", 3, 3 },
		{ "uint1", 9, 9 },
		{ "uint1x8", 2, 2 },
		{ "int3", 9, 4 },
		{ "int12", 3, 5 },
		{ "float32x4", 2, 32 },
		{ "int4", 0, 0 },
		{ "float16xvscalex4", 2, 16 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		uint64_t bytes;

		ck_assert(mpk_dtype_size(dtype_of(rows[i].type), rows[i].count, &bytes));
		ck_assert_msg(bytes == rows[i].bytes, "%s: %llu", rows[i].type,
			      (unsigned long long)bytes);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("narrow");
	TCase *c = tcase_create("narrow");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, values, 0, TYPES);
	tcase_add_loop_test(c, rounding, 0, FLOATS);
	tcase_add_test(c, rounded_once);
	tcase_add_loop_test(c, files, 0, TYPES);
	tcase_add_loop_test(c, every_pattern_as_text, 0, MPK_ARRAY_COUNT(all_types));
	tcase_add_loop_test(c, packed, 0, MPK_ARRAY_COUNT(packings));
	tcase_add_loop_test(c, refused, 0, MPK_ARRAY_COUNT(refusals));
	tcase_add_test(c, rounds_to_the_largest);
	tcase_add_test(c, random_numbers);
	tcase_add_test(c, strided);
	tcase_add_test(c, sizes);
	suite_add_tcase(suite, c);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

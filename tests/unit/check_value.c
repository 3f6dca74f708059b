/* SPDX-License-Identifier: Apache-2.0 */
/* Values and tensors: parsing what users type, filling, printing, comparing, files (lib/run/value) */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session/call.h"
#include "session/internal/reply.h"
#include "value/element.h"
#include "value/parse.h"
#include "value/value.h"

static struct mpk_value parse(const char *text)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_value_parse(text, &v, &err) == MPK_OK, "%s: %s", text, err.text);
	return v;
}

static const char *print(const struct mpk_value *v, size_t limit)
{
	static char text[4096];
	struct mpk_strbuf buf = { 0 };

	mpk_value_print(&buf, v, limit);
	(void)snprintf(text, sizeof text, "%s", mpk_strbuf_text(&buf));
	mpk_strbuf_fini(&buf);
	return text;
}

/* More numbers than a tensor has dimensions: caches take sequences and layers so. */
#define LONG_SHAPE                                                                                 \
	"shape=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"   \
	"30,31,32,33,34,-1"

/* What is typed, and what is printed for it; the printed text parses to the same
 * again. */
static const struct {
	const char *typed, *printed;
} forms[] = {
	{ "2x3xf32=1,2,3,4,5,6", "2x3xf32=[[1 2 3][4 5 6]]" },
	{ "2x3xf32=[[1 2 3][4 5 6]]", "2x3xf32=[[1 2 3][4 5 6]]" },
	{ "2x3xf32=[[1,2,3],[4,5,6]]", "2x3xf32=[[1 2 3][4 5 6]]" },
	{ "2x3xf32=[1 2 3][4 5 6]", "2x3xf32=[[1 2 3][4 5 6]]" },
	{ "2x3xf32=7", "2x3xf32=[[7 7 7][7 7 7]]" },
	{ "2x3xf32", "2x3xf32=[[0 0 0][0 0 0]]" },
	{ "4xf32=2 3 4 5", "4xf32=2 3 4 5" },
	{ "4xf32=[2, 3, 4, 5]", "4xf32=2 3 4 5" },
	{ "2x1x2xi8=[[[1 -2]][[3 -128]]]", "2x1x2xi8=[[[1 -2]][[3 -128]]]" },
	{ "[]f32=1.5", "[]f32=1.5" },
	{ "[]i64", "[]i64=0" },
	{ "0xf32", "0xf32=" },
	{ "2x0xf32=", "2x0xf32=" },
	{ "3xfloat32=1,2,3", "3xf32=1 2 3" },
	{ "3xbool=true,0,1", "3xbool=true false true" },
	{ "2xuint64=18446744073709551615,0", "2xu64=18446744073709551615 0" },
	{ "2xi64=-9223372036854775808,9223372036854775807",
	  "2xi64=-9223372036854775808 9223372036854775807" },
	{ "3xf16=0.1,65504,1e-7", "3xf16=0.1 65504 1e-07" },
	{ "2xbf16=0.1,3e38", "2xbf16=0.1 3e+38" },
	{ "4xf64=0.1,1e300,-0,100", "4xf64=0.1 1e+300 -0 100" },
	{ "3xf32=nan,inf,-inf", "3xf32=nan inf -inf" },
	{ "3xf32=0.1,16777216,3.4028235e38", "3xf32=0.1 16777216 3.4028235e+38" },
	{ "i64=5", "i64=5" },
	{ "u64=18446744073709551615", "u64=18446744073709551615" },
	{ "f32=1.5", "f32=1.5" },
	{ "f16=0.1", "f16=0.1" },
	{ "bool=true", "true" },
	{ "5", "i64=5" },
	{ "-7", "i64=-7" },
	{ "1.5", "f64=1.5" },
	{ "1e5", "f64=100000" },
	{ "true", "true" },
	{ "false", "false" },
	{ "none", "none" },
	{ "str=hello, world=1", "str=hello, world=1" },
	{ "str=", "str=" },
	{ "shape=2,3", "shape=2,3" },
	{ "shape=", "shape=" },
	{ LONG_SHAPE, LONG_SHAPE },
	{ "bytes=00fF", "bytes=00ff" },
	{ "dtype=f32", "dtype=float32" },
	{ "device=cuda:1", "device=cuda:1" },
	{ "device=cpu", "device=cpu:0" },
	{ "()", "()" },
	{ "( )", "()" },
	{ "(2xf32=1,2;i64=3)", "(2xf32=1 2; i64=3)" },
	{ "( true ;(str=a b;( shape=1,2));none )", "(true; (str=a b; (shape=1,2)); none)" },
};

START_TEST(forms_of_values)
{
	struct mpk_value v = parse(forms[_i].typed), again;
	struct mpk_tolerance exact = { 0, 0 };
	struct mpk_comparison c;
	struct mpk_strbuf why = { 0 };

	ck_assert_str_eq(print(&v, 0), forms[_i].printed);
	again = parse(forms[_i].printed);
	ck_assert_int_eq(mpk_value_compare(&again, &v, exact, &c, &why, NULL), MPK_OK);
	ck_assert_msg(c.is_equal, "%s: %s", forms[_i].typed, mpk_strbuf_text(&why));
	mpk_strbuf_fini(&why);
	mpk_value_drop(&v);
	mpk_value_drop(&again);
}
END_TEST

static const struct {
	const char *typed;
	int column; /* 0: none is named */
	const char *part;
} mistakes[] = {
	{ "", 1, "not a value" },
	{ "hello", 1, "texts str=hello" },
	{ "2x3xfoo=1", 5, "expected a type" },
	{ "2x3x=1", 5, "expected a type" },
	{ "2y3xf32", 1, "not a value" },
	{ "2x3yf32", 4, "expected 'x'" },
	{ "99999999999999999999xf32", 1, "too large" },
	{ "f32", 4, "a number is missing" },
	{ "f32=x", 5, "not a number" },
	{ "u8=300", 4, "does not fit" },
	{ "i8=-129", 4, "does not fit" },
	{ "i32=1.5", 5, "not a number" },
	{ "f16=70000", 5, "does not fit" },
	{ "4xf32=1,x,3,4", 9, "'x' is not a number" },
	{ "2xu8=1,256", 8, "'256' does not fit" },
	{ "2xi8=1,1.5", 8, "not a number" },
	{ "4xf32=1,2,3", 0, "3 numbers for a tensor of 4" },
	{ "4xf32=1,,3,4", 9, "between two commas" },
	{ "4xf32=1,2,3,", 13, "beside the comma" },
	{ "4xf32=,1,2,3", 8, "beside the comma" },
	{ "2x2xf32=[[1 2][3 4]", 20, "not closed" },
	{ "2x2xf32=[[1 2][3]]", 17, "has 1 parts, dimension 2 of the type 2" },
	{ "2x2xf32=[[1 2]]", 15, "has 1 parts, dimension 1 of the type 2" },
	{ "2x2xf32=[[1 2][3 4]]]", 21, "closed already" },
	{ "2x2xf32=[[[1]]]", 11, "more brackets" },
	{ "2x2xf32=[[1 2][3 4 5]]", 20, "more numbers" },
	{ "2x2xf32=[1 2 3 4]", 0, "dimension 2 of the type 2" },
	{ "2xf32=1 2]", 10, "brackets stand around" },
	{ "2xf32=rand:x", 12, "the seed" },
	{ "2xf32=random", 11, "expected rand" },
	{ "shape=2,x", 9, "expected integers" },
	{ "shape=2,", 9, "missing" },
	{ "bytes=0g", 8, "hexadecimal" },
	{ "bytes=000", 10, "hexadecimal" },
	{ "dtype=foo", 7, "expected a type" },
	{ "device=tpu", 8, "expected cpu" },
	{ "device=cpu:x", 12, "the device's number" },
	{ "(1", 3, "a tuple ends with ')'" },
	{ "(1;", 1, "not a value" },
	{ "(1; 2) 3", 6, "a tuple ends with ')'" },
	{ "(i64=x)", 5, "not a number" },
	{ "(((((((((((((((((1)))))))))))))))))", 1, "nested too deep" },
};

START_TEST(mistakes_name_their_column)
{
	struct mpk_value v = { .kind = MPK_VALUE_INT };
	struct mpk_error err = { 0 };
	char column[32];

	(void)snprintf(column, sizeof column, "(column %d of ", mistakes[_i].column);
	ck_assert_msg(mpk_value_parse(mistakes[_i].typed, &v, &err) == MPK_E_USAGE,
		      "'%s' was taken", mistakes[_i].typed);
	ck_assert_msg(strstr(err.text, mistakes[_i].part) != NULL, "'%s' gives: %s",
		      mistakes[_i].typed, err.text);
	if (mistakes[_i].column)
		ck_assert_msg(strstr(err.text, column) != NULL, "'%s' gives: %s",
			      mistakes[_i].typed, err.text);
	ck_assert_int_eq(v.kind, MPK_VALUE_INT);
}
END_TEST

START_TEST(hostile_sizes_are_refused)
{
	static const char *const texts[] = {
		"9223372036854775807x9223372036854775807xf32",
		"4611686018427387904xf64",
		"1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32",
		"1000000000000000xf32",
	};
	struct mpk_value v;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(texts); i++)
		ck_assert_msg(mpk_value_parse(texts[i], &v, NULL) != MPK_OK, "%s", texts[i]);
}
END_TEST

START_TEST(random_values_repeat)
{
	struct mpk_value a = parse("64xf32=rand"), b = parse("64xf32=rand:0"),
			 c = parse("64xf32=rand:1"), d = parse("64xi8=rand");

	ck_assert(mpk_span_equal(mpk_tensor_span(a.tensor), mpk_tensor_span(b.tensor)));
	ck_assert(!mpk_span_equal(mpk_tensor_span(a.tensor), mpk_tensor_span(c.tensor)));
	for (int i = 0; i < 64; i++) {
		ck_assert_float_ge(((float *)a.tensor->dl.data)[i], -1);
		ck_assert_float_le(((float *)a.tensor->dl.data)[i], 1);
		ck_assert_int_ge(((int8_t *)d.tensor->dl.data)[i], 0);
		ck_assert_int_lt(((int8_t *)d.tensor->dl.data)[i], 100);
	}
	mpk_value_drop(&a);
	mpk_value_drop(&b);
	mpk_value_drop(&c);
	mpk_value_drop(&d);
}
END_TEST

START_TEST(tuples_differ_where_an_item_does)
{
	struct mpk_value a = parse("(2xf32=1,2; (i64=3; str=x))"),
			 b = parse("(2xf32=1,3; (i64=3; str=y))"), c = parse("(2xf32=1,2)");
	struct mpk_tolerance exact = { 0, 0 };
	struct mpk_comparison found;
	struct mpk_strbuf why = { 0 };

	ck_assert_int_eq(mpk_value_compare(&a, &b, exact, &found, &why, NULL), MPK_OK);
	ck_assert(!found.is_equal);
	ck_assert_uint_eq(found.differing, 2);
	ck_assert_uint_eq(found.total, 4);
	ck_assert_ptr_nonnull(
		strstr(mpk_strbuf_text(&why), "item 0: element [1] is 2, expected 3"));
	ck_assert_int_eq(mpk_value_compare(&a, &c, exact, &found, &why, NULL), MPK_OK);
	ck_assert(!found.is_equal);
	mpk_strbuf_fini(&why);
	mpk_value_drop(&a);
	mpk_value_drop(&b);
	mpk_value_drop(&c);
}
END_TEST

START_TEST(files_of_a_value)
{
	static const struct {
		const char *text, *files;
	} rows[] = {
		{ "@x.npy", "x.npy," },
		{ "data=@x.npz:key", "x.npz:key," },
		{ "2xf32=@raw.bin", "raw.bin," },
		{ "str=@x", "" },
		{ "5", "" },
		{ "(@a.npy; 2xf32=@b;(3;@c.npy ))", "a.npy,b,c.npy," },
		{ "p=(@a.npy)", "a.npy," },
		{ "(str=@x;4)", "" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const char *from = rows[i].text, *file;
		struct mpk_strbuf found = { 0 };
		size_t len;

		while ((file = mpk_value_file(rows[i].text, from, &len)) != NULL) {
			mpk_strbuf_printf(&found, "%.*s,", (int)len, file);
			from = file + len;
		}
		ck_assert_str_eq(mpk_strbuf_text(&found), rows[i].files);
		mpk_strbuf_fini(&found);
	}
}
END_TEST

START_TEST(names_are_told_from_types)
{
	struct mpk_span name;
	const char *value;

	ck_assert(mpk_value_split_name("data=@x.npy", &name, &value));
	ck_assert(mpk_span_is(name, "data"));
	ck_assert_str_eq(value, "@x.npy");
	ck_assert(mpk_value_split_name("model/input:0=4xf32=1", &name, &value));
	ck_assert_str_eq(value, "4xf32=1");
	ck_assert(!mpk_value_split_name("f32=1", &name, &value));
	ck_assert(!mpk_value_split_name("4xf32=1", &name, &value));
	ck_assert(!mpk_value_split_name("[]f32=1", &name, &value));
	ck_assert(!mpk_value_split_name("str=a=b", &name, &value));
	ck_assert(!mpk_value_split_name("@a=b.npy", &name, &value));
	ck_assert(!mpk_value_split_name("5", &name, &value));
}
END_TEST

START_TEST(devices_stand_behind_tensors)
{
	static const struct {
		const char *text;
		int32_t type, id;
		enum mpk_value_kind kind;
	} rows[] = {
		{ "4xf32=1@cpu", MPK_DL_CPU, 0, MPK_VALUE_TENSOR },
		{ "x=4xf32=1@opencl:2", MPK_DL_OPENCL, 2, MPK_VALUE_TENSOR },
		{ "4xf32@cuda", MPK_DL_CUDA, 0, MPK_VALUE_TENSOR },
		{ "@tests/data/legacy/mlp.data.npy@opencl", MPK_DL_OPENCL, 0, MPK_VALUE_TENSOR },
		{ "data=@tests/data/legacy/mlp.data.npy", 0, 0, MPK_VALUE_TENSOR },
		{ "str=4xf32=1@cpu", 0, 0, MPK_VALUE_STR },
		{ "5", 0, 0, MPK_VALUE_INT },
	};
	static const char *const refused[] = { "5@cpu",         "none@opencl",     "shape=2,3@cpu",
					       "4xf32=1@cpu:x", "4xf32=1@nothing", "@cpu" };
	struct mpk_dldevice where;
	struct mpk_span name;
	struct mpk_value v;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		ck_assert_msg(mpk_value_parse_argument(rows[i].text, false, &name, &where, &v,
						       NULL) == MPK_OK,
			      "%s", rows[i].text);
		ck_assert_int_eq(where.type, rows[i].type);
		ck_assert_int_eq(where.id, rows[i].id);
		ck_assert_int_eq(v.kind, rows[i].kind);
		mpk_value_drop(&v);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(refused); i++)
		ck_assert_msg(mpk_value_parse_argument(refused[i], false, &name, &where, &v,
						       NULL) != MPK_OK,
			      "%s", refused[i]);
}
END_TEST

START_TEST(tensors_are_aligned_and_compact)
{
	struct mpk_value v = parse("3x4x5xf32");
	const struct mpk_dltensor *dl = &v.tensor->dl;

	ck_assert_uint_eq((uintptr_t)dl->data % MPK_STORAGE_ALIGN, 0);
	ck_assert_int_eq(dl->strides[0], 20);
	ck_assert_int_eq(dl->strides[1], 5);
	ck_assert_int_eq(dl->strides[2], 1);
	ck_assert(mpk_dltensor_is_compact(dl));
	ck_assert_uint_eq(v.tensor->bytes, 240);
	mpk_value_drop(&v);
	v = parse("3x0x5xf32");
	ck_assert_int_eq(v.tensor->dl.strides[0], 0);
	mpk_value_drop(&v);
}
END_TEST

START_TEST(long_tensors_are_cut)
{
	struct mpk_value v = parse("5xi32=7");

	ck_assert_str_eq(print(&v, 3), "5xi32=7 7 7 ...");
	mpk_value_drop(&v);
}
END_TEST

/* --- comparison --------------------------------------------------------------------- */

static const struct {
	const char *got, *want;
	double atol, rtol;
	const char *why; /* NULL: they are equal */
} pairs[] = {
	{ "4xf32=1,2,3,4", "4xf32=1,2,3,4", -1, -1, NULL },
	{ "4xf32=1,2,3,4", "4xf32=1,2,3.00005,4", -1, -1, NULL },
	{ "4xf32=1,2,3,8", "4xf32=1,2,3,9", -1, -1,
	  "element [3] is 8, expected 9; 1 of 4 elements differ, largest error 1 "
	  "absolute, "
	  "0.111111 relative" },
	{ "2x2xf32=1,2,3,4", "2x2xf32=0,2,3,5", -1, -1,
	  "element [0,0] is 1, expected 0; 2 of 4 elements differ, largest error 1 "
	  "absolute, inf "
	  "relative" },
	{ "2xf32=1,2", "2xf32=1,2.5", 0.6, -1, NULL },
	{ "2xf32=100,2", "2xf32=110,2", 0, 0.1, NULL },
	{ "2xf32=1,2", "2xf32=1.0000001,2", 0, 0, "element [0] is 1, expected 1.0000001" },
	{ "3xf32=nan,inf,-inf", "3xf32=nan,inf,-inf", -1, -1, NULL },
	{ "1xf32=inf", "1xf32=-inf", 1e30, 1, "element [0] is inf, expected -inf" },
	{ "1xf32=nan", "1xf32=1", 1e30, 1, "element [0] is nan, expected 1" },
	{ "1xf32=1", "1xf32=inf", 1e30, 1, "expected inf" },
	{ "2xf16=1,1", "2xf16=1.0009,1", -1, -1, NULL },
	{ "1xf16=1", "1xf16=1.002", -1, -1, "element [0]" },
	{ "1xbf16=1", "1xbf16=1.0078125", -1, -1, NULL },
	{ "2xi32=1,2", "2xi32=1,3", -1, -1, "1 of 2 elements differ" },
	{ "2xi32=1,2", "2xi32=1,3", 1, -1, NULL },
	{ "1xi64=9007199254740993", "1xi64=9007199254740992", -1, -1, "9007199254740993" },
	{ "2xbool=1,0", "2xbool=1,1", -1, -1, "is false, expected true" },
	{ "4xf32", "2x2xf32", -1, -1, "it is 4xf32, expected 2x2xf32" },
	{ "4xf32", "4xf64", -1, -1, "it is 4xf32, expected 4xf64" },
	{ "0xf32", "0xf32", -1, -1, NULL },
	{ "5", "5", -1, -1, NULL },
	{ "5", "6", -1, -1, "it is i64=5, expected i64=6" },
	{ "5.0", "5", -1, -1, NULL },
	{ "1", "true", -1, -1, NULL },
	{ "1.00001", "f32=1", -1, -1, NULL },
	{ "1.01", "1", -1, -1, "it is f64=1.01" },
	{ "str=a", "str=a", -1, -1, NULL },
	{ "str=a", "str=b", -1, -1, "it is str=a, expected str=b" },
	{ "str=a", "5", -1, -1, "it is str=a, expected i64=5" },
	{ "none", "none", -1, -1, NULL },
	{ "shape=1,2", "shape=1,2", -1, -1, NULL },
	{ "shape=1,2", "shape=1", -1, -1, "expected shape=1" },
	{ "bytes=00", "bytes=01", -1, -1, "it is bytes=00" },
	{ "dtype=f32", "dtype=f16", -1, -1, "dtype=float16" },
	{ "device=cpu", "device=cpu:1", -1, -1, "device=cpu:1" },
};

START_TEST(comparisons)
{
	struct mpk_value got = parse(pairs[_i].got), want = parse(pairs[_i].want);
	struct mpk_tolerance tolerance = { pairs[_i].atol, pairs[_i].rtol };
	struct mpk_comparison c = { 0 };
	struct mpk_strbuf why = { 0 };

	ck_assert_int_eq(mpk_value_compare(&got, &want, tolerance, &c, &why, NULL), MPK_OK);
	ck_assert_msg(c.is_equal == !pairs[_i].why, "%s and %s: %s", pairs[_i].got, pairs[_i].want,
		      mpk_strbuf_text(&why));
	if (pairs[_i].why)
		ck_assert_msg(strstr(mpk_strbuf_text(&why), pairs[_i].why) != NULL, "%s",
			      mpk_strbuf_text(&why));
	mpk_strbuf_fini(&why);
	mpk_value_drop(&got);
	mpk_value_drop(&want);
}
END_TEST

/* --- across a process --------------------------------------------------------------- */

static int write_all(struct mpk_value *values)
{
	int fd = memfd_create("wire", MFD_CLOEXEC);
	struct mpk_wire w = { .fd = fd };

	ck_assert_int_ge(fd, 0);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(forms); i++) {
		values[i] = parse(forms[i].typed);
		ck_assert_int_eq(mpk_wire_put_value(&w, &values[i], NULL), MPK_OK);
	}
	ck_assert_int_eq(mpk_wire_end(&w, NULL), MPK_OK);
	return fd;
}

START_TEST(values_travel_unchanged)
{
	struct mpk_value values[MPK_ARRAY_COUNT(forms)];
	struct mpk_wire_map *map;
	struct mpk_value v = { 0 };
	int fd = write_all(values);

	ck_assert_int_eq(mpk_wire_map_fd(fd, (uint64_t)lseek(fd, 0, SEEK_END), false, &map, NULL),
			 MPK_OK);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(forms); i++) {
		ck_assert_int_eq(mpk_wire_get_value(map, &v, NULL), MPK_OK);
		ck_assert_str_eq(print(&v, 0), forms[i].printed);
		if (v.kind == MPK_VALUE_TENSOR)
			ck_assert_uint_eq((uintptr_t)v.tensor->dl.data % MPK_STORAGE_ALIGN, 0);
		mpk_value_drop(&v);
		mpk_value_drop(&values[i]);
	}
	ck_assert_int_eq(mpk_wire_get_value(map, &v, NULL), MPK_E_RAISED);
	mpk_wire_map_drop(map);
	(void)close(fd);
}
END_TEST

/* A module may have written over anything: no byte of the reply is trusted. */
START_TEST(damaged_replies_are_harmless)
{
	struct mpk_value values[MPK_ARRAY_COUNT(forms)];
	int fd = write_all(values);
	off_t len = lseek(fd, 0, SEEK_END);

	for (off_t at = 0; at < len; at++) {
		struct mpk_wire_map *map;
		struct mpk_value v = { 0 };
		uint8_t byte, bad;

		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		bad = (uint8_t)(byte ^ (0x81 + at % 7));
		ck_assert_int_eq(pwrite(fd, &bad, 1, at), 1);
		ck_assert_int_eq(
			mpk_wire_map_fd(fd, (uint64_t)lseek(fd, 0, SEEK_END), false, &map, NULL),
			MPK_OK);
		while (mpk_wire_get_value(map, &v, NULL) == MPK_OK)
			mpk_value_drop(&v);
		mpk_wire_map_drop(map);
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(forms); i++)
		mpk_value_drop(&values[i]);
	(void)close(fd);
}
END_TEST

START_TEST(timing_figures)
{
	double seconds[100], one[1] = { 3 };
	struct mpk_timing t;

	for (int i = 0; i < 100; i++)
		seconds[i] = (i * 37) % 100 + 1; /* 1 to 100 in some order */
	t = mpk_timing_of(seconds, 100);
	ck_assert_double_eq(t.min, 1);
	ck_assert_double_eq(t.median, 50.5);
	ck_assert_double_eq(t.p95, 95);
	ck_assert_double_eq_tol(t.mean, 50.5, 1e-9);
	t = mpk_timing_of(one, 1);
	ck_assert_double_eq(t.p95, 3);
}
END_TEST

static TCase *add_case(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	suite_add_tcase(s, tc);
	return tc;
}

/* A list as functional programs have it, pairs of a head and a list: freeing it does not recurse. */
START_TEST(long_lists_are_freed)
{
	struct mpk_value list = { 0 };
	struct mpk_error err = { 0 };
	int made = 0;

	/* an assertion for each would be told to the test's runner a million times */
	for (int i = 0; i < 1000000; i++) {
		struct mpk_value pair;

		if (mpk_value_of_array(2, &pair, &err) != MPK_OK)
			break;
		made++;
		pair.array->items[0] = mpk_value_of_int(i);
		pair.array->items[1] = list;
		list = pair;
	}
	ck_assert_int_eq(made, 1000000);
	mpk_value_drop(&list);
	ck_assert_int_eq(list.kind, MPK_VALUE_NONE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("value");
	TCase *tc = add_case(s, "grammar");

	tcase_add_loop_test(tc, forms_of_values, 0, MPK_ARRAY_COUNT(forms));
	tcase_add_loop_test(tc, mistakes_name_their_column, 0, MPK_ARRAY_COUNT(mistakes));
	tcase_add_test(tc, hostile_sizes_are_refused);
	tcase_add_test(tc, random_values_repeat);
	tcase_add_test(tc, tuples_differ_where_an_item_does);
	tcase_add_test(tc, files_of_a_value);
	tcase_add_test(tc, names_are_told_from_types);
	tcase_add_test(tc, devices_stand_behind_tensors);
	tc = add_case(s, "tensors");
	tcase_add_test(tc, tensors_are_aligned_and_compact);
	tcase_add_test(tc, long_tensors_are_cut);
	tc = add_case(s, "comparison");
	tcase_add_loop_test(tc, comparisons, 0, MPK_ARRAY_COUNT(pairs));
	tc = add_case(s, "wire");
	tcase_add_test(tc, long_lists_are_freed);
	tcase_add_test(tc, values_travel_unchanged);
	tcase_add_test(tc, damaged_replies_are_harmless);
	tcase_add_test(tc, timing_figures);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

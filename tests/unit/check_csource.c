/* SPDX-License-Identifier: Apache-2.0 */
/* formats/csource against sources that TVM wrote, and C as people write it */
#include <check.h>
#include <stdlib.h>

#include "elf/image.h"
#include "object/object.h"
#include "robust.h"
#include "tar/tar.h"

#define DATA "tests/data/csource/"

static struct mpk_arena arena;

static void teardown(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_object read_text(const char *text)
{
	struct mpk_error err = { 0 };
	struct mpk_object o;

	ck_assert_msg(mpk_csource_reader.read(mpk_span_str(text), &arena, &o, &err) == MPK_OK,
		      "%s: %s", text, err.text);
	return o;
}

/* "f() x =y static z": what a text defines */
static const char *listing(const struct mpk_object *o)
{
	char *text = mpk_arena_printf(&arena, "%s", "");

	for (size_t i = 0; i < o->symbol_count; i++) {
		const struct mpk_object_symbol *s = &o->symbols[i];

		text = mpk_arena_printf(&arena, "%s%s%s%s%s%s", text, i ? " " : "",
					s->global ? "" : "static ", s->content.len ? "=" : "",
					s->name, s->is_function ? "()" : "");
	}
	return text;
}

static const struct {
	const char *text, *want;
} definitions[] = {
	{ "int f(void) { return 0; }", "f()" },
	{ "int f(void);", "" },
	{ "extern int x; extern const char y[];", "" },
	{ "void *ctx = NULL; static void *other; int a, b = 3, *c;", "=ctx static other a =b c" },
	{ "typedef struct { int x; } t; struct s { int x; } v; enum e { A, B };", "v" },
	{ "static int f(int a, int (*g)(int)) { if (a) { return 1; } return g(a); }",
	  "static f()" },
	{ "__attribute__((visibility(\"default\"))) int f(void) __attribute__((noinline));\n"
	  "__declspec(dllexport) int g(void) { return '}'; }",
	  "g()" },
	{ "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void) {}\n#ifdef __cplusplus\n}\n#endif\n"
	  "int g(void) {}",
	  "f() g()" },
	{ "extern \"C\" int f(void) {} extern \"C\" const int x = 1;", "f() =x" },
	{ "namespace a { namespace { int f() {} } int y; } int z;", "f() y z" },
	{ "#define X int hidden(void) { \\\n }\n/* int a; */ // int b;\nconst char *s = \"int c;\";",
	  "=s" },
	{ "int (*pointer)(int) = 0; void *table[] = { f, g };", "=table" },
	{ "}}} int x;", "x" },
	{ "int __attribute__((section(\"a\"))) x = 1;", "=x" },
	{ "int y = f(1, 2), z;", "=y z" },
};

START_TEST(definition)
{
	struct mpk_object o = read_text(definitions[_i].text);

	ck_assert_int_eq(o.kind, MPK_OBJECT_SOURCE);
	ck_assert_str_eq(listing(&o), definitions[_i].want);
}
END_TEST

static const struct {
	const char *text, *want;
	size_t len;
} arrays[] = {
	{ "const unsigned char x[4] = { 0x4c, 3, 017, 255u, };", "\x4c\3\17\377", 4 },
	{ "char x[] = {\n0X0,/* two */1UL\n};", "\0\1", 2 },
	{ "char x[] = {};", "", 0 },
	{ "char x[3] = \"abc\";", "abc", 3 },
	{ "char x[4] = \"abc\";", "abc", 3 },
	{ "char x[8 MPK_NUL] =\n\t\"a\\000\\n\\?\"\n\t\"\\x7f\\\"\\\\0\";", "a\0\n?\x7f\"\\0", 8 },
	{ "char x[] = \"\\a\\b\\f\\r\\t\\v\\'\\7\\18\";",
	  "\a\b\f\r\t\v'\7\1"
	  "8",
	  10 },
};

START_TEST(array_bytes)
{
	struct mpk_object o = read_text(arrays[_i].text);
	struct mpk_error err = { 0 };
	struct mpk_span got;

	ck_assert_uint_eq(o.symbol_count, 1);
	ck_assert_msg(mpk_csource_reader.bytes(&o.symbols[0], &arena, &got, &err) == MPK_OK,
		      "%s: %s", arrays[_i].text, err.text);
	ck_assert_uint_eq(got.len, arrays[_i].len);
	ck_assert_mem_eq(got.data, arrays[_i].want, got.len);
}
END_TEST

static const struct {
	const char *text, *error;
} bad_arrays[] = {
	{ "char x[] = { 256 };", "up to 255" },
	{ "char x[] = { 0x };", "up to 255" },
	{ "char x[] = { 08 };", "up to 255" },
	{ "char x[] = { -1 };", "up to 255" },
	{ "char x[] = { 1 2 };", "up to 255" },
	{ "char x[] = { A };", "up to 255" },
	{ "char x[] = { 99999999999999999999 };", "up to 255" },
	{ "char x[] = f(1);", "up to 255" },
	{ "char x[] = { 1 } + 2;", "up to 255" },
	{ "char x[] = \"\\400\";", "up to 255" },
	{ "char x[] = \"\\x\";", "up to 255" },
	{ "char x[] = \"\\q\";", "up to 255" },
	{ "char x[] = \"abc;\n;", "up to 255" },
	{ "char x[5] = { 1, 2 };", "declared to have 5 bytes, and has 2" },
	{ "char x[99999999999] = \"a\";", "declared to have 99999999999 bytes, and has 1" },
};

START_TEST(refuses_array)
{
	struct mpk_object o = read_text(bad_arrays[_i].text);
	struct mpk_error err = { 0 };
	struct mpk_span got;

	ck_assert_int_eq(mpk_csource_reader.bytes(&o.symbols[0], &arena, &got, &err), MPK_E_SYNTAX);
	ck_assert_msg(strstr(err.text, bad_arrays[_i].error) != NULL, "%s: %s", bad_arrays[_i].text,
		      err.text);
}
END_TEST

START_TEST(refuses)
{
	static const struct {
		struct mpk_span text;
		enum mpk_code code;
		uint32_t line;
	} rows[] = {
		{ { (const uint8_t *)"\nint f(void) {", 14 }, MPK_E_SYNTAX, 2 },
		{ { (const uint8_t *)"int f(", 6 }, MPK_E_SYNTAX, 1 },
		{ { (const uint8_t *)"int x = 3", 9 }, MPK_E_SYNTAX, 1 },
		{ { (const uint8_t *)"char x[3", 8 }, MPK_E_SYNTAX, 1 },
		{ { (const uint8_t *)"/* int x;", 9 }, MPK_E_SYNTAX, 1 },
		{ { (const uint8_t *)"int\0x;", 6 }, MPK_E_CORRUPT, 0 },
	};
	struct mpk_object o;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_error err = { 0 };

		ck_assert_int_eq(mpk_csource_reader.read(rows[i].text, &arena, &o, &err),
				 rows[i].code);
		ck_assert_uint_eq(err.at.line, rows[i].line);
		ck_assert_msg(err.text[0] != 0, "row %zu", i);
	}
	ck_assert_int_eq(mpk_csource_reader.read(mpk_span_of("int x;\0\0", 8), &arena, &o, NULL),
			 MPK_OK);
}
END_TEST

START_TEST(strings)
{
	static const char text[] =
		"const char *p[] = { \"one\", \"tw\" \"o\" }; '\"'; x(\"\\q\") \"\";";
	struct mpk_span got;

	ck_assert_int_eq(mpk_csource_strings(mpk_span_str(text), &arena, &got, NULL), MPK_OK);
	ck_assert_uint_eq(got.len, sizeof "one\0two\0" - 1 + 1);
	ck_assert_mem_eq(got.data, "one\0two\0", got.len);
}
END_TEST

/* What TVM's own tools cut out of a library is what its C text stands for. */
START_TEST(real_blob)
{
	struct mpk_span want = robust_load(&arena, "tests/data/formats/20_legacy_opencl.blob");
	struct mpk_span text = robust_load(&arena, DATA "legacy_devc.c");
	struct mpk_error err = { 0 };
	struct mpk_image image = { 0 };

	ck_assert_msg(mpk_image_open(text, NULL, &arena, &image, &err) == MPK_OK, "%s", err.text);
	ck_assert_int_eq(image.container, MPK_CONTAINER_C);
	ck_assert_int_eq(image.gen, MPK_GEN_LEGACY);
	ck_assert_uint_eq(image.blob.len, want.len);
	ck_assert_mem_eq(image.blob.data, want.data, want.len);
	ck_assert_uint_eq(text.data[image.blob_off], '{');
}
END_TEST

START_TEST(real_functions)
{
	struct mpk_span text = robust_load(&arena, DATA "lib0.c");
	struct mpk_image image = { 0 };

	ck_assert_int_eq(mpk_image_open(text, NULL, &arena, &image, NULL), MPK_OK);
	ck_assert(!image.has_blob && image.has_ctx && image.gen_known);
	ck_assert_uint_eq(image.function_count, 2);
	ck_assert_str_eq(image.functions[0].name, "main");
	ck_assert(image.functions[0].is_entry);
	ck_assert_str_eq(image.functions[1].symbol, "__tvm_ffi_vadd");
}
END_TEST

static const struct {
	const char *file, *member, *functions;
	enum mpk_file_format format;
	bool blob;
} exports[] = {
	{ "opencl.tar", "devc.c", "main:lib0.c vadd:lib0.c", MPK_FILE_C, true },
	{ "relax.tar", "devc.c", "add:lib0.c main:lib0.c", MPK_FILE_C, true },
	{ "host.tar", "lib0.c", "main: vadd:", MPK_FILE_C, false },
	{ "mixed.tar", "devc.o", "f1:lib0.o f2:lib1.c main:lib0.o main:lib1.c", MPK_FILE_ELF,
	  true },
	{ "two_hosts.tar", "devc.o", "f1:lib0.o f2:lib1.o main:lib1.o main:lib0.o", MPK_FILE_ELF,
	  true },
};

START_TEST(real_export)
{
	struct mpk_span bytes =
		robust_load(&arena, mpk_arena_printf(&arena, DATA "%s", exports[_i].file));
	char *text = mpk_arena_printf(&arena, "%s", "");
	struct mpk_error err = { 0 };
	struct mpk_image image = { 0 };

	ck_assert_msg(mpk_image_open(bytes, NULL, &arena, &image, &err) == MPK_OK, "%s", err.text);
	ck_assert_int_eq(image.container, MPK_CONTAINER_TAR);
	ck_assert_int_eq(image.format, exports[_i].format);
	ck_assert_str_eq(image.member, exports[_i].member);
	ck_assert_int_eq(image.has_blob, exports[_i].blob);
	for (size_t i = 0; i < image.function_count; i++)
		text = mpk_arena_printf(&arena, "%s%s%s:%s", text, i ? " " : "",
					image.functions[i].name,
					image.functions[i].member ? image.functions[i].member : "");
	ck_assert_str_eq(text, exports[_i].functions);
}
END_TEST

/* Texts of other kinds that name TVM's symbols: LLVM IR, a manifest. */
START_TEST(other_texts)
{
	static const char *const texts[] = {
		"target triple = \"x86_64\"\n@__tvm_ffi__library_bin = global i8 0\n",
		"[package]\nname = \"__tvm_ffi_x\"\n[[module]]\n",
	};
	struct mpk_image image;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(texts); i++)
		ck_assert_int_eq(mpk_image_open(mpk_span_str(texts[i]), NULL, &arena, &image, NULL),
				 MPK_E_UNSUPPORTED);
}
END_TEST

static enum mpk_code try_text(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_object o;
	struct mpk_span out;

	MPK_TRY(mpk_csource_strings(bytes, &scratch, &out, err));
	MPK_TRY(mpk_csource_reader.read(bytes, &scratch, &o, err));
	for (size_t i = 0; i < o.symbol_count; i++)
		if (o.symbols[i].content.len)
			(void)!mpk_csource_reader.bytes(&o.symbols[i], &scratch, &out, NULL);
	return MPK_OK;
}

START_TEST(survives)
{
	robust_check(DATA "devc.c", try_text, 3000);
	robust_check(DATA "lib0.c", try_text, 1500);
	robust_check("tests/data/objects/host.c", try_text, 3000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("csource");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, definition, 0, MPK_ARRAY_COUNT(definitions));
	tcase_add_loop_test(tc, array_bytes, 0, MPK_ARRAY_COUNT(arrays));
	tcase_add_loop_test(tc, refuses_array, 0, MPK_ARRAY_COUNT(bad_arrays));
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, strings);
	tcase_add_test(tc, real_blob);
	tcase_add_test(tc, real_functions);
	tcase_add_loop_test(tc, real_export, 0, MPK_ARRAY_COUNT(exports));
	tcase_add_test(tc, other_texts);
	tcase_add_test(tc, survives);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

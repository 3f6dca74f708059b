/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libraries and names for their addresses (elf/code.h). A library that the test compiles tells
 * what is true; libraries of others, damaged, must not be believed. */
#include "robust.h"

#include "image_made.h"

#include "elf/code.h"

static struct mpk_code_file file;

static struct mpk_span made(const char *options)
{
	FILE *f;
	char path[96];

	(void)snprintf(path, sizeof path, "%s/x.c", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	(void)fputs(
		"extern int outside(int);\n"
		"__attribute__((noinline)) static int inside(int x) { return outside(x) * 3; }\n"
		"int number = 7;\n"
		"int first(int x) { return inside(x) + number; }\n"
		"int second(int x) { return inside(x) - 1; }\n",
		f);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert(run("cc -O1 %s -o %s/x.so %s/x.c", options, dir, dir));
	(void)snprintf(path, sizeof path, "%s/x.so", dir);
	return robust_load(&arena, path);
}

static void open_file(struct mpk_span bytes)
{
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_code_file_open(bytes, MPK_FILE_ELF, &arena, &file, &err) == MPK_OK, "%s",
		      err.text);
}

static const char *name_at(size_t section, uint64_t address)
{
	static char text[128];
	struct mpk_strbuf out = { 0 };
	bool known = mpk_code_file_put_name(&file, section, address, &out);

	ck_assert_int_eq(known, out.len > 0);
	(void)snprintf(text, sizeof text, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

static void close_file(void)
{
	mpk_code_file_close(&file);
}

START_TEST(library)
{
	struct mpk_code_function f, inside;
	struct mpk_span names[64];
	size_t count;

	open_file(made("-shared -fPIC"));
	ck_assert(mpk_code_file_find(&file, "first", &f));
	ck_assert_uint_gt(f.bytes.len, 4);
	ck_assert_str_eq(name_at(f.section, f.address), "first");
	ck_assert_str_eq(name_at(f.section, f.address + 1), "first+0x1");
	ck_assert(mpk_code_file_find(&file, "inside", &inside));
	ck_assert_ptr_nonnull(
		strstr(name_at(f.section, inside.address + inside.bytes.len - 1), "inside+0x"));
	ck_assert(!mpk_code_file_find(&file, "outside", &f));
	ck_assert(!mpk_code_file_find(&file, "number", &f)); /* data */
	ck_assert(!mpk_code_file_find(&file, "", &f));
	ck_assert_str_eq(name_at(0, UINT64_MAX), "");
	count = mpk_code_file_symbols(&file, names, MPK_ARRAY_COUNT(names));
	ck_assert_uint_ge(count, 3);
	ck_assert_uint_eq(mpk_code_file_symbols(&file, names, 1), 1);
}
END_TEST

/* A stripped file without section headers has what its dynamic section says. */
START_TEST(plt)
{
	struct mpk_code_function f;
	bool found = false;

	(void)made("-shared -fPIC");
	ck_assert(run("strip --strip-all %s/x.so", dir));
	char path[96];

	(void)snprintf(path, sizeof path, "%s/x.so", dir);
	open_file(robust_load(&arena, path));
	ck_assert(mpk_code_file_find(&file, "second", &f));
	ck_assert(!mpk_code_file_find(&file, "inside", &f));
	/* one of the places in front of the code is where calls of it go */
	for (uint64_t at = f.address & ~(uint64_t)0xfff; at < f.address && !found; at += 4)
		found = strcmp(name_at(0, at), "outside@plt") == 0;
	if (file.machine == EM_X86_64 || file.machine == EM_AARCH64 || file.machine == EM_RISCV)
		ck_assert(found);
}
END_TEST

START_TEST(object)
{
	struct mpk_code_function f;
	struct mpk_strbuf out = { 0 };
	size_t relocated = 0;

	open_file(made("-c -fPIC -ffunction-sections"));
	ck_assert(file.relocatable);
	ck_assert(mpk_code_file_find(&file, "inside", &f));
	ck_assert_uint_eq(f.address, 0);
	ck_assert_str_eq(name_at(f.section, 0), "inside");
	for (uint64_t at = 0; at < f.bytes.len; at++)
		relocated += mpk_code_file_put_relocation(&file, f.section, at, 1, &out);
	ck_assert_uint_ge(relocated, 1);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "outside"));
	mpk_strbuf_fini(&out);
	/* the same place of another section is something else */
	ck_assert(mpk_code_file_find(&file, "second", &f));
	ck_assert_str_eq(name_at(f.section, 0), "second");
	ck_assert(!mpk_code_file_put_relocation(&file, 99999, 0, 4, &out));
}
END_TEST

/* Mach-O and COFF have functions, too; C has none. */
START_TEST(others)
{
	static const struct {
		const char *path;
		enum mpk_file_format format;
		enum mpk_code code;
	} rows[] = {
		{ "tests/data/objects/host.arm64.o", MPK_FILE_MACHO, MPK_OK },
		{ "tests/data/objects/host.x86_64.obj", MPK_FILE_COFF, MPK_OK },
		{ "tests/data/objects/scale.dll", MPK_FILE_PE, MPK_OK },
		{ "tests/data/csource/lib0.c", MPK_FILE_C, MPK_E_UNSUPPORTED },
		{ "tests/data/csource/lib0.c", MPK_FILE_BLOB, MPK_E_UNSUPPORTED },
	};
	struct mpk_code_function f;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_span bytes = robust_load(&arena, rows[i].path);

		ck_assert_int_eq(mpk_code_file_open(bytes, rows[i].format, &arena, &file, NULL),
				 rows[i].code);
		if (rows[i].code == MPK_OK) {
			ck_assert(mpk_code_file_find(&file, "__tvm_ffi_scale", &f));
			ck_assert_uint_gt(f.bytes.len, 16);
		}
		mpk_code_file_close(&file);
	}
}
END_TEST

/* Every answer about a damaged file lies within it. */
static enum mpk_code ask_all(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena own = { 0 };
	struct mpk_code_file f = { 0 };
	struct mpk_strbuf out = { 0 };
	struct mpk_span names[16];
	enum mpk_code code = mpk_code_file_open(bytes, MPK_FILE_ELF, &own, &f, err);
	size_t count = code == MPK_OK ? mpk_code_file_symbols(&f, names, 16) : 0;
	uint8_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		struct mpk_code_function fn;

		if (!mpk_code_file_find(&f, (const char *)names[i].data, &fn))
			continue;
		sum ^= fn.bytes.data[0] ^ fn.bytes.data[fn.bytes.len - 1];
		(void)mpk_code_file_put_name(&f, fn.section, fn.address + 1, &out);
		(void)mpk_code_file_put_relocation(&f, fn.section, fn.address, 8, &out);
		(void)mpk_code_file_is_data(&f, fn.section, fn.address);
	}
	ck_assert_uint_le(sum, 255);
	mpk_strbuf_fini(&out);
	mpk_code_file_close(&f);
	mpk_arena_fini(&own);
	return code;
}

START_TEST(hostile)
{
	static const char *const paths[] = { "tests/data/formats/03_cuda_ptx.so",
					     "tests/data/embedded/embedded.o" };

	robust_check(paths[_i], ask_all, 3000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("machine code");
	TCase *tc = tcase_create("machine code");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_checked_fixture(tc, NULL, close_file);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, library);
	tcase_add_test(tc, plt);
	tcase_add_test(tc, object);
	tcase_add_test(tc, others);
	tcase_add_loop_test(tc, hostile, 0, 2);
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);

	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);

	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

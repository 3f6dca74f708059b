/* SPDX-License-Identifier: Apache-2.0 */
/* objects kept for another link: what is renamed, what is left out, what cannot be used */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ar/ar.h"
#include "assert_error.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "harness.h"
#include "io/mapping.h"
#include "io/output.h"
#include "toolchain/toolchain.h"

static char folder[] = "/tmp/check_keep_XXXXXX";
static struct mpk_arena arena;

static const char *path_of(const char *name)
{
	const char *path = mpk_arena_printf(&arena, "%s/%s", folder, name);

	ck_assert_ptr_nonnull(path);
	return path;
}

static const char *compile(const char *name, const char *flags, const char *text)
{
	const char *source = path_of("source.c"), *object = path_of(name);
	const char *command = mpk_arena_printf(&arena, "gcc -c -fPIC %s -o %s %s 2>%s", flags,
					       object, source, path_of("said"));
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_output_store(source, mpk_span_str(text), &err), err);
	ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) */
	return object;
}

/* How many files there are afterwards. */
static size_t keep(const char *const *objects, size_t count)
{
	struct mpk_compile_source sources[4] = { 0 };
	const struct mpk_toolchain tools = { 0 };
	struct mpk_compilation c = { .tools = &tools,
				     .arena = &arena,
				     .sources = sources,
				     .source_count = count,
				     .objects = objects };
	const char *kept = path_of("kept");
	struct mpk_error err = { 0 };
	size_t found = 0;
	struct stat st;

	ck_assert_int_eq(mkdir(kept, 0700), 0);
	ck_assert_ok(mpk_objects_keep(&c, kept, &err), err);
	for (size_t i = 0; i < 4; i++)
		found += stat(mpk_arena_printf(&arena, "%s/%zu.o", kept, i), &st) == 0 ||
			 stat(mpk_arena_printf(&arena, "%s/%zu.a", kept, i), &st) == 0;
	return found;
}

static bool has_symbol(struct mpk_span object, const char *name)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol s;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_elf_open(object, 0, &elf, &err), err);
	ck_assert_ok(mpk_symtab_static(&elf, &table, &err), err);
	for (size_t i = 1; i < table.count; i++) {
		ck_assert_ok(mpk_symtab_get(&table, i, &s, &err), err);
		if (strcmp(s.name, name) == 0)
			return true;
	}
	return false;
}

static const char code[] =
	"void *__tvm_ffi__library_ctx;\n"
	"int TVMFFIErrorSetRaisedFromCStr(const char *, const char *);\n"
	"int __tvm_ffi_add(void) { return TVMFFIErrorSetRaisedFromCStr(\"a\", \"b\"); }\n"
	"int __tvm_ffi_main(void) { return __tvm_ffi_add(); }\n";

static const char blob[] = "const unsigned char __tvm_ffi__library_bin[64] = { 56 };\n";

START_TEST(functions_are_renamed)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	const char *objects[] = { compile("blob.o", "", blob), compile("code.o", "", code) };
	struct mpk_error err = { 0 };

	/* the blob alone is somebody else's */
	ck_assert_uint_eq(keep(objects, 2), 1);
	ck_assert_ok(mpk_mapping_open(path_of("kept/0.o"), &map, &err), err);
	ck_assert(has_symbol(map.bytes, "__tvm_mpk_add"));
	ck_assert(has_symbol(map.bytes, "__tvm_mpk_main"));
	ck_assert(has_symbol(map.bytes, "__tvm_mpk__library_ctx"));
	ck_assert(has_symbol(map.bytes, "TVMFFIErrorSetRaisedFromCStr"));
	ck_assert(!has_symbol(map.bytes, "__tvm_ffi_add"));
}
END_TEST

/* Its index leads to the members by the same names. */
START_TEST(archives_are_renamed)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	const char *object = compile("code.o", "", code), *archive = path_of("code.a");
	struct mpk_error err = { 0 };
	bool found = false;
	struct mpk_ar ar;

	ck_assert_int_eq(system(mpk_arena_printf(&arena, "ar rcs %s %s", archive, object)),
			 0); /* NOLINT */
	ck_assert_uint_eq(keep(&archive, 1), 1);
	ck_assert_ok(mpk_mapping_open(path_of("kept/0.a"), &map, &err), err);
	ck_assert_ok(mpk_ar_read(map.bytes, &arena, &ar, &err), err);
	ck_assert_uint_eq(ar.member_count, 1);
	ck_assert(has_symbol(ar.members[0].data, "__tvm_mpk_main"));
	for (size_t i = 0; i < ar.symbol_count; i++) {
		ck_assert(!mpk_span_starts(ar.symbols[i].name, "__tvm_ffi_"));
		found |= mpk_span_is(ar.symbols[i].name, "__tvm_mpk_main");
	}
	ck_assert(found);
}
END_TEST

static const struct {
	const char *flags, *text;
} unusable[] = {
	/* assemblers let a name end where another does */
	{ "", "int __tvm_ffi_add(void) { return 1; }\nint ffi_add(void) { return 2; }\n" },
	{ "-flto -ffat-lto-objects", code },
	{ "", "const unsigned char __tvm_ffi__library_bin[64] = { 56 };\n"
	      "int __tvm_ffi_add(void) { return 1; }\n" },
};

START_TEST(what_cannot_be_used_is_not_there)
{
	const char *objects[] = { compile("code.o", "", code),
				  compile("other.o", unusable[_i].flags, unusable[_i].text) };

	ck_assert_uint_eq(keep(objects, 2), 0);
}
END_TEST

START_TEST(files_that_are_no_objects)
{
	const char *objects[] = { path_of("gone.o") };
	const struct mpk_toolchain tools = { 0 };
	struct mpk_compile_source source = { 0 };
	struct mpk_compilation c = { .tools = &tools,
				     .arena = &arena,
				     .sources = &source,
				     .source_count = 1,
				     .objects = objects };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_objects_keep(&c, folder, &err), MPK_E_IO);
	ck_assert_ok(mpk_output_store(objects[0], mpk_span_str("no object"), &err), err);
	ck_assert_int_eq(mpk_objects_keep(&c, folder, &err), MPK_E_CORRUPT);
}
END_TEST

static void make_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void drop_folder(void)
{
	folder_remove(folder);
	mpk_arena_fini(&arena);
}

int main(void)
{
	Suite *s = suite_create("keep");
	TCase *tc = tcase_create("keep");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, make_folder, drop_folder);
	tcase_add_test(tc, functions_are_renamed);
	tcase_add_test(tc, archives_are_renamed);
	tcase_add_loop_test(tc, what_cannot_be_used_is_not_there, 0, MPK_ARRAY_COUNT(unusable));
	tcase_add_test(tc, files_that_are_no_objects);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

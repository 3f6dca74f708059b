/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries read as a dynamic linker would find them: what they define, want and register, where they are
 * found, and what damage to them comes to. */
#include <stdlib.h>
#include <unistd.h>

#include "compat/dso.h"
#include "elf/symbols.h"
#include "robust.h"

#define LIBRARY "tests/data/ffi/ffi_cpp.so"

static struct mpk_arena arena;

static void finish(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_elf open_elf(const char *path)
{
	struct mpk_elf elf = { 0 };

	ck_assert_int_eq(mpk_elf_open(robust_load(&arena, path), 0, &elf, NULL), MPK_OK);
	return elf;
}

/* --- versions --------------------------------------------------------------------------- */

START_TEST(versions)
{
	struct mpk_elf elf = open_elf(LIBRARY);
	const struct mpk_version_need *needs;
	const struct mpk_undefined *undefined;
	bool throws = false, api = false;
	size_t count, glibc = 0;

	ck_assert_int_eq(mpk_versions_needed(&elf, &arena, &needs, &count, NULL), MPK_OK);
	for (size_t i = 0; i < count; i++)
		glibc += strcmp(needs[i].file, "libc.so.6") == 0;
	ck_assert_uint_ge(glibc, 1);
	ck_assert_uint_gt(count, glibc);
	ck_assert_int_eq(mpk_versions_undefined(&elf, &arena, &undefined, &count, NULL), MPK_OK);
	for (size_t i = 0; i < count; i++) {
		ck_assert(undefined[i].any_version);
		if (strcmp(undefined[i].name, "__cxa_throw") == 0)
			throws = undefined[i].has_version;
		if (strcmp(undefined[i].name, "TVMFFIErrorSetRaised") == 0)
			api = !undefined[i].has_version;
	}
	ck_assert(throws && api);
	mpk_elf_close(&elf);
}
END_TEST

/* A library that defines no versions, and one without a dynamic section. */
START_TEST(no_versions)
{
	struct mpk_elf elf = open_elf("tests/data/formats/14_llvm_noblob.so");
	const struct mpk_version_need *needs;
	const char *const *defined;
	size_t count;

	ck_assert_int_eq(mpk_versions_needed(&elf, &arena, &needs, &count, NULL), MPK_OK);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(mpk_versions_defined(&elf, &arena, &defined, &count, NULL), MPK_OK);
	ck_assert_uint_eq(count, 0);
	mpk_elf_close(&elf);
}
END_TEST

static enum mpk_code try_versions(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_arena a = { 0 };
	const struct mpk_version_need *needs;
	const struct mpk_undefined *undefined;
	const char *const *defined;
	enum mpk_code code = mpk_elf_open(bytes, 0, &elf, err);
	size_t count;

	if (code == MPK_OK)
		code = mpk_versions_needed(&elf, &a, &needs, &count, err);
	if (code == MPK_OK)
		code = mpk_versions_defined(&elf, &a, &defined, &count, err);
	if (code == MPK_OK)
		code = mpk_versions_undefined(&elf, &a, &undefined, &count, err);
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	robust_check(LIBRARY, try_versions, 20000);
}
END_TEST

/* --- libraries -------------------------------------------------------------------------- */

START_TEST(reads)
{
	struct mpk_dso dso;

	ck_assert_int_eq(mpk_dso_read(LIBRARY, &arena, &dso, NULL), MPK_OK);
	ck_assert(mpk_dso_defines(&dso, "__tvm_ffi_shout"));
	ck_assert(!mpk_dso_defines(&dso, "TVMFFIErrorSetRaised")); /* undefined there */
	ck_assert(!mpk_dso_defines(&dso, "nobody"));
	ck_assert_uint_ge(dso.needed_count, 3);
	ck_assert_int_eq(mpk_dso_read_loaders(&dso, &arena, NULL), MPK_OK);
	ck_assert_uint_eq(dso.loader_count, 0);
	mpk_dso_close(&dso);
}
END_TEST

START_TEST(refuses)
{
	struct mpk_error err = { 0 };
	struct mpk_dso dso;

	ck_assert_int_eq(mpk_dso_read("tests/data/none.so", &arena, &dso, &err), MPK_E_IO);
	ck_assert_int_eq(mpk_dso_read("tests/data/README.md", &arena, &dso, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.at.file, "tests/data/README.md");
	ck_assert_int_eq(mpk_dso_read("tests/data/device/two.sm_90.cubin", &arena, &dso, &err),
			 MPK_E_UNSUPPORTED);
}
END_TEST

/* Names stand alone in constants; what quotes one, or is cut, registers nothing. */
static const struct {
	const char *text;
	size_t bytes;
	const char *kind; /* NULL: none */
} names[] = {
	{ "\0ffi.Module.load_from_bytes.cuda", 33, "cuda" },
	{ "\1runtime.module.loadbinary_cuda", 32, "cuda" },
	{ "\1module.loadbinary_relax.Executable", 36, "relax.Executable" },
	{ "no ffi.Module.load_from_bytes.cuda", 35, NULL },
	{ "xffi.Module.load_from_bytes.cuda", 33, NULL },
	{ "\0ffi.Module.load_from_bytes.cuda and", 37, NULL },
	{ "\0ffi.Module.load_from_bytes.", 29, NULL },
	{ "\0(ffi.Module.load_from_bytes.cuda)", 35, NULL },
};

static void write_bytes(const char *path, struct mpk_span s)
{
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(s.data, 1, s.len, f), s.len);
	ck_assert_int_eq(fclose(f), 0);
}

/* A library in whose constants these bytes stand: in place of code, which nobody runs. */
static void write_with(const char *path, struct mpk_span text)
{
	struct mpk_span library = robust_load(&arena, LIBRARY);
	struct mpk_elf elf = { 0 };
	uint8_t *copy = (uint8_t *)mpk_arena_copy(&arena, library.data, library.len);
	GElf_Phdr p;

	ck_assert_ptr_nonnull(copy);
	ck_assert_int_eq(mpk_elf_open(library, 0, &elf, NULL), MPK_OK);
	for (size_t i = 0; mpk_elf_segment(&elf, i, &p); i++)
		if (p.p_type == PT_LOAD && (p.p_flags & PF_X))
			memcpy(copy + p.p_offset + 256, text.data, text.len);
	mpk_elf_close(&elf);
	write_bytes(path, mpk_span_of(copy, library.len));
}

START_TEST(loaders)
{
	char path[] = "/tmp/mpk-dso-XXXXXX";
	int fd = mkstemp(path);
	struct mpk_dso dso;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	write_with(path, mpk_span_of(names[_i].text, names[_i].bytes));
	ck_assert_int_eq(mpk_dso_read(path, &arena, &dso, NULL), MPK_OK);
	ck_assert_int_eq(mpk_dso_read_loaders(&dso, &arena, NULL), MPK_OK);
	ck_assert_uint_eq(dso.loader_count, names[_i].kind != NULL);
	ck_assert(!names[_i].kind || mpk_span_is(dso.loaders[0], names[_i].kind));
	mpk_dso_close(&dso);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* --- searching -------------------------------------------------------------------------- */

static GElf_Ehdr machine_of(uint16_t machine)
{
	GElf_Ehdr like = { .e_machine = machine };

	like.e_ident[EI_CLASS] = ELFCLASS64;
	like.e_ident[EI_DATA] = ELFDATA2LSB;
	return like;
}

/* The path at which a library is found; NULL: it is not. */
static const char *found(const struct mpk_search *search, const char *name, const GElf_Ehdr *like)
{
	struct mpk_scope scope = { .arena = &arena, .search = search, .like = like };
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;
	const struct mpk_dso *dso;
	const char *path;

	ck_assert_int_eq(mpk_scope_need(&scope, name, &state, &gap, NULL), MPK_OK);
	dso = mpk_scope_dso(&scope, name);
	path = dso ? mpk_arena_printf(&arena, "%s", dso->path) : NULL;
	mpk_scope_fini(&scope);
	return path;
}

START_TEST(searches)
{
	static const char *const dirs[] = { "tests/data/none", "tests/data/legacy",
					    "tests/data/ffi" };
	const struct mpk_search search = { .dirs = dirs, .dir_count = 3 }, nowhere = { 0 };
	const GElf_Ehdr x86 = machine_of(EM_X86_64), arm = machine_of(EM_AARCH64);

	ck_assert_str_eq(found(&search, "ffi_cpp.so", &x86), LIBRARY);
	ck_assert_ptr_null(found(&search, "ffi_cpp.so", &arm)); /* it is for another machine */
	ck_assert_ptr_null(found(&search, "none.so", &x86));
	ck_assert_str_eq(found(&nowhere, LIBRARY, &x86),
			 LIBRARY); /* a name with a slash is a path */
}
END_TEST

/* ffi_cpp.so needs libtvm_ffi.so, libstdc++.so.6, libgcc_s.so.1 and libc.so.6. */
START_TEST(needs_of_needs)
{
	static const char *const dirs[] = { "tests/data/ffi" };
	static const char *const assumed[] = { "libtvm_ffi.so", "libgcc_s.so.1", "libc.so.6" };
	const struct mpk_search search = { .dirs = dirs, .dir_count = 1 };
	const GElf_Ehdr x86 = machine_of(EM_X86_64);
	struct mpk_scope scope = { .arena = &arena,
				   .search = &search,
				   .like = &x86,
				   .assumed = assumed,
				   .assumed_count = 3 };
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	ck_assert_int_eq(mpk_scope_need(&scope, "libc.so.6", &state, &gap, NULL), MPK_OK);
	ck_assert_int_eq(state, MPK_SCOPE_ASSUMED);
	ck_assert_int_eq(mpk_scope_need(&scope, "ffi_cpp.so", &state, &gap, NULL), MPK_OK);
	ck_assert_int_eq(state, MPK_SCOPE_MISSING);
	ck_assert_str_eq(gap.name, "libstdc++.so.6");
	ck_assert_str_eq(gap.by->path, LIBRARY);
	ck_assert(scope.guessed);
	ck_assert(mpk_dso_defines(scope.first, "__tvm_ffi_shout"));
	ck_assert(mpk_scope_dso(&scope, "ffi_cpp.so") == scope.first);
	ck_assert_int_eq(mpk_scope_need(&scope, "ffi_cpp.so", &state, &gap, NULL), MPK_OK);
	ck_assert_int_eq(state, MPK_SCOPE_FOUND); /* it is there already */
	ck_assert_int_eq(mpk_scope_need(&scope, "none.so", &state, &gap, NULL), MPK_OK);
	ck_assert_int_eq(state, MPK_SCOPE_MISSING);
	ck_assert_ptr_null(gap.by);
	mpk_scope_fini(&scope);
}
END_TEST

/* What is bound: its own symbols, those of what it needs, and weak ones; libtvm_ffi.so is not there. */
START_TEST(binds)
{
	static const char *const assumed[] = { "libtvm_ffi.so" };
	const struct mpk_search search = { .system = true };
	const GElf_Ehdr x86 = machine_of(EM_X86_64);
	struct mpk_scope scope = { .arena = &arena,
				   .search = &search,
				   .like = &x86,
				   .assumed = assumed,
				   .assumed_count = 1 };
	const struct mpk_unversioned *unversioned;
	const struct mpk_unbound *list;
	struct mpk_dso file;
	size_t count, ffi = 0;

	ck_assert_int_eq(mpk_dso_of(robust_load(&arena, LIBRARY), 0, LIBRARY, &arena, &file, NULL),
			 MPK_OK);
	ck_assert_int_eq(mpk_scope_load(&scope, &file, NULL), MPK_OK);
	if (mpk_scope_dso(&scope, "libstdc++.so.6")) {
		ck_assert_uint_eq(scope.missing_count, 0);
		ck_assert_int_eq(mpk_scope_bind(&scope, &list, &count, NULL), MPK_OK);
		for (size_t i = 0; i < count; i++)
			ffi += strncmp(list[i].name, "TVMFFI", 6) == 0 && list[i].by == &file;
		ck_assert_uint_ge(ffi, 1);
		ck_assert_uint_eq(count, ffi);
		ck_assert_int_eq(mpk_scope_versions(&scope, &unversioned, &count, NULL), MPK_OK);
		ck_assert_uint_eq(count, 0);
	} else {
		ck_assert_uint_ge(scope.missing_count, 1);
	}
	mpk_scope_fini(&scope);
	mpk_dso_close(&file);
}
END_TEST

/* By the rules of versions: GLIBC_2.2.5 and GLIBC_2.34 of one name are two definitions. */
START_TEST(binds_versions)
{
	const struct mpk_version old = { .name = "CXXABI_1.3" }, none = { .name = "CXXABI_0.1" };
	const struct mpk_search search = { .system = true };
	const GElf_Ehdr x86 = machine_of(EM_X86_64);
	struct mpk_dso dso;
	const char *path = found(&search, "libstdc++.so.6", &x86);

	if (!path)
		return;
	ck_assert_int_eq(mpk_dso_read(path, &arena, &dso, NULL), MPK_OK);
	ck_assert(mpk_dso_binds(&dso, "__cxa_throw", &old));
	ck_assert(mpk_dso_binds(&dso, "__cxa_throw", NULL));
	ck_assert(!mpk_dso_binds(&dso, "__cxa_throw", &none));
	ck_assert(!mpk_dso_binds(&dso, "nobody", NULL));
	mpk_dso_close(&dso);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dso");
	TCase *tc = tcase_create("dso");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, finish);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, versions);
	tcase_add_test(tc, no_versions);
	tcase_add_test(tc, hostile);
	tcase_add_test(tc, reads);
	tcase_add_test(tc, refuses);
	tcase_add_loop_test(tc, loaders, 0, (int)MPK_ARRAY_COUNT(names));
	tcase_add_test(tc, searches);
	tcase_add_test(tc, needs_of_needs);
	tcase_add_test(tc, binds);
	tcase_add_test(tc, binds_versions);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

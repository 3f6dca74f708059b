/* SPDX-License-Identifier: Apache-2.0 */
/* What failed jobs say (toolchain/toolchain.h), scratch directories, C source and targets. */
#include "emit_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "elf/target.h"
#include "emit/internal/emit.h"
#include "toolchain/toolchain.h"

/* --- jobs ------------------------------------------------------------------------ */

static enum mpk_code say_no(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	return mpk_fail(err, MPK_E_SYNTAX, "no %s", (const char *)data);
}

static enum mpk_code crash(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)data;
	(void)err;
	abort();
}

static enum mpk_code quit(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)data;
	(void)err;
	_exit(0);
}

START_TEST(jobs_fail)
{
	static const char *const no[] = { "sh", "-c", "exit 3", NULL };
	static const char *const missing[] = { "no-such-compiler", NULL };
	static const char *const killed[] = { "sh", "-c", "kill -9 $$", NULL };
	static char reason[] = "reason";
	static const struct {
		struct mpk_process process;
		enum mpk_code code;
		const char *says;
	} rows[] = {
		{ { .argv = no }, MPK_E_TOOL, "linking: sh failed with status 3" },
		{ { .argv = missing }, MPK_E_TOOL, "cannot start 'no-such-compiler'" },
		{ { .argv = killed }, MPK_E_TOOL, "ended by signal 9" },
		{ { .run = say_no, .data = reason }, MPK_E_SYNTAX, "no reason" },
		{ { .run = crash }, MPK_E_TOOL, "linking: LLVM was ended by signal 6" },
		{ { .run = quit }, MPK_E_TOOL, "linking: LLVM failed with status 0" },
	};
	static const char *const later[] = { "touch", "later", NULL };
	struct mpk_job jobs[] = { { rows[_i].process, "linking" }, { { .argv = later }, "later" } };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_jobs_run(jobs, 2, 1, &err), rows[_i].code);
	ck_assert_msg(strstr(err.text, rows[_i].says) != NULL, "%s", err.text);
	ck_assert_int_ne(access("later", F_OK), 0);
}
END_TEST

START_TEST(first_failure_counts)
{
	static char quick[] = "quick";
	static const char *const wait[] = { "sh", "-c", "sleep 0.2; exit 1", NULL };
	struct mpk_job jobs[] = { { { .argv = wait }, "slow" },
				  { { .run = say_no, .data = quick }, quick } };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_jobs_run(jobs, 2, 2, &err), MPK_E_TOOL);
	ck_assert_ptr_nonnull(strstr(err.text, "slow"));
}
END_TEST

/* --- scratch directories --------------------------------------------------------- */

START_TEST(scratch_goes)
{
	struct mpk_scratch s = { 0 };

	ck_assert_int_eq(mpk_scratch_open("tmp", NULL, &s, NULL), MPK_OK);
	write_file(mpk_scratch_file(&s, &arena, "a.o"), "x");
	ck_assert_uint_eq(entries("tmp"), 1);
	mpk_scratch_close(&s);
	mpk_scratch_close(&s);
	ck_assert_uint_eq(entries("tmp"), 0);
}
END_TEST

START_TEST(scratch_goes_after_a_kill)
{
	pid_t child = fork();

	if (child == 0) {
		struct mpk_scratch s = { 0 };

		if (mpk_scratch_open("tmp", NULL, &s, NULL) == MPK_OK)
			write_file(mpk_scratch_file(&s, &arena, "a.o"), "x");
		(void)raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	while (entries("tmp"))
		(void)usleep(1000); /* until the test's own time is up */
}
END_TEST

START_TEST(scratch_is_kept)
{
	struct mpk_scratch s = { 0 };

	ck_assert_int_eq(mpk_scratch_open("tmp", "kept", &s, NULL), MPK_OK);
	write_file(mpk_scratch_file(&s, &arena, "a.o"), "x");
	mpk_scratch_close(&s);
	ck_assert_int_eq(access("kept/a.o", F_OK), 0);
	write_file("file", "");
	ck_assert_int_eq(mpk_scratch_open("tmp", "file", &s, NULL), MPK_E_IO);
	ck_assert_int_eq(mpk_scratch_open("no/such", NULL, &s, NULL), MPK_E_IO);
}
END_TEST

/* --- targets --------------------------------------------------------------------- */

START_TEST(targets)
{
	static const struct {
		const char *triple;
		enum mpk_object_format format;
		uint16_t machine;
		bool large;
	} rows[] = {
		{ "x86_64-linux-gnu", MPK_OBJECT_ELF, 62, true },
		{ "x86_64-pc-windows-msvc", MPK_OBJECT_COFF, 62, false },
		{ "arm64-apple-macos14", MPK_OBJECT_MACHO, 183, false },
		{ "aarch64_be-linux-gnu", MPK_OBJECT_ELF, 183, false },
		{ "s390x-linux-gnu", MPK_OBJECT_ELF, 22, false },
		{ "wasm32-unknown-unknown", MPK_OBJECT_WASM, 0, false },
		{ "pdp11-dec-bsd", MPK_OBJECT_ELF, 0, false },
	};
	struct mpk_target t = mpk_target_parse(rows[_i].triple);

	ck_assert_int_eq(t.format, rows[_i].format);
	ck_assert_uint_eq(t.machine, rows[_i].machine);
	ck_assert_int_eq(t.has_large, rows[_i].large);
	ck_assert(mpk_target_parse(NULL).is_native);
}
END_TEST

/* --- C source -------------------------------------------------------------------- */

static const size_t c_sizes[] = { 9, 256, 16384, 16385, 70001 };
static const char *const compilers[] = { "gcc -std=c99 -pedantic", "gcc -x c++", "clang-19" };

START_TEST(c_source_compiles)
{
	size_t len = c_sizes[(size_t)_i % MPK_ARRAY_COUNT(c_sizes)];
	const char *cc = compilers[(size_t)_i / MPK_ARRAY_COUNT(c_sizes)];
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(len, &bytes);
	struct mpk_csource c = { .symbol = "blob", .bytes = &rope };

	if (strncmp(cc, "clang", 5) == 0 && system("command -v clang-19 > /dev/null") != 0)
		return; /* that half of the table is for machines that have it */
	ck_assert_int_eq(mpk_csource_store(&c, "x.c", NULL), MPK_OK);
	run("%s -Wall -Wextra -Werror -Wno-overlength-strings -c x.c -o x.o", cc);
	run("nm x.o | grep -q ' R blob$'");
	run("objcopy -O binary --only-section=.rodata x.o x.bin");
	struct mpk_span got = read_file("x.bin");
	ck_assert_uint_ge(got.len, len);
	ck_assert_mem_eq(got.data, bytes.data, len);
}
END_TEST

START_TEST(source_kinds)
{
	static const struct {
		const char *path;
		enum mpk_code code;
		const char *says;
	} rows[] = {
		{ "a/b.ll", MPK_OK, "" },
		{ "b.bc", MPK_OK, "" },
		{ "b.c", MPK_OK, "" },
		{ "b.o", MPK_OK, "" },
		{ "b.a", MPK_OK, "" },
		{ "libm.so", MPK_E_UNSUPPORTED, "shared library" },
		{ "libm.so.6", MPK_E_UNSUPPORTED, "shared library" },
		{ "x.cpp", MPK_OK, "" },
		{ "x.cu", MPK_E_UNSUPPORTED, "only C and C++" },
		{ "a.b/x", MPK_E_UNSUPPORTED, "'x' is not" },
	};
	enum mpk_source_kind kind;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_source_classify(rows[_i].path, &kind, &err), rows[_i].code);
	ck_assert_ptr_nonnull(strstr(err.text, rows[_i].says));
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("emit_parts");
	TCase *parts = tcase_create("parts");

	tcase_add_checked_fixture(parts, setup, workdir_leave);
	tcase_set_timeout(parts, 30);
	tcase_add_loop_test(parts, jobs_fail, 0, 6);
	tcase_add_test(parts, first_failure_counts);
	tcase_add_test(parts, scratch_goes);
	tcase_add_test(parts, scratch_goes_after_a_kill);
	tcase_add_test(parts, scratch_is_kept);
	tcase_add_loop_test(parts, targets, 0, 7);
	tcase_add_loop_test(parts, c_source_compiles, 0,
			    MPK_ARRAY_COUNT(c_sizes) * MPK_ARRAY_COUNT(compilers));
	tcase_add_loop_test(parts, source_kinds, 0, 10);
	suite_add_tcase(suite, parts);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

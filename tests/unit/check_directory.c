/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that appear whole or not at all (io/output.h) */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/output.h"

static char dir[64];
static struct mpk_arena arena;
static struct mpk_rope content;

static void setup(void)
{
	(void)snprintf(dir, sizeof dir, "/tmp/check_directory.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	content = (struct mpk_rope){ .arena = &arena };
	mpk_rope_put_bytes(&content, mpk_span_str("hello"));
}

static void teardown(void)
{
	char command[128];

	mpk_arena_fini(&arena);
	(void)snprintf(command, sizeof command, "rm -rf %s", dir);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

/* how many entries the working directory has, hidden ones included */
static void expect_listing(const char *expected)
{
	char command[256];

	(void)snprintf(command, sizeof command,
		       "test \"$(find . -mindepth 1 | LC_ALL=C sort | "
		       "tr '\\n' ' ')\" = '%s'",
		       expected);
	ck_assert_msg(system(command) == 0, "%s", expected);
}

START_TEST(appears_at_commit)
{
	struct mpk_directory d = { 0 };
	struct stat st;
	mode_t mask = umask(022);

	ck_assert_int_eq(mpk_directory_open("out/", &d, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, "a/b/c.txt", &content, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, "a/b/d.txt", &content, NULL), MPK_OK);
	ck_assert_int_ne(access("out", F_OK), 0);
	ck_assert_int_eq(mpk_directory_commit(&d, NULL), MPK_OK);
	expect_listing("./out ./out/a ./out/a/b ./out/a/b/c.txt ./out/a/b/d.txt ");
	ck_assert_int_eq(stat("out", &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0755);
	(void)umask(mask);
}
END_TEST

START_TEST(abandoned_leaves_nothing)
{
	struct mpk_directory d = { 0 };

	ck_assert_int_eq(mpk_directory_open("out", &d, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, "a/b", &content, NULL), MPK_OK);
	mpk_directory_abandon(&d);
	mpk_directory_abandon(&d);
	expect_listing("");
}
END_TEST

START_TEST(empty_target_is_taken)
{
	struct mpk_directory d = { 0 };

	ck_assert_int_eq(mkdir("out", 0700), 0);
	ck_assert_int_eq(mpk_directory_open("out", &d, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, "f", &content, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_commit(&d, NULL), MPK_OK);
	expect_listing("./out ./out/f ");
}
END_TEST

START_TEST(used_target_is_refused)
{
	struct mpk_directory d = { 0 };
	struct mpk_error err;

	ck_assert_int_eq(mkdir("out", 0700), 0);
	ck_assert_int_ge(close(open("out/mine", O_CREAT | O_WRONLY, 0600)), 0);
	ck_assert_int_eq(mpk_directory_open("out", &d, &err), MPK_E_IO);
	ck_assert_str_eq(err.at.file, "out");
	ck_assert_int_eq(mpk_directory_open("out/mine", &d, &err), MPK_E_IO);
	ck_assert_int_eq(mpk_directory_open("no/such", &d, &err), MPK_E_IO);
	expect_listing("./out ./out/mine ");
}
END_TEST

/* Something came into the way while the files were written. */
START_TEST(late_conflict_leaves_nothing)
{
	struct mpk_directory d = { 0 };
	struct mpk_error err;

	ck_assert_int_eq(mpk_directory_open("out", &d, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, "f", &content, NULL), MPK_OK);
	ck_assert_int_eq(mkdir("out", 0700), 0);
	ck_assert_int_ge(close(open("out/mine", O_CREAT | O_WRONLY, 0600)), 0);
	ck_assert_int_eq(mpk_directory_commit(&d, &err), MPK_E_IO);
	expect_listing("./out ./out/mine ");
}
END_TEST

static const char *const outside[] = { "",    "/etc/x", "..", "../x", "a/../../x", "a//b",
				       "a/.", "./a",    "a/", "a/..", "." };

START_TEST(names_stay_inside)
{
	struct mpk_directory d = { 0 };

	ck_assert_int_eq(mpk_directory_open("out", &d, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, outside[_i], &content, NULL), MPK_E_RANGE);
	mpk_directory_abandon(&d);
	expect_listing("");
}
END_TEST

/* The user knows nothing of the directory that the files are written below at first. */
START_TEST(errors_tell_the_target)
{
	struct mpk_directory d = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_directory_open("out", &d, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, "f", &content, NULL), MPK_OK);
	ck_assert_int_eq(mpk_directory_write(&d, "f/g", &content, &err), MPK_E_IO);
	ck_assert_str_eq(err.at.file, "out/f/g");
	mpk_directory_abandon(&d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("directory");
	TCase *tc = tcase_create("directory");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, appears_at_commit);
	tcase_add_test(tc, abandoned_leaves_nothing);
	tcase_add_test(tc, empty_target_is_taken);
	tcase_add_test(tc, used_target_is_refused);
	tcase_add_test(tc, late_conflict_leaves_nothing);
	tcase_add_test(tc, errors_tell_the_target);
	tcase_add_loop_test(tc, names_stay_inside, 0, sizeof outside / sizeof *outside);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

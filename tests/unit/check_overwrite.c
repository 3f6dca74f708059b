/* SPDX-License-Identifier: Apache-2.0 */
/* Which files an output may take the place of (io/output.h). */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "io/mapping.h"
#include "io/output.h"
#include "skip.h"
#include "workdir.h"

static void put(const char *path, const void *bytes, size_t len)
{
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

static enum mpk_code store(const char *path, const char *bytes, size_t len)
{
	struct mpk_error err = { 0 };

	return mpk_output_store(path, mpk_span_of(bytes, len), &err);
}

static const struct {
	const char *bytes;
	size_t len;
	bool may_go;
} files[] = {
	{ "", 0, true },
	{ "#include <stdio.h>\n\tint f(void);\r\n", 34, true },
	{ "\xc3\xa9t\xc3\xa9\n", 6, true },
	{ "\x93NUMPY\1\0v\0", 10, true },
	{ "\177ELF\2\1\1\0", 8, false },
	{ "!<arch>\n", 8, false },
	{ "!<thin>\n", 8, false },
	{ "PK\3\4", 4, false },
	{ "MZ\0", 3, false },
	{ "\xcf\xfa\xed\xfe", 4, false },
	{ "\xca\xfe\xba\xbe", 4, false },
	{ "\x1f\x8b\x08\0", 4, false },
	{ "BZh9\1", 5, false },
	{ "not a text\0", 11, false }, /* whatever is not known */
};

START_TEST(what_is_no_library_makes_way)
{
	put("old", files[_i].bytes, files[_i].len);
	ck_assert_int_eq(store("old", "new", 3), files[_i].may_go ? MPK_OK : MPK_E_USAGE);
	mpk_overwrite_all();
	ck_assert_int_eq(store("old", "new", 3), MPK_OK);
}
END_TEST

START_TEST(a_tar_file_is_known_by_its_header)
{
	char header[512] = "member";

	memset(header + 100, '0', 157);
	memcpy(header + 257, "ustar", 5);
	put("old", header, sizeof header);
	ck_assert_int_eq(store("old", "new", 3), MPK_E_USAGE);
}
END_TEST

static bool keeps_attributes(void)
{
	put("probe", "x", 1);
	return setxattr("probe", "user.mpk.probe", "x", 1, 0) == 0;
}

START_TEST(what_was_written_here_may_be_replaced)
{
	static const char elf[] = "\177ELF\2\1\1";

	if (!keeps_attributes())
		SKIP_TEST("the file system has no extended attributes");
	ck_assert_int_eq(store("mine", elf, sizeof elf), MPK_OK);
	ck_assert_int_eq(store("mine", elf, sizeof elf), MPK_OK);
	ck_assert_int_eq(rename("mine", "moved"), 0);
	ck_assert_int_eq(store("moved", elf, sizeof elf), MPK_OK);
	/* another program's */
	mpk_overwrite_author("other", mpk_span_of(NULL, 0));
	ck_assert_int_eq(store("moved", elf, sizeof elf), MPK_E_USAGE);
	mpk_overwrite_author("mpk", mpk_span_of(NULL, 0));
	ck_assert_int_eq(store("moved", elf, sizeof elf), MPK_OK);
	/* written into since: the attribute stays, and says nothing any more */
	put("moved", "\177ELF, longer than before", 24);
	ck_assert_int_eq(store("moved", elf, sizeof elf), MPK_E_USAGE);
}
END_TEST

START_TEST(a_mark_is_found_at_both_ends)
{
	static char bytes[(3 << 20) + 8] = "\177ELF";
	static const size_t places[] = { 8, (1 << 20) - 4, (2 << 20) + 8, sizeof bytes - 4 };

	mpk_overwrite_author("mpk", mpk_span_str("MARK"));
	put("old", bytes, sizeof bytes);
	ck_assert_int_eq(store("old", "new", 3), MPK_E_USAGE);
	memcpy(bytes + places[_i], "MARK", 4);
	put("old", bytes, sizeof bytes);
	ck_assert_int_eq(store("old", "new", 3), MPK_OK);
	/* in what our files are not it says nothing */
	memcpy(bytes, "PK\3\4", 4);
	put("old", bytes, sizeof bytes);
	ck_assert_int_eq(store("old", "new", 3), MPK_E_USAGE);
}
END_TEST

START_TEST(an_input_stays_one_when_it_is_closed)
{
	struct mpk_mapping m = { .fd = -1 };

	put("in", "text", 4);
	ck_assert_int_eq(link("in", "hard"), 0);
	ck_assert_int_eq(symlink("in", "soft"), 0);
	mpk_mappings_keep();
	ck_assert_int_eq(mpk_mapping_open("in", &m, NULL), MPK_OK);
	mpk_mapping_close(&m);
	mpk_overwrite_all(); /* does not change that */
	ck_assert_int_eq(store("in", "new", 3), MPK_E_USAGE);
	ck_assert_int_eq(store("hard", "new", 3), MPK_E_USAGE);
	ck_assert_int_eq(store("soft", "new", 3), MPK_E_USAGE);
}
END_TEST

START_TEST(an_input_may_be_given_up)
{
	struct mpk_mapping m = { .fd = -1 };

	put("in", "\177ELF\0", 5);
	mpk_mappings_keep();
	ck_assert_int_eq(mpk_mapping_open("in", &m, NULL), MPK_OK);
	ck_assert_int_eq(store("in", "new", 3), MPK_E_USAGE);
	mpk_mapping_may_be_replaced(&m);
	ck_assert_int_eq(store("in", "new", 3), MPK_OK);
	mpk_mapping_close(&m);
}
END_TEST

START_TEST(folders)
{
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_overwrite_check_folder("nowhere", &err), MPK_OK);
	ck_assert_int_eq(mkdir("folder", 0777), 0);
	ck_assert_int_eq(mpk_overwrite_check_folder("folder", &err), MPK_OK);
	put("folder/file", "x", 1);
	ck_assert_int_eq(mpk_overwrite_check_folder("folder", &err), MPK_E_IO);
	ck_assert_str_eq(err.at.file, "folder");
	if (!keeps_attributes())
		SKIP_TEST("the file system has no extended attributes");
	int fd = open("folder", O_RDONLY | O_DIRECTORY);

	mpk_overwrite_claim(fd);
	(void)close(fd);
	ck_assert_int_eq(mpk_overwrite_check_folder("folder", &err), MPK_OK);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("overwrite");
	TCase *tc = tcase_create("overwrite");

	tcase_add_checked_fixture(tc, workdir_enter, workdir_leave);
	tcase_add_loop_test(tc, what_is_no_library_makes_way, 0, MPK_ARRAY_COUNT(files));
	tcase_add_test(tc, a_tar_file_is_known_by_its_header);
	tcase_add_test(tc, what_was_written_here_may_be_replaced);
	tcase_add_loop_test(tc, a_mark_is_found_at_both_ends, 0, 4);
	tcase_add_test(tc, an_input_stays_one_when_it_is_closed);
	tcase_add_test(tc, an_input_may_be_given_up);
	tcase_add_test(tc, folders);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where both programs print (cmd/common/print.h): what a caller forgot to escape does not reach a
 * terminal, whatever the file holds. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "common/print.h"
#include "harness.h"
#include "text/escape.h"

static int saved[2], captured;

static void setup(void)
{
	char name[] = "/tmp/mpk-print-XXXXXX";

	mpk_common.color = MPK_NEVER;
	captured = mkstemp(name);
	ck_assert_int_ge(captured, 0);
	ck_assert_int_eq(unlink(name), 0);
	(void)fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = dup(STDOUT_FILENO + i);
		ck_assert_int_ge(dup2(captured, STDOUT_FILENO + i), 0);
	}
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_int_ge(dup2(saved[i], STDOUT_FILENO + i), 0);
		(void)close(saved[i]);
	}
	(void)close(captured);
}

/* What was printed since the last call. */
static const char *printed(void)
{
	static char text[1 << 16];
	ssize_t n = pread(captured, text, sizeof text - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	ck_assert_int_eq(ftruncate(captured, 0), 0);
	(void)lseek(captured, 0, SEEK_SET);
	return text;
}

static const struct {
	const char *name, *shown;
} names[] = {
	{ "plain \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x8e\x89\n\tindented\r\nnext",
	  "plain \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x8e\x89\n\tindented\r\nnext" },
	{ "already \\x1b escaped \\n", "already \\x1b escaped \\n" },
	{ "\033]0;title\007", "\\x1b]0;title\\x07" },     /* OSC */
	{ "\033[2J\033[31mred", "\\x1b[2J\\x1b[31mred" }, /* CSI */
	{ "\x9b"
	  "2J \xc2\x9b"
	  "2J",
	  "\\x9b2J \\xc2\\x9b2J" }, /* C1, a byte and a character */
	{ "a\xe2\x80\xae"
	  "b\xe2\x81\xa6",
	  "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6" }, /* overrides */
	{ "over\rwritten\b\x7f", "over\\rwritten\\x08\\x7f" },
	{ "\xff\xc3(\xed\xa0\x80", "\\xff\\xc3(\\xed\\xa0\\x80" },
	{ "cut \xe6\xbc", "cut \\xe6\\xbc" },
};

/* This is the line that somebody will write. */
START_TEST(a_raw_name_comes_out_escaped)
{
	for (int stream = 0; stream < 2; stream++) {
		ck_assert_int_eq(mpk_print((enum mpk_stream)stream, "%s", names[_i].name), 0);
		ck_assert_str_eq(printed(), names[_i].shown);
	}
}
END_TEST

START_TEST(our_colours_pass_where_there_are_any)
{
	static const char text[] = "\033[1;31merror\033[0m \033[5mno\033]0;";

	ck_assert_int_eq(mpk_print(MPK_STDOUT, "%s", text), 0);
	ck_assert_str_eq(printed(), "\\x1b[1;31merror\\x1b[0m \\x1b[5mno\\x1b]0;");
	mpk_common.color = MPK_ALWAYS;
	ck_assert_int_eq(mpk_print(MPK_STDOUT, "%s", text), 0);
	ck_assert_str_eq(printed(), "\033[1;31merror\033[0m \\x1b[5mno\\x1b]0;");
}
END_TEST

START_TEST(random_bytes)
{
	char bytes[300];

	srand((unsigned)_i);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(rand() >> 7);
	ck_assert_int_eq(mpk_print_text(MPK_STDERR, bytes, sizeof bytes), 0);
	const char *text = printed();
	struct mpk_span s = mpk_span_str(text);
	char escaped[MPK_ESCAPED_MAX];

	ck_assert_uint_eq(mpk_escape_next(s, escaped), s.len);
	ck_assert_str_eq(escaped, "");
	ck_assert(mpk_utf8_whole(s));
	for (size_t i = 0; i < s.len; i++)
		ck_assert(s.data[i] >= ' ' || strchr("\n\t\r", s.data[i]));
}
END_TEST

START_TEST(long_texts_are_whole)
{
	static char text[20001];

	memset(text, 'x', sizeof text - 1);
	ck_assert_int_eq(mpk_print(MPK_STDOUT, "%s\033", text), 0);
	const char *out = printed();

	ck_assert_uint_eq(strlen(out), sizeof text - 1 + 4);
	ck_assert_str_eq(out + sizeof text - 1, "\\x1b");
}
END_TEST

START_TEST(a_full_disk_is_told)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(full, 0);
	ck_assert_int_ge(dup2(full, STDOUT_FILENO), 0);
	ck_assert_int_eq(mpk_print(MPK_STDOUT, "text"), ENOSPC);
	(void)close(full);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("print");
	TCase *tc = tcase_create("print");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_raw_name_comes_out_escaped, 0, MPK_ARRAY_COUNT(names));
	tcase_add_test(tc, our_colours_pass_where_there_are_any);
	tcase_add_loop_test(tc, random_bytes, 0, 200);
	tcase_add_test(tc, long_texts_are_whole);
	tcase_add_test(tc, a_full_disk_is_told);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

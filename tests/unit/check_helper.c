/* SPDX-License-Identifier: Apache-2.0 */
/* A helper process (process/process.h): questions in order, failures as they are, and an end that is told. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/process.h"

static struct mpk_helper helper;
static struct mpk_strbuf answer;
static int open_file = -1;

static enum mpk_code answer_it(void *data, struct mpk_span q, struct mpk_strbuf *out,
			       struct mpk_error *err)
{
	static unsigned count;

	count++;
	if (mpk_span_is(q, "fail"))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "no \033[31mreason");
	if (mpk_span_is(q, "crash"))
		raise(SIGKILL);
	if (mpk_span_is(q, "file"))
		mpk_strbuf_puts(out, fcntl(open_file, F_GETFD) < 0 ? "closed" : "open");
	else if (mpk_span_is(q, "large"))
		for (size_t i = 0; i < 1 << 20; i++)
			mpk_strbuf_put(out, "0123456789", 10);
	else
		mpk_strbuf_printf(out, "%s%u: ", (const char *)data, count);
	if (q.len < 64)
		mpk_strbuf_put(out, (const char *)q.data, q.len);
	else
		mpk_strbuf_printf(out, "%zu bytes", q.len);
	return MPK_OK;
}

static void setup(void)
{
	open_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(open_file, 0);
	ck_assert_int_eq(mpk_helper_start(answer_it, (char[]){ "answer " }, &helper, NULL), MPK_OK);
}

static void teardown(void)
{
	mpk_helper_stop(&helper);
	mpk_strbuf_fini(&answer);
	(void)close(open_file);
}

static enum mpk_code ask(const char *a, const char *b, struct mpk_error *err)
{
	const struct mpk_span parts[2] = { mpk_span_str(a), mpk_span_str(b) };

	return mpk_helper_ask(&helper, parts, 2, &answer, err);
}

START_TEST(answers)
{
	struct mpk_error err = { 0 };

	ck_assert_int_eq(ask("one ", "two", &err), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&answer), "answer 1: one two");
	/* its memory lasts, the answer is a new one */
	ck_assert_int_eq(ask("", "", &err), MPK_OK);
	ck_assert_uint_eq(answer.len, strlen("answer 2: "));
	ck_assert_int_eq(ask("large", "", &err), MPK_OK);
	ck_assert_uint_eq(answer.len, (10 << 20) + strlen("large"));
	ck_assert_int_eq(ask("fi", "le", &err), MPK_OK);
	ck_assert_uint_eq(answer.len, strlen("closedfile"));
	ck_assert_mem_eq(answer.data, "closed", 6);
}
END_TEST

START_TEST(large_question)
{
	size_t len = 5 << 20;
	char *bytes = calloc(len, 1);
	const struct mpk_span part = mpk_span_of(bytes, len);

	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(mpk_helper_ask(&helper, &part, 1, &answer, NULL), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&answer), "answer 1: 5242880 bytes");
	free(bytes);
}
END_TEST

START_TEST(too_large_question)
{
	const struct mpk_span part = { (const uint8_t *)"", MPK_HELPER_MAX + 1 };

	ck_assert_int_eq(mpk_helper_ask(&helper, &part, 1, &answer, NULL), MPK_E_RANGE);
	ck_assert_int_eq(ask("still there", "", NULL), MPK_OK);
}
END_TEST

/* What it says has been made from hostile bytes. */
START_TEST(failures)
{
	struct mpk_error err = { 0 };

	ck_assert_int_eq(ask("fail", "", &err), MPK_E_UNSUPPORTED);
	ck_assert_ptr_null(strchr(err.text, '\033'));
	ck_assert_ptr_nonnull(strstr(err.text, "31mreason"));
	ck_assert_int_eq(ask("more", "", &err), MPK_OK);
}
END_TEST

/* Neither a signal nor a wait: the question fails, and the next one, too. */
START_TEST(crash)
{
	struct mpk_error err = { 0 };

	ck_assert_int_eq(ask("crash", "", &err), MPK_E_TOOL);
	ck_assert_ptr_nonnull(strstr(err.text, "ended without an answer"));
	ck_assert_int_eq(ask("more", "", &err), MPK_E_TOOL);
	mpk_helper_stop(&helper);
	ck_assert_int_eq(ask("more", "", &err), MPK_E_TOOL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("helper");
	TCase *tc = tcase_create("helper");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, answers);
	tcase_add_test(tc, large_question);
	tcase_add_test(tc, too_large_question);
	tcase_add_test(tc, failures);
	tcase_add_test(tc, crash);
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);

	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);

	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of messages (explain/messages.h). That it has every id is for scripts/check-messages,
 * which reads the sources; here is what is asked of the table while it runs. */
#include <ctype.h>
#include <stdlib.h>

#include "base/error.h"
#include "common/diag.h"
#include "explain/messages.h"
#include "harness.h"

/* Each class of errors exits with the status that its row says. */
START_TEST(statuses_are_those_of_the_programs)
{
	size_t classes = 0;

	for (int code = MPK_E_DIFFERENT; code < MPK_CODE_COUNT; code++) {
		const char *name = mpk_code_name((enum mpk_code)code);
		size_t found = 0;

		for (const struct mpk_message *m = mpk_messages; m->name; m++) {
			if (!m->status || strcmp(m->id, name) != 0)
				continue;
			ck_assert_int_eq(m->status, mpk_exit_status((enum mpk_code)code));
			found++;
		}
		ck_assert_msg(found == 1, "%s has %zu rows", name, found);
		classes++;
	}
	ck_assert_uint_gt(classes, 15);
}
END_TEST

START_TEST(a_word_asks_for_an_id_or_a_status)
{
	size_t by_id = 0, by_status = 0, by_zero = 0;

	for (const struct mpk_message *m = mpk_messages; m->name; m++) {
		by_id += mpk_message_is(m, "kind");
		by_status += mpk_message_is(m, "5");
		by_zero += mpk_message_is(m, "0");
	}
	ck_assert_uint_eq(by_id, 2); /* of a manifest, and of --verify */
	ck_assert_uint_eq(by_status, 1);
	ck_assert_uint_eq(by_zero, 0);
	ck_assert_str_eq(mpk_message_nearest("blob-digets"), "blob-digest");
	ck_assert_ptr_null(mpk_message_nearest("nothing like any"));
}
END_TEST

static size_t asked_by(const char *word)
{
	size_t found = 0;

	for (const struct mpk_message *m = mpk_messages; m->name; m++)
		found += mpk_message_is(m, word);
	return found;
}

/* By any of its names, in a message that has one or the sentence, and by its number where that is no exit status. */
START_TEST(a_driver_error_has_several_names)
{
	static const char *const words[] = {
		"CUDA_ERROR_NO_BINARY_FOR_GPU",
		"cudaErrorNoKernelImageForDevice",
		"hiperrornobinaryforgpu",
		"209",
		"-42",
		"x.so: error: cannot load: CUDA_ERROR_NO_BINARY_FOR_GPU (209): another GPU",
		"RuntimeError: CUDA error: no kernel image is available for execution on the device",
	};

	static const char *const statuses[] = {
		"34",
		"36",
		"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
		"46",
		"709",
		"802",
		"hipErrorStreamDetached",
		"1054",
		"-1001",
		"-1142",
		"CL_INVALID_SEMAPHORE_KHR",
		"0x78000004",
		"2013265924",
		"ZE_RESULT_ERROR_DEVICE_LOST",
		"the provided PTX was compiled with an unsupported toolchain",
		"RuntimeError: CUDA error - The provided PTX was compiled with an unsupported toolchain!",
		"API call is not supported in the installed CUDA driver.",
		"device-side assert triggered,",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		ck_assert_msg(asked_by(words[i]) == 1, "%s", words[i]);
	/* what drivers of today say, each explained once, however it is written */
	for (size_t i = 0; i < MPK_ARRAY_COUNT(statuses); i++)
		ck_assert_msg(asked_by(statuses[i]) == 1, "%s: %zu", statuses[i],
			      asked_by(statuses[i]));
	/* a name that another one begins with */
	ck_assert_uint_eq(asked_by("CL_INVALID_KERNEL"), 1);
	ck_assert_uint_eq(asked_by("CL_INVALID_KERNEL_NAME"), 1);
	ck_assert_uint_eq(asked_by("CL_INVALID"), 0);
	ck_assert_uint_eq(asked_by("-4200"), 0);
	ck_assert_uint_eq(asked_by("2"), 1); /* the exit status */
}
END_TEST

/* No line is wider than 78 columns, none ends in a blank, and no word is lost. */
START_TEST(texts_are_wrapped)
{
	for (const struct mpk_message *m = mpk_messages; m->name; m++) {
		struct mpk_strbuf text = { 0 };
		size_t column = 0, letters = 0, wanted = 0;

		mpk_answer_message.text(m, (struct mpk_style){ 0 }, &text);
		for (const char *p = mpk_strbuf_text(&text); *p; p++) {
			letters += !isspace((unsigned char)*p);
			ck_assert_msg(*p != '\n' || p[-1] != ' ', "%s", m->id);
			column = *p == '\n' ? 0 : column + 1;
			ck_assert_msg(column <= 78, "%s: %zu columns", m->id, column);
		}
		for (const char *p = m->meaning; *p; p++)
			wanted += !isspace((unsigned char)*p);
		for (const char *p = m->cause; *p; p++)
			wanted += !isspace((unsigned char)*p);
		for (const char *p = m->remedy; *p; p++)
			wanted += !isspace((unsigned char)*p);
		ck_assert_uint_gt(letters, wanted);
		ck_assert_uint_eq(column, 0); /* the last line is whole */
		mpk_strbuf_fini(&text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("messages");
	TCase *tc = tcase_create("catalogue");

	tcase_add_test(tc, statuses_are_those_of_the_programs);
	tcase_add_test(tc, a_word_asks_for_an_id_or_a_status);
	tcase_add_test(tc, a_driver_error_has_several_names);
	tcase_add_test(tc, texts_are_wrapped);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

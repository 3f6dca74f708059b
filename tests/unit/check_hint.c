/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of what runs models, and the options of minspect that are added to them: once, whole or cut, and to no
 * other error. That the sentences are those that the code makes is seen where each is brought about. */
#include "assert_error.h"
#include "harness.h"
#include "session/call.h"

static const struct {
	const char *said, *hint;
} rows[] = {
	{ "ValueError: the code asks for device 0 of DLPack type 99",
	  "; minspect runs cpu, opencl, cuda, rocm" },
	{ "ValueError: vm.builtin.alloc_storage: device 3 of 1: the model wants more devices",
	  ", name them with --device A,B" },
	{ "the OpenCL source has no '// Function: NAME' lines, without which TVM does not load it",
	  ": give the source to 'mpack build', or to 'mpack edit --replace', which add them" },
	{ "it needs libtvm_ffi.so, looked for in: a, b; get it with 'pip install apache-tvm-ffi'",
	  " and name it with --tvm-ffi PATH" },
	{ "the device code is of kind 'hip', which none of the devices here runs (cpu)",
	  "; --device cpu calls host code all the same" },
	{ "no function 'f'", "" },
};

START_TEST(options_follow_the_fact)
{
	struct mpk_error err = { 0 };
	char want[256];

	(void)mpk_fail(&err, MPK_E_RAISED, "%s", rows[_i].said);
	(void)snprintf(want, sizeof want, "%s%s", rows[_i].said, rows[_i].hint);
	mpk_hint_add(&err);
	ck_assert_str_eq(err.text, want);
	/* what one call of a batch failed with is said of the next, too */
	mpk_error_prefix(&err, "not called: ");
	mpk_hint_add(&err);
	ck_assert_str_eq(err.text + strlen("not called: "), want);
}
END_TEST

START_TEST(a_long_text_is_cut)
{
	static const char fact[] = ": the model wants more devices";
	struct mpk_error err = { 0 };

	for (size_t room = 0; room < 40; room++) {
		(void)mpk_fail(&err, MPK_E_RAISED, "%*s%s",
			       (int)(sizeof err.text - sizeof fact - room), "", fact);
		ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1 - room);
		mpk_hint_add(&err);
		ck_assert_uint_eq(strlen(err.text),
				  room < strlen(", name them with --device A,B")
					  ? sizeof err.text - 1
					  : sizeof err.text - 1 - room +
						    strlen(", name them with --device A,B"));
	}
}
END_TEST

START_TEST(nothing_to_add_to)
{
	struct mpk_error err = { .text = "the model wants more devices" };
	const struct mpk_signature none = { 0 };

	mpk_hint_add(NULL);
	mpk_hint_add(&err); /* no error */
	ck_assert_str_eq(err.text, "the model wants more devices");
	mpk_hint_add_call(&none, &err);
	ck_assert_str_eq(err.text, "the model wants more devices");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hint");
	TCase *tc = tcase_create("hint");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(tc, options_follow_the_fact, 0, (int)MPK_ARRAY_COUNT(rows));
	tcase_add_test(tc, a_long_text_is_cut);
	tcase_add_test(tc, nothing_to_add_to);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* lib/know/compat: manylinux policies and Python's stable ABI, as their tables have them */
#include <check.h>
#include <elf.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "compat/dso.h"

static const struct {
	const char *policy, *machine, *version;
	enum mpk_policy_answer answer;
	const char *most;
} rows[] = {
	{ "manylinux_2_17", "x86_64", "GLIBC_2.17", MPK_POLICY_ALLOWED, NULL },
	{ "manylinux2014", "x86_64", "GLIBC_2.2.5", MPK_POLICY_ALLOWED, NULL },
	{ "manylinux_2_17", "x86_64", "GLIBC_2.18", MPK_POLICY_DENIED, "GLIBC_2.17" },
	{ "manylinux_2_17", "x86_64", "GLIBC_2.4", MPK_POLICY_ALLOWED,
	  NULL }, /* a number, not a text */
	{ "manylinux_2_28", "x86_64", "GLIBCXX_3.4.24", MPK_POLICY_ALLOWED, NULL },
	{ "manylinux_2_28", "x86_64", "GLIBCXX_3.4.25", MPK_POLICY_DENIED, "GLIBCXX_3.4.24" },
	{ "manylinux_2_28", "x86_64", "CXXABI_TM_1", MPK_POLICY_ALLOWED, NULL },
	{ "manylinux_2_5", "x86_64", "CXXABI_TM_1", MPK_POLICY_DENIED, "CXXABI_1.3.1" },
	{ "manylinux_2_34", "x86_64", "GLIBC_ABI_DT_RELR", MPK_POLICY_DENIED, "GLIBC_2.34" },
	{ "manylinux_2_36", "x86_64", "GLIBC_ABI_DT_RELR", MPK_POLICY_ALLOWED, NULL },
	{ "manylinux_2_34", "aarch64", "GCC_11.0", MPK_POLICY_ALLOWED,
	  NULL }, /* of that machine alone */
	{ "manylinux_2_34", "x86_64", "GCC_11.0", MPK_POLICY_DENIED, "GCC_7.0.0" },
	{ "manylinux_2_17", "x86_64", "GLIBC_PRIVATE", MPK_POLICY_DENIED, "GLIBC_2.17" },
	{ "manylinux_2_17", "x86_64", "GLIBC_2.3.4.5.6", MPK_POLICY_DENIED, "GLIBC_2.17" },
	{ "manylinux_2_17", "x86_64", "OWN_1.0", MPK_POLICY_FREE, NULL },
	{ "manylinux_2_17", "x86_64", "GLIBC", MPK_POLICY_FREE, NULL },
	{ "manylinux_2_5", "aarch64", "GLIBC_2.99", MPK_POLICY_ELSEWHERE,
	  NULL }, /* not for that machine */
};

START_TEST(versions_of_policies)
{
	const struct mpk_policy *p = mpk_policy_find(rows[_i].policy);
	char most[40] = "";

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(mpk_policy_allows(p, rows[_i].machine, rows[_i].version, most),
			 rows[_i].answer);
	if (rows[_i].most)
		ck_assert_str_eq(most, rows[_i].most);
}
END_TEST

START_TEST(names_of_policies)
{
	size_t count = 0;
	char most[40];

	ck_assert_ptr_null(mpk_policy_find("manylinux_2_99"));
	ck_assert_ptr_null(mpk_policy_find(""));
	ck_assert_str_eq(mpk_policy_find("manylinux1")->name, "manylinux_2_5");
	for (const struct mpk_policy *p = mpk_policies; p->name || p->machines; p++)
		count += p->name != NULL;
	ck_assert_uint_ge(count, 16);
	ck_assert_str_eq(mpk_policies[0].name, "manylinux_2_5");
	ck_assert_str_eq(mpk_policy_machine(EM_PPC64, true), "ppc64le");
	ck_assert_str_eq(mpk_policy_machine(EM_PPC64, false), "ppc64");
	ck_assert_ptr_null(mpk_policy_machine(EM_68K, false));
	ck_assert_int_eq(mpk_policy_allows(mpk_policy_find("manylinux_2_5"), "aarch64", "", most),
			 MPK_POLICY_ELSEWHERE);
	ck_assert_int_eq(mpk_policy_allows(mpk_policy_find("manylinux_2_5"), "x86_64", "", most),
			 MPK_POLICY_FREE);
}
END_TEST

static unsigned stable_since(const char *name)
{
	unsigned since = 99;

	(void)mpk_python_symbol(name, &since);
	return since;
}

START_TEST(stable_abi_of_python)
{
	ck_assert_uint_eq(stable_since("PyArg_ParseTuple"), 2);
	ck_assert_uint_eq(stable_since("PyType_GetName"), 11);
	ck_assert_uint_eq(stable_since("PyUnicode_New"), 0);
	ck_assert_uint_eq(stable_since(""), 0);
	ck_assert_uint_eq(stable_since("PyArg_Parse PyArg_ParseTuple"), 0);
	ck_assert(mpk_python_symbol("PyArg_Parse", NULL) && mpk_python_symbol("_PyLong_New", NULL));
	ck_assert(mpk_python_symbol("_Py_NoneStruct", NULL) &&
		  mpk_python_symbol("Py_DecRef", NULL));
	ck_assert(!mpk_python_symbol("Pyramid", NULL) && !mpk_python_symbol("py", NULL));
	ck_assert(!mpk_python_symbol("_", NULL) && !mpk_python_symbol("", NULL));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy");
	TCase *t = tcase_create("policy");

	tcase_add_loop_test(t, versions_of_policies, 0, (int)MPK_ARRAY_COUNT(rows));
	tcase_add_test(t, names_of_policies);
	tcase_add_test(t, stable_abi_of_python);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

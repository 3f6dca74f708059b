/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the Relax VM that were compiled: they get lists of all constants and all functions, which are
 * made at the first call. */
#include "relax_made.h"
#include "value/tensor.h"

static enum mpk_code body(const struct mpk_args *args, struct mpk_value *result,
			  struct mpk_error *err)
{
	(void)args, (void)result, (void)err;
	return MPK_OK;
}

static const struct made_kernel kernels[] = { { .name = "__vmtir__body", .call = body },
					      { .name = NULL } };

static void put_compiled(struct made *m)
{
	m->funcs[m->func_count++] = (struct mpk_relax_func){ .kind = MPK_RELAX_TIR,
							     .name = mpk_span_str("body"),
							     .register_file_size = 1 };
}

static void check_calls(const struct made *program, enum mpk_code expected, const char *text)
{
	struct model m = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_value result = { 0 };

	model_open(&m, program, kernels);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(model_call(&m, "body", NULL, 0, &result, &err), expected);
		if (expected != MPK_OK)
			ck_assert_msg(strstr(err.text, text), "call %d: %s", i, err.text);
	}
	model_close(&m);
}

START_TEST(lists_are_made_once)
{
	struct made program = { 0 };

	put_compiled(&program);
	(void)made_const(&program, (struct mpk_relax_const){ .kind = MPK_RELAX_INT, .u.i = 5 });
	check_calls(&program, MPK_OK, "");
}
END_TEST

/* The second call used to run with the half of the list that the first had made. */
START_TEST(a_constant_that_cannot_be_made_stays_an_error)
{
	static const int64_t extents[MPK_TENSOR_NDIM_MAX + 1];
	struct made program = { 0 };

	put_compiled(&program);
	program.consts[program.const_count++] = (struct mpk_relax_const){
		.kind = MPK_RELAX_TENSOR,
		.u.tensor = { .dtype = { MPK_DTYPE_INT, 64, 1 },
			      .ndim = MPK_TENSOR_NDIM_MAX + 1,
			      .shape = extents },
	};
	check_calls(&program, MPK_E_RANGE, "dimensions");
}
END_TEST

/* Each call used to leave a list behind, and with it the machine; AddressSanitizer counts. */
START_TEST(a_function_that_is_missing_stays_an_error)
{
	struct made program = { 0 };

	put_compiled(&program);
	(void)made_packed(&program, "missing");
	check_calls(&program, MPK_E_LOAD, "missing");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relax_compiled");
	TCase *tc = tcase_create("relax_compiled");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, lists_are_made_once);
	tcase_add_test(tc, a_constant_that_cannot_be_made_stays_an_error);
	tcase_add_test(tc, a_function_that_is_missing_stays_an_error);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

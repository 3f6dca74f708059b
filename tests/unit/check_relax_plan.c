/* SPDX-License-Identifier: Apache-2.0 */
/* Models of TVM 0.27 with a dynamic length: byte code, plans, and what plans of other lengths share */
#include "executor/executor.h"
#include "executor/plan/plan.h"
#include "executor/relax/internal/relax.h"
#include "model_library.h"

enum { LENGTHS = 40, ROUNDS = 5 };

static struct mpk_plan_stats plan_stats(const struct library *l)
{
	struct mpk_module *root = mpk_library_root(l->library);

	return mpk_plans_get_stats(
		((struct mpk_relax_vm *)mpk_node_machine((const struct mpk_node_module *)root))
			->plans);
}

static struct mpk_value rows(int64_t count, int64_t width, int round)
{
	struct mpk_value v = { .kind = MPK_VALUE_TENSOR };
	const int64_t shape[] = { count, width };

	ck_assert_ok(mpk_tensor_create((struct mpk_dtype){ MPK_DTYPE_FLOAT, 32, 1 }, shape, 2,
				       MPK_STORAGE_PRIVATE, &v.tensor, &err),
		     err);
	for (int64_t i = 0; i < count * width; i++)
		((float *)v.tensor->dl.data)[i] = (float)((i * 7 + count + round) % 11) - 5.0F;
	return v;
}

static struct mpk_value call(struct mpk_function *f, const struct mpk_value *arg)
{
	struct mpk_value result = { 0 };

	ck_assert_ok(mpk_function_call(f, &(struct mpk_args){ arg, NULL, 1 }, &result, &err), err);
	return result;
}

/* Every length in turn, and back again: a plan gives, for the same input, what byte code gave
 * the first time. Inputs of the rounds between have other numbers. */
static void try_lengths(const char *name, int64_t width)
{
	static struct mpk_value expected[LENGTHS + 1][2];
	struct mpk_function *f;
	struct library l = { 0 };

	library_open(&l, "tests/data/relax", name);
	ck_assert_ok(mpk_library_find(l.library, "forward", &f, &err), err);
	for (int round = 0; round < ROUNDS; round++)
		for (int64_t i = 1; i <= LENGTHS; i++) {
			int64_t n = round % 2 ? LENGTHS + 1 - i : i;
			struct mpk_value arg = rows(n, width, round % 3), got = call(f, &arg);
			const struct mpk_value *parts =
				got.kind == MPK_VALUE_ARRAY ? got.array->items : &got;
			size_t count = got.kind == MPK_VALUE_ARRAY ? got.array->count : 1;

			ck_assert_uint_le(count, 2);
			for (size_t k = 0; k < count; k++) {
				if (round == 0)
					expected[n][k] = mpk_value_hold(parts[k]);
				else if (round == 3) /* the numbers of round 0 */
					check_floats(&parts[k], &expected[n][k]);
			}
			mpk_value_drop(&got);
			mpk_value_drop(&arg);
		}
	for (int64_t n = 1; n <= LENGTHS; n++)
		for (size_t k = 0; k < 2; k++)
			mpk_value_drop(&expected[n][k]);
	ck_assert_uint_eq(plan_stats(&l).recorded, LENGTHS);
	ck_assert_uint_eq(plan_stats(&l).replayed, (ROUNDS - 2) * LENGTHS);
	/* a length that is equal to another extent makes steps of its own at most */
	ck_assert_uint_le(plan_stats(&l).tapes, 4);
	mpk_function_drop(f);
	library_close(&l);
}

START_TEST(lengths_share_their_steps)
{
	if (!FIXTURES_RUN_HERE)
		SKIP_TEST("the models are libraries for x86-64");
	try_lengths("gelu_dyn", 24);
	try_lengths("twoout_dyn", 8);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relax_plan");
	TCase *tc = tcase_create("relax_plan");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, lengths_share_their_steps);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

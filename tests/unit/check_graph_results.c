/* SPDX-License-Identifier: Apache-2.0 */
/* To whom the results of a graph belong, what a run allocates, and several models or callers at once. */
#include <pthread.h>

#include "graph_made.h"

/* --- results -------------------------------------------------------------------------------- */

START_TEST(results_in_the_order_of_the_heads)
{
	struct made_model m;
	struct mpk_value r;

	/* one of them twice */
	open_graph(&m, GRAPH(INPUT("x") "," OPERATOR("b", "both", "2", "0", "[0,0,0]"), "0",
			     "[1,1,0],[1,0,0],[1,1,0]", "0,1,3", F32 "," F32 "," F32, "0,1,2",
			     "[4],[4],[4]", ""));
	r = call_one(&m, 4, 10);
	ck_assert_int_eq(r.kind, MPK_VALUE_ARRAY);
	ck_assert_uint_eq(r.array->count, 3);
	ck_assert_float_eq(element(&r.array->items[0], 0), 9);
	ck_assert_float_eq(element(&r.array->items[1], 0), 11);
	ck_assert_float_eq(element(&r.array->items[2], 0), 9);
	mpk_value_drop(&r);
	made_close(&m);
}
END_TEST

/* The next run does not write to what the caller still holds, and a result outlives the model. */
START_TEST(results_belong_to_the_caller)
{
	struct mpk_value held[3];
	struct made_model m;

	open_graph(&m, GRAPH(INPUT("x") "," OPERATOR("out", "twice", "1", "0", "[0,0,0]"), "0",
			     "[1,0,0]", "0,1,2", F32 "," F32, "0,1", "[4],[4]", ""));
	for (int i = 0; i < 3; i++)
		held[i] = call_one(&m, 4, (float)i);
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < 4; k++)
			ck_assert_float_eq(element(&held[i], k), 2 * (float)((size_t)i + k));
	mpk_function_drop(m.run);
	mpk_module_drop(m.root);
	m.run = NULL;
	m.root = NULL;
	ck_assert_float_eq(element(&held[2], 3), 10);
	for (int i = 0; i < 3; i++)
		mpk_value_drop(&held[i]);
	made_close(&m);
}
END_TEST

static struct mpk_allocator_stats stats_of(const struct made_model *m)
{
	static const struct mpk_dldevice cpu = { MPK_DL_CPU, 0 };
	struct mpk_allocator *allocator = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_devices_allocator(mpk_runtime_devices(m->runtime), cpu, &allocator, &err),
		     err);
	return mpk_allocator_get_stats(allocator);
}

/* Storages stay from run to run: a caller who drops a result before the next run has the same one
 * again, and one who drops it a run later has two in turn. */
START_TEST(a_steady_state_allocates_nothing)
{
	struct mpk_value values[] = { f32_made(4, 1), f32_made(4, 10) }, before = { 0 };
	struct mpk_allocator_stats warm, end;
	struct made_model m;

	open_graph(&m, ADD_TWICE);
	for (int i = 0; i < 3; i++) {
		struct mpk_value r = made_call(&m, values, NULL, 2);

		mpk_value_drop(&r);
	}
	warm = stats_of(&m);
	ck_assert_uint_gt(warm.allocated, 0);
	for (int i = 0; i < 1000; i++) {
		struct mpk_value r = made_call(&m, values, NULL, 2);

		mpk_value_drop(&r);
	}
	end = stats_of(&m);
	ck_assert_uint_eq(end.given, warm.given);
	ck_assert_uint_eq(end.allocated, warm.allocated);
	for (int i = 0; i < 1000; i++) {
		struct mpk_value r = made_call(&m, values, NULL, 2);

		mpk_value_drop(&before);
		before = r;
	}
	end = stats_of(&m);
	ck_assert_uint_eq(end.allocated, warm.allocated + 1);
	mpk_value_drop(&before);
	mpk_value_drop(&values[0]);
	mpk_value_drop(&values[1]);
	made_close(&m);
}
END_TEST

/* A graph may return an input, a parameter or a reshape of one: what the caller receives is a copy,
 * or he would write to the file's mapping, and read what he wrote to his input. */
START_TEST(results_that_are_inputs_are_copies)
{
	const struct mpk_tensor_record record = weight_record();
	const struct made_factory f = {
		.graph = GRAPH(
			INPUT("w") "," INPUT("x") "," OPERATOR("r", "__nop", "1", "0", "[1,0,0]"),
			"0,1", "[0,0,0],[1,0,0],[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,1,1",
			"[4],[4],[2,2]", ""),
		.params = &record,
		.param_names = weight_name,
		.param_count = 1,
	};
	struct mpk_value x = f32_made(4, 1), r;
	struct made_model m;

	made_open(&m, &f, kernels);
	r = made_call(&m, &x, NULL, 1);
	memset(x.tensor->dl.data, 0, 16);
	for (size_t k = 0; k < 4; k++) {
		ck_assert_float_eq(element(&r.array->items[0], k), weights[k]);
		ck_assert_float_eq(element(&r.array->items[1], k), (float)(k + 1));
		ck_assert_float_eq(element(&r.array->items[2], k), (float)(k + 1));
	}
	memset(r.array->items[0].tensor->dl.data, 0, 16);
	mpk_value_drop(&r);
	r = made_call(&m, &x, NULL, 1);
	ck_assert_float_eq(element(&r.array->items[0], 0), weights[0]);
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* --- several at once ------------------------------------------------------------------------ */

struct caller {
	struct made_model *model;
	float first;
	bool is_wrong;
};

static void *call_often(void *user)
{
	struct caller *c = user;
	struct mpk_value x = f32_made(64, c->first);

	for (int i = 0; i < 500; i++) {
		struct mpk_value r = made_call(c->model, &x, NULL, 1);

		for (size_t k = 0; k < 64; k++)
			c->is_wrong |= element(&r, k) != 4 * (c->first + (float)k);
		mpk_value_drop(&r);
	}
	mpk_value_drop(&x);
	return NULL;
}

KERNEL(quiet_twice)
{
	UNUSED_KERNEL_ARGS;
	(void)count;
	for (int64_t i = 0; i < count_of(ARG(1)); i++)
		((float *)ARG(1)->data)[i] = 2 * ((const float *)ARG(0)->data)[i];
	return 0;
}

/* Two models in one process, one of them called by two threads. */
START_TEST(models_in_threads)
{
	static const struct made_kernel quiet[] = { { "twice", quiet_twice }, { NULL, NULL } };
	static const struct made_factory f = {
		.graph = GRAPH(INPUT("x") "," OPERATOR("a", "twice", "1", "0",
						       "[0,0,0]") "," OPERATOR("out", "twice", "1",
									       "0", "[1,0,0]"),
			       "0", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,1,2",
			       "[64],[64],[64]", "")
	};
	struct made_model models[2];
	struct caller callers[] = { { &models[0], 1, false },
				    { &models[0], 100, false },
				    { &models[1], 10000, false } };
	pthread_t threads[3];

	for (int i = 0; i < 2; i++)
		made_open(&models[i], &f, quiet);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < 3; i++)
		ck_assert(!callers[i].is_wrong);
	made_close(&models[0]);
	made_close(&models[1]);
}
END_TEST

START_TEST(load_run_unload_a_thousand_times)
{
	const struct mpk_tensor_record record = weight_record();
	const struct made_factory f = {
		.graph = ADD_WEIGHT, .params = &record, .param_names = weight_name, .param_count = 1
	};

	for (int i = 0; i < 1000; i++) {
		struct made_model m;
		struct mpk_value r;

		made_open(&m, &f, kernels);
		r = call_one(&m, 4, (float)i);
		ck_assert_float_eq(element(&r, 0), 100 + (float)i);
		mpk_value_drop(&r);
		made_close(&m);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("graph_results");
	TCase *tc = tcase_create("graph_results");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, results_in_the_order_of_the_heads);
	tcase_add_test(tc, results_belong_to_the_caller);
	tcase_add_test(tc, a_steady_state_allocates_nothing);
	tcase_add_test(tc, results_that_are_inputs_are_copies);
	tcase_add_test(tc, models_in_threads);
	tcase_add_test(tc, load_run_unload_a_thousand_times);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* An executor added the way CONTRIBUTING tells: one file, executor_counter.h, and one row. */
#include "executor_counter.h"

#include "assert_error.h"
#include "harness.h"
#include "runtime/library.h"

/* --- what a caller sees -------------------------------------------------------------------- */

/* The modules of a tree, without host code. */
static struct mpk_module *load(struct mpk_runtime *runtime, const struct mpk_tree *tree)
{
	struct mpk_host_code code = { .tree = tree };
	struct mpk_module *root = NULL, *context = NULL;
	struct mpk_host *host = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_host_create(runtime, &code, &host, &err), err);
	ck_assert_ok(mpk_node_modules(host, &root, &context, &err), err);
	mpk_host_drop(host);
	return root;
}

static enum mpk_code count(const char *payload, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_node node = { .kind = mpk_span_str("example.Counter"),
				 .payload = mpk_span_str(payload) };
	struct mpk_tree tree = { .gen = MPK_GEN_CURRENT, .nodes = &node, .count = 1 };
	struct mpk_module_search search = { 0 };
	struct mpk_runtime *runtime = NULL;
	struct mpk_function *f = NULL;
	struct mpk_module *root;
	enum mpk_code code;

	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, err), *err);
	ck_assert_ok(mpk_runtime_add_loader(runtime, &mpk_counter_executor, err), *err);
	root = load(runtime, &tree);
	ck_assert_ok(mpk_module_find(root, "count", &f, &search, err), *err);
	*err = search.failure;
	code = f ? mpk_function_call(f, &(struct mpk_args){ 0 }, result, err) : err->code;
	mpk_function_drop(f);
	mpk_module_drop(root);
	mpk_runtime_destroy(runtime);
	return code;
}

START_TEST(one_file_and_one_row)
{
	struct mpk_value result = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(count("four", &result, &err), err);
	ck_assert_int_eq(result.integer, 4);
	ck_assert_int_eq(count("odd", &result, &err), MPK_E_CORRUPT);
	ck_assert_text(err, "odd number");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("executor_example");
	TCase *tc = tcase_create("executor_example");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, one_file_and_one_row);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

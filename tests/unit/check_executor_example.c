/* The worked example of CONTRIBUTING.md, "Adding an executor", as it stands there
 *
 * An executor of one function, `count`, which says how many bytes its module's payload has. It
 * stands for the file that a new executor would be; main() adds its row.
 */
#include <stdlib.h>

#include "assert_error.h"
#include "harness.h"
#include "runtime/library.h"
#include "runtime/node.h"

/* --- the executor: one file in lib/executor ------------------------------------------------ */

struct counter {
	struct mpk_function base;
	int64_t bytes;
};

static enum mpk_code call_count(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	if (args->count)
		return mpk_fail(err, MPK_E_RAISED, "TypeError: count takes no arguments");
	*result = mpk_value_of_int(((struct counter *)self)->bytes);
	return MPK_OK;
}

static void destroy_count(struct mpk_function *self)
{
	free(self);
}

static bool accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "example.Counter");
}

static enum mpk_code open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	if (node->node->payload.len % 2)
		return mpk_fail(err, MPK_E_CORRUPT, "a payload of an odd number of bytes");
	return MPK_OK;
}

static enum mpk_code find(struct mpk_node_module *node, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	struct counter *c;

	*out = NULL;
	if (strcmp(name, "count") != 0)
		return MPK_OK;
	c = calloc(1, sizeof *c);
	if (!c)
		return mpk_fail_nomem(err);
	c->base = (struct mpk_function){
		.refs = 1, .name = "count", .call = call_count, .destroy = destroy_count
	};
	c->bytes = (int64_t)node->node->payload.len;
	*out = &c->base;
	return MPK_OK;
}

static const struct mpk_loader example_executor = { .accepts = accepts,
						    .open = open_node,
						    .find = find };

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
	ck_assert_ok(mpk_runtime_add_loader(runtime, &example_executor, err), *err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* modules: who is asked for a function, in which order, how often; and who lets go of whom */
#include "assert_error.h"
#include "harness.h"
#include "value/module.h"

/* A module that has one function and counts what happens to it. */
struct counted {
	struct mpk_module base;
	struct mpk_function function;
	const char *has;
	enum mpk_code fails; /* MPK_OK: it does not */
	int asked;
	int *destroyed;
};

static enum mpk_code find(struct mpk_module *self, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	struct counted *c = (struct counted *)self;

	c->asked++;
	if (c->fails != MPK_OK)
		return mpk_fail(err, c->fails, "%s cannot be made ready", c->has);
	if (strcmp(name, c->has) == 0)
		*out = mpk_function_hold(&c->function);
	return MPK_OK;
}

static void destroy(struct mpk_module *self)
{
	++*((struct counted *)self)->destroyed;
	free(self);
}

static int destroyed;

static struct counted *make(const char *has, struct mpk_module **imports, size_t count)
{
	struct counted *c = calloc(1, sizeof *c);
	struct mpk_error err = { 0 };

	ck_assert_ptr_nonnull(c);
	c->base = (struct mpk_module){
		.refs = 1, .kind = mpk_span_str("test"), .find = find, .destroy = destroy
	};
	c->function = (struct mpk_function){ .refs = 1, .name = has };
	c->has = has;
	c->destroyed = &destroyed;
	ck_assert_ok(mpk_module_set_imports(&c->base, imports, count, &err), err);
	for (size_t i = 0; i < count; i++)
		mpk_module_drop(imports[i]);
	return c;
}

/* top -> (left, right) -> bottom: the bottom is asked once, and left before right. */
START_TEST(a_diamond_is_asked_once)
{
	struct counted *bottom = make("f", NULL, 0);
	struct mpk_module *both[2];
	struct mpk_error err = { 0 };
	struct mpk_function *f = NULL;
	struct mpk_module_search search = { 0 };

	(void)mpk_module_hold(&bottom->base);
	struct mpk_module *below = &bottom->base;
	struct counted *left = make("g", &below, 1), *right = make("h", &below, 1);

	both[0] = &left->base;
	both[1] = &right->base;
	struct counted *top = make("t", both, 2);

	ck_assert_ok(mpk_module_find(&top->base, "nobody", &f, &search, &err), err);
	ck_assert_ptr_null(f);
	ck_assert_int_eq(search.failure.code, MPK_OK);
	ck_assert_int_eq(top->asked + left->asked + right->asked + bottom->asked, 4);
	ck_assert_ok(mpk_module_find(&top->base, "f", &f, &search, &err), err);
	ck_assert_ptr_eq(f, &bottom->function);
	ck_assert_int_eq(right->asked, 1); /* depth first: left's import comes before right */
	ck_assert_ok(mpk_module_find_import(&top->base, "t", &f, &search, &err), err);
	ck_assert_ptr_null(f); /* what code of a module sees is not the module itself */
	destroyed = 0;
	mpk_module_drop(&top->base);
	ck_assert_int_eq(destroyed, 4);
}
END_TEST

START_TEST(failures_count_only_when_nobody_has_it)
{
	struct counted *broken = make("broken", NULL, 0), *whole = make("f", NULL, 0);
	struct mpk_module *imports[] = { &broken->base, &whole->base };
	struct counted *top = make("t", imports, 2);
	struct mpk_module_search search = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_function *f = NULL;

	broken->fails = MPK_E_DEVICE;
	ck_assert_ok(mpk_module_find(&top->base, "f", &f, &search, &err), err);
	ck_assert_ptr_nonnull(f);
	ck_assert_ok(mpk_module_find(&top->base, "nobody", &f, &search, &err), err);
	ck_assert_ptr_null(f);
	ck_assert_int_eq(search.failure.code, MPK_E_DEVICE);
	whole->base.find = NULL;
	ck_assert_ok(mpk_module_find(&top->base, "f", &f, &search, &err), err);
	ck_assert_ptr_null(f);
	ck_assert_ptr_eq(search.unloadable, &whole->base);
	mpk_module_drop(&top->base);
}
END_TEST

/* A file can chain as many modules as it has room for: no recursion, no quadratic walk. */
START_TEST(a_long_chain_comes_and_goes)
{
	enum { LENGTH = 200000 };
	struct counted *top = make("end", NULL, 0);
	struct mpk_module_search search = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_function *f = NULL;

	for (int i = 1; i < LENGTH; i++) {
		struct mpk_module *below = &top->base;

		top = make("link", &below, 1);
	}
	ck_assert_ok(mpk_module_find(&top->base, "end", &f, &search, &err), err);
	ck_assert_ptr_nonnull(f);
	destroyed = 0;
	mpk_module_drop(&top->base);
	ck_assert_int_eq(destroyed, LENGTH);
}
END_TEST

START_TEST(a_held_import_stays)
{
	struct counted *below = make("f", NULL, 0);
	struct mpk_module *imports[] = { &below->base };
	struct mpk_value v;

	v = mpk_value_hold(mpk_value_of_module(&below->base));
	struct counted *top = make("t", imports, 1);

	destroyed = 0;
	mpk_module_drop(&top->base);
	ck_assert_int_eq(destroyed, 1);
	mpk_value_drop(&v);
	ck_assert_int_eq(destroyed, 2);
	ck_assert_int_eq(v.kind, MPK_VALUE_NONE);
}
END_TEST

/* --- functions ----------------------------------------------------------------------------- */

static enum mpk_code count_args(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	(void)self;
	(void)err;
	*result = mpk_value_of_int((int64_t)args->count);
	return MPK_OK;
}

START_TEST(names_reach_who_takes_them)
{
	struct mpk_value values[] = { mpk_value_of_int(1), mpk_value_of_int(2) };
	struct mpk_span names[] = { { 0 }, mpk_span_str("data") };
	struct mpk_args args = { values, names, 2 };
	struct mpk_function f = { .refs = 1, .name = "f", .call = count_args };
	struct mpk_value result = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_function_call(&f, &args, &result, &err), MPK_E_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "argument 1 is named 'data'"));
	f.takes_names = true;
	ck_assert_ok(mpk_function_call(&f, &args, &result, &err), err);
	ck_assert_int_eq(result.integer, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("module");
	TCase *tc = tcase_create("module");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, a_diamond_is_asked_once);
	tcase_add_test(tc, failures_count_only_when_nobody_has_it);
	tcase_add_test(tc, a_long_chain_comes_and_goes);
	tcase_add_test(tc, a_held_import_stays);
	tcase_add_test(tc, names_reach_who_takes_them);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

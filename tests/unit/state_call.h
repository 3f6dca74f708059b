/* SPDX-License-Identifier: Apache-2.0 */
/* state_call.h - builtins of states called as byte code calls them, with arguments that no compiler makes
 *
 * Each is refused or works. What TVM's own caches compute is compared in tests/interop/test_state.py.
 */
#ifndef MPK_TESTS_UNIT_STATE_CALL_H
#define MPK_TESTS_UNIT_STATE_CALL_H

#include <stdlib.h>

#include "assert_error.h"
#include "executor/relax/builtin.h"
#include "executor/relax/state_globals.h"
#include "harness.h"
#include "runtime/runtime.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 }, i32 = { MPK_DTYPE_INT, 32, 1 };

static struct mpk_runtime *runtime;
static struct mpk_error err;
static struct mpk_value result;

/* --- values ------------------------------------------------------------------------------------ */

HARNESS_FN struct mpk_value integer(int64_t i)
{
	return mpk_value_of_int(i);
}

HARNESS_FN struct mpk_value text(const char *s)
{
	struct mpk_value v = { 0 };

	ck_assert_ok(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str(s), &v, &err), err);
	return v;
}

HARNESS_FN struct mpk_value shape(size_t ndim, const int64_t *extents)
{
	struct mpk_value v = { 0 };

	ck_assert_ok(mpk_value_of_shape(extents, ndim, &v, &err), err);
	return v;
}

HARNESS_FN struct mpk_value tensor(struct mpk_dtype t, size_t ndim, const int64_t *extents)
{
	struct mpk_tensor *made = NULL;

	ck_assert_ok(mpk_tensor_create(t, extents, ndim, MPK_STORAGE_PRIVATE, &made, &err), err);
	return mpk_value_of_tensor(made);
}

#define SHAPE(...)                                                                                 \
	shape(sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })
#define TENSOR(t, ...)                                                                             \
	tensor(t, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })

HARNESS_FN struct mpk_value tuple(size_t count, const struct mpk_value *items)
{
	struct mpk_value v = { 0 };

	ck_assert_ok(mpk_value_of_array(count, &v, &err), err);
	for (size_t i = 0; i < count; i++)
		v.array->items[i] = items[i];
	return v;
}

#define TUPLE(...)                                                                                 \
	tuple(sizeof((const struct mpk_value[]){ __VA_ARGS__ }) / sizeof(struct mpk_value),        \
	      (const struct mpk_value[]){ __VA_ARGS__ })

/* Calls and drops the arguments; the result is dropped by the next call. */
HARNESS_FN enum mpk_code call_all(const char *name, struct mpk_value *args, size_t count)
{
	char full[128];

	(void)snprintf(full, sizeof full, "vm.builtin.%s", name);
	const struct mpk_relax_builtin *b = mpk_relax_builtin_find(mpk_span_str(full));

	ck_assert_msg(b != NULL, "%s", full);
	mpk_value_drop(&result);
	err = (struct mpk_error){ 0 };
	enum mpk_code code = b->call(args, count, &result, &err);

	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&args[i]);
	return code;
}

#define CALL(name, ...)                                                                            \
	call_all(name, (struct mpk_value[]){ __VA_ARGS__ },                                        \
		 sizeof((struct mpk_value[]){ __VA_ARGS__ }) / sizeof(struct mpk_value))
#define GOOD(...) ck_assert_ok(CALL(__VA_ARGS__), err)
#define RAISES(part, ...)                                                                          \
	do {                                                                                       \
		ck_assert_int_eq(CALL(__VA_ARGS__), MPK_E_RAISED);                                 \
		ck_assert_text(err, part);                                                         \
	} while (0)

HARNESS_FN struct mpk_value same(struct mpk_value v)
{
	return mpk_value_hold(v);
}

/* --- kernels ----------------------------------------------------------------------------------- */

static size_t kernel_calls;

HARNESS_FN enum mpk_code nothing(struct mpk_function *self, const struct mpk_args *args,
				 struct mpk_value *out, struct mpk_error *why)
{
	(void)self;
	(void)args;
	(void)out;
	(void)why;
	kernel_calls++;
	return MPK_OK;
}

typedef enum mpk_code kernel_fn(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *out, struct mpk_error *why);

HARNESS_FN void destroy(struct mpk_function *self)
{
	free(self);
}

HARNESS_FN struct mpk_value kernel(kernel_fn *call)
{
	struct mpk_function *f = calloc(1, sizeof *f);

	ck_assert_ptr_nonnull(f);
	*f = (struct mpk_function){ .refs = 1, .name = "kernel", .call = call, .destroy = destroy };
	return mpk_value_of_function(f);
}

/* --- at random ----------------------------------------------------------------------------------- */

HARNESS_FN int64_t below(int64_t n)
{
	return rand() % n;
}

/* Ids of sequences that are there, and of some that are not. */
HARNESS_FN struct mpk_value some_id(void)
{
	return integer(below(8) - 1);
}

HARNESS_FN void begin(struct mpk_value c, bool grows)
{
	int64_t ids[4], lengths[4], parents[64];
	size_t count = (size_t)below(4), total = 0;

	for (size_t i = 0; i < count; i++) {
		ids[i] = below(7);
		lengths[i] = grows ? below(9) : 1;
		for (int64_t k = 0; k < lengths[i]; k++)
			parents[total++] = below(6) ? k - 1 : below(k + 2) - 2;
	}
	if (below(4) == 0)
		(void)CALL("kv_state_begin_forward", same(c), shape(count, ids),
			   shape(count, lengths), shape(total, parents));
	else
		(void)CALL("kv_state_begin_forward", same(c), shape(count, ids),
			   shape(count, lengths));
}

/* --- programs ------------------------------------------------------------------------------------ */

HARNESS_FN void setup(void)
{
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	(void)mpk_context_swap((struct mpk_context){ .runtime = runtime });
}

HARNESS_FN void teardown(void)
{
	mpk_value_drop(&result);
	(void)mpk_context_swap((struct mpk_context){ 0 });
	mpk_runtime_destroy(runtime);
}

/* A test that is made for each number below count, once for 1. */
struct state_test {
	const TTest *test;
	int count;
};

HARNESS_FN int state_main(const char *name, const struct state_test *tests, size_t count)
{
	Suite *s = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	for (size_t i = 0; i < count; i++)
		tcase_add_loop_test(tc, tests[i].test, 0, tests[i].count);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

/* --- as bytes ---------------------------------------------------------------------------------- */

HARNESS_FN enum mpk_code save(struct mpk_value c, struct mpk_value ids, struct mpk_value *out)
{
	struct mpk_value args[3] = { c, ids, SHAPE(4, 5) };
	enum mpk_code code;

	*out = (struct mpk_value){ 0 };
	code = mpk_state_globals[0].call(runtime, &(struct mpk_args){ args, NULL, 3 }, out, &err);
	mpk_value_drop(&args[2]);
	mpk_value_drop(&args[1]);
	return code;
}

HARNESS_FN enum mpk_code load(struct mpk_value c, const uint8_t *data, size_t len, int64_t digest)
{
	static const struct mpk_dtype byte = { MPK_DTYPE_UINT, 8, 1 };
	int64_t extent = (int64_t)len;
	struct mpk_value args[3] = { c, tensor(byte, 1, &extent), SHAPE(4, digest) }, none = { 0 };
	enum mpk_code code;

	if (len)
		memcpy(args[1].tensor->dl.data, data, len);
	code = mpk_state_globals[1].call(runtime, &(struct mpk_args){ args, NULL, 3 }, &none, &err);
	mpk_value_drop(&args[1]);
	mpk_value_drop(&args[2]);
	return code;
}

#endif

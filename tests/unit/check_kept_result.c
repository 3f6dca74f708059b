/* SPDX-License-Identifier: Apache-2.0 */
/* what legacy code is given as the result of a call: there as long as it may be used, and no longer */
#include <check.h>
#include <stdatomic.h>

#include "abi/convention.h"
#include "assert_error.h"
#include "runtime/parallel.h"
#include "value/tensor.h"

static float content[4] = { 1, 2, 3, 4 };
static atomic_int released;

static void release(void *owner)
{
	(void)owner;
	(void)atomic_fetch_add(&released, 1);
}

/* Our function: a new tensor in the memory above, said to be of this device. */
static int32_t device = MPK_DL_CPU;

static enum mpk_code make(struct mpk_function *self, const struct mpk_args *args,
			  struct mpk_value *result, struct mpk_error *err)
{
	static const int64_t shape[] = { 4 };
	struct mpk_dldevice where = { device, 0 };
	struct mpk_storage *storage;
	struct mpk_tensor *tensor;

	(void)self, (void)args;
	MPK_TRY(mpk_storage_wrap(content, sizeof content, where, content, release, &storage, err));
	enum mpk_code code = mpk_tensor_view(
		storage, 0, (struct mpk_dtype){ MPK_DTYPE_FLOAT, 32, 1 }, shape, 1, &tensor, err);

	mpk_storage_drop(storage);
	if (code == MPK_OK)
		*result = mpk_value_of_tensor(tensor);
	return code;
}

static struct mpk_function maker = { .refs = 1, .name = "make", .call = make };

/* Legacy code that returns what it gets. */
static int pass_on(union mpk_tvm_value *values, int *codes, int count, union mpk_tvm_value *result,
		   int *code, void *handle)
{
	(void)values, (void)codes, (void)count, (void)handle;
	return mpk_legacy_enter(&maker, NULL, NULL, 0, result, code);
}

static int do_nothing(union mpk_tvm_value *values, int *codes, int count,
		      union mpk_tvm_value *result, int *code, void *handle)
{
	(void)values, (void)codes, (void)count, (void)result, (void)code, (void)handle;
	return 0;
}

static enum mpk_code call_legacy(mpk_tvm_function *fn, struct mpk_value *result,
				 struct mpk_error *err)
{
	return mpk_conv_call(MPK_CONV_LEGACY, (void *)(uintptr_t)fn, &(struct mpk_args){ 0 },
			     result, err);
}

/* Ours again: calls legacy code, then looks at its argument. */
static enum mpk_code look(struct mpk_function *self, const struct mpk_args *args,
			  struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value none = { 0 };

	(void)self;
	MPK_TRY(call_legacy(do_nothing, &none, err));
	*result = mpk_value_of_bool(!released && args->count == 1 &&
				    args->values[0].kind == MPK_VALUE_TENSOR);
	return MPK_OK;
}

static struct mpk_function looker = { .refs = 1, .name = "look", .call = look };

static int make_and_look(union mpk_tvm_value *values, int *codes, int count,
			 union mpk_tvm_value *result, int *code, void *handle)
{
	union mpk_tvm_value made;
	int made_code;

	(void)values, (void)codes, (void)count, (void)handle;
	if (mpk_legacy_enter(&maker, NULL, NULL, 0, &made, &made_code) != 0 || released)
		return -1;
	return mpk_legacy_enter(&looker, &made, &made_code, 1, result, code);
}

static void setup(void)
{
	released = 0;
	device = MPK_DL_CPU;
}

START_TEST(it_goes_with_the_outermost_call)
{
	struct mpk_value got = { 0 };
	struct mpk_error err = { 0 };

	for (int i = 0; i < 3; i++) {
		ck_assert_ok(call_legacy(pass_on, &got, &err), err);
		ck_assert_int_eq(released, i + 1);
		ck_assert_int_eq(got.kind, MPK_VALUE_TENSOR);
		ck_assert_ptr_ne(got.tensor->dl.data, content);
		ck_assert_float_eq(((float *)got.tensor->dl.data)[3], 4);
		mpk_value_drop(&got);
	}
}
END_TEST

START_TEST(memory_of_a_device_is_held)
{
	struct mpk_value got = { 0 };
	struct mpk_error err = { 0 };

	device = MPK_DL_OPENCL;
	ck_assert_ok(call_legacy(pass_on, &got, &err), err);
	ck_assert_int_eq(released, 0);
	ck_assert_int_eq(got.kind, MPK_VALUE_TENSOR);
	ck_assert_ptr_eq(got.tensor->dl.data, content);
	mpk_value_drop(&got);
	ck_assert_int_eq(released, 1);
}
END_TEST

/* Whatever legacy code runs within a call, its argument stays; also for code that nobody of us called. */
START_TEST(an_argument_stays)
{
	union mpk_tvm_value result;
	int code;

	ck_assert_int_eq(make_and_look(NULL, NULL, 0, &result, &code, NULL), 0);
	ck_assert(result.v_int64);
	ck_assert_int_eq(released, 1);
}
END_TEST

static int make_in_task(int task, struct mpk_parallel_env *env, void *data)
{
	union mpk_tvm_value made;
	int code;

	(void)data;
	if (task && mpk_legacy_enter(&maker, NULL, NULL, 0, &made, &code) != 0)
		return -1;
	return mpk_parallel_barrier(env);
}

START_TEST(threads_keep_nothing)
{
	ck_assert_int_eq(mpk_parallel_launch(make_in_task, NULL, 3), 0);
	ck_assert_int_eq(released, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kept_result");
	TCase *tc = tcase_create("kept_result");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, it_goes_with_the_outermost_call);
	tcase_add_test(tc, memory_of_a_device_is_held);
	tcase_add_test(tc, an_argument_stays);
	tcase_add_test(tc, threads_keep_nothing);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

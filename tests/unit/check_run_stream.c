/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of libmpk-run on a stream of the caller, against the driver library of the tests (tests/fakes/fake_cuda.h) */
#include "device_fake.h"
#include "run_models.h"

enum { COUNT = 1024 };

static struct mpkr_tensor on_device(void *data)
{
	static const int64_t shape[] = { COUNT };
	struct mpkr_tensor t = mpkr_tensor_on_host(data, MPKR_DTYPE_FLOAT, 32, 1, shape);

	t.device.device_type = MPKR_DEVICE_CUDA;
	return t;
}

static unsigned waits(void)
{
	return fake->calls("cuStreamSynchronize");
}

/* A model with one stream or none: what lies on the device is queued there, and nobody waits for it but where
 * the caller has no stream. */
START_TEST(calls_are_queued)
{
	int mine = 0; /* any address: the fake only compares it */
	void *stream = _i ? &mine : NULL;
	struct mpkr_options options = { .size = sizeof options,
					.device = { MPKR_DEVICE_CUDA, 0 },
					.stream = stream };
	const struct mpkr_tensor *in[2], *out[1];
	struct mpkr_tensor t[3];
	mpkr_model *model;
	mpkr_function *f;
	float got[COUNT];
	unsigned before;

	NEED_FIXTURES;
	open_device();
	for (int i = 0; i < 3; i++)
		t[i] = on_device(floats_on(device, COUNT, (float)i, 1));
	in[0] = &t[0], in[1] = &t[1], out[0] = &t[2];
	ck_ok(mpkr_open(data_path("cuda/ptx/vadd_cuda.so"), &options, &model, &err));
	ck_ok(mpkr_find(model, "vadd", &f, &err));
	ck_ok(mpkr_call_into(f, in, 2, out, 1, &err));
	before = waits();
	for (int i = 0; i < 3; i++)
		ck_ok(mpkr_call_into(f, in, 2, out, 1, &err));
	ck_assert_ptr_eq(fake->last_launch()->stream, stream);
	ck_assert_uint_eq(waits() - before, stream ? 0 : 3);
	if (stream) { /* what the caller does */
		ck_assert_ok(mpk_device_set_stream(device, stream, NULL),
			     ((struct mpk_error){ 0 }));
		ck_assert_ok(mpk_device_sync(device, NULL), ((struct mpk_error){ 0 }));
	}
	ck_assert_ok(mpk_device_read(device, t[2].data, 0, got, sizeof got, NULL),
		     ((struct mpk_error){ 0 }));
	for (int i = 0; i < COUNT; i++)
		ck_assert_float_eq(got[i], (float)(2 * i + 1));
	mpkr_drop(f);
	mpkr_close(model);
	for (int i = 0; i < 3; i++)
		mpk_device_free(device, t[i].data);
}
END_TEST

/* Copies to and from the caller's memory have ended when the call returns. */
START_TEST(host_memory_is_waited_for)
{
	static _Alignas(64) float a[COUNT] = { 0 }, b[COUNT] = { 0 }, c[COUNT] = { 0 };
	static const int64_t shape[] = { COUNT };
	int mine = 0;
	struct mpkr_options options = { .size = sizeof options,
					.device = { MPKR_DEVICE_CUDA, 0 },
					.stream = &mine };
	const struct mpkr_tensor *in[2], *out[1];
	struct mpkr_tensor t[3];
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	for (int i = 0; i < 3; i++)
		t[i] = mpkr_tensor_on_host(i == 0   ? a
					   : i == 1 ? b
						    : c,
					   MPKR_DTYPE_FLOAT, 32, 1, shape);
	for (int i = 0; i < COUNT; i++)
		a[i] = (float)i, b[i] = 1;
	in[0] = &t[0], in[1] = &t[1], out[0] = &t[2];
	ck_ok(mpkr_open(data_path("cuda/ptx/vadd_cuda.so"), &options, &model, &err));
	ck_ok(mpkr_find(model, "vadd", &f, &err));
	ck_ok(mpkr_call_into(f, in, 2, out, 1, &err));
	ck_assert_ptr_eq(fake->last_launch()->stream, &mine);
	for (int i = 0; i < COUNT; i++)
		ck_assert_float_eq(c[i], (float)(i + 1));
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

static long long live;
static unsigned taken;

static void *allocate(void *context, struct mpkr_device where, size_t bytes, size_t align)
{
	void *data;

	ck_assert_ptr_eq(context, &live);
	ck_assert_int_eq(where.device_type, MPKR_DEVICE_CUDA);
	ck_assert_uint_ge(align, 64);
	if (mpk_device_alloc(device, bytes, &data, NULL) != MPK_OK)
		return NULL;
	live += (long long)bytes;
	taken++;
	return data;
}

static void release(void *context, struct mpkr_device where, void *data, size_t bytes)
{
	ck_assert_ptr_eq(context, &live);
	ck_assert_int_eq(where.device_type, MPKR_DEVICE_CUDA);
	live -= (long long)bytes;
	mpk_device_free(device, data);
}

/* What a call brings to the device lies in memory of the caller, up to a budget of its own. */
START_TEST(device_memory_of_the_caller)
{
	static _Alignas(64) float a[COUNT];
	static _Alignas(64) float b[COUNT];
	static _Alignas(64) float c[COUNT];
	static const int64_t shape[] = { COUNT };
	struct mpkr_memory memory = {
		.size = sizeof memory, .allocate = allocate, .release = release, .context = &live
	};
	const struct mpkr_options options = { .size = sizeof options,
					      .device = { MPKR_DEVICE_CUDA, 0 },
					      .device_memory = &memory };
	struct mpkr_usage u = { .size = sizeof u };
	const struct mpkr_tensor *in[2], *out[1];
	struct mpkr_tensor t[3];
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	open_device();
	live = 0;
	taken = 0;
	for (int i = 0; i < 3; i++)
		t[i] = mpkr_tensor_on_host(i == 0   ? a
					   : i == 1 ? b
						    : c,
					   MPKR_DTYPE_FLOAT, 32, 1, shape);
	for (int i = 0; i < COUNT; i++)
		a[i] = (float)i, b[i] = 1;
	in[0] = &t[0], in[1] = &t[1], out[0] = &t[2];
	ck_ok(mpkr_open(data_path("cuda/ptx/vadd_cuda.so"), &options, &model, &err));
	ck_ok(mpkr_find(model, "vadd", &f, &err));
	for (int k = 0; k < 3; k++)
		ck_ok(mpkr_call_into(f, in, 2, out, 1, &err));
	for (int i = 0; i < COUNT; i++)
		ck_assert_float_eq(c[i], (float)(i + 1));
	ck_assert_uint_eq(taken, 3);
	ck_ok(mpkr_memory_now(model, MPKR_DEVICE_CUDA, &u, &err));
	ck_assert_uint_eq(u.used_bytes, (uint64_t)live);
	ck_assert_uint_eq(u.kept_bytes, (uint64_t)live);
	mpkr_drop(f);
	mpkr_close(model);
	ck_assert_int_eq(live, 0);
	/* one byte less than the three take */
	memory.budget = u.most_bytes - 1;
	ck_ok(mpkr_open(data_path("cuda/ptx/vadd_cuda.so"), &options, &model, &err));
	ck_ok(mpkr_find(model, "vadd", &f, &err));
	ck_fails(mpkr_call_into(f, in, 2, out, 1, &err), MPKR_E_BUDGET, "budget");
	mpkr_drop(f);
	mpkr_close(model);
	ck_assert_int_eq(live, 0);
}
END_TEST

/* The CPU has no streams. */
START_TEST(the_cpu_has_none)
{
	const struct model *m = &models[0];
	int mine = 0;
	struct mpkr_options options = { .size = sizeof options,
					.device = { MPKR_DEVICE_CPU, 0 },
					.stream = &mine };
	const struct mpkr_tensor *in[1];
	struct mpkr_result *results[3];
	struct array array;
	mpkr_model *model;
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	array_load(&array, m->in[0], true);
	in[0] = &array.tensor;
	ck_ok(mpkr_open(data_path(m->path), &options, &model, &err));
	ck_ok(mpkr_find(model, m->function, &f, &err));
	ck_fails(mpkr_call(f, in, 1, results, 3, &count, &err), MPKR_E_UNSUPPORTED, "no streams");
	mpkr_drop(f);
	mpkr_close(model);
	array_free(&array);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_stream");
	TCase *tc = tcase_create("fake driver");
	SRunner *r = srunner_create(s);
	int failed;

	if (!find_fakes())
		return 1;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, calls_are_queued, 0, 2);
	tcase_add_test(tc, host_memory_is_waited_for);
	tcase_add_test(tc, device_memory_of_the_caller);
	tcase_add_test(tc, the_cpu_has_none);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by themselves in libmpk-run: found, described, launched with extents of the caller, refused */
#include "device_fake.h"
#include "run_models.h"

/* y = alpha * x + y for the first n elements, by CUDA's stand-in and by OpenCL */
static const struct {
	const char *path;
	int32_t type;
} files[] = {
	{ "cuda/fatbin/saxpy_cuda.so", MPKR_DEVICE_CUDA },
	{ "cuda/saxpy_opencl.so", MPKR_DEVICE_OPENCL },
};

enum { COUNT = 600, TOUCHED = 515 };

static mpkr_model *open_or_skip(int i)
{
	struct mpk_device_list list = { 0 };
	struct mpk_error why = { 0 };
	mpkr_model *model = NULL;
	bool is_there;

	if (files[i].type == MPKR_DEVICE_CUDA)
		fake = open_fake("libcuda.so.1");
	is_there = mpk_device_list_add(&list, (enum mpk_device_kind)files[i].type, &why) == MPK_OK;
	mpk_device_list_fini(&list);
	if (is_there)
		ck_ok(mpkr_open(data_path(files[i].path), NULL, &model, &err));
	else
		(void)snprintf(err.text, sizeof err.text, "%.500s", why.text);
	return model;
}

static struct mpkr_launch launch_of(uint64_t grid, uint64_t block)
{
	struct mpkr_launch launch = { .size = sizeof launch };

	launch.grid[0] = grid;
	launch.block[0] = block;
	return launch;
}

/* The arguments of saxpy; memory that begins at 64 and memory that does not. */
struct arguments {
	_Alignas(64) float memory[2][COUNT + 16];
	float alpha;
	int64_t n;
	struct mpkr_tensor tensors[4];
	const struct mpkr_tensor *in[4];
};

static const int64_t extents[1] = { COUNT };

static void arguments_fill(struct arguments *a, size_t shift)
{
	a->alpha = 2;
	a->n = TOUCHED;
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < COUNT; i++)
			a->memory[k][shift + i] = (float)((k ? 10 : 1) * (i + 1));
		a->tensors[k] =
			mpkr_tensor_on_host(a->memory[k] + shift, MPKR_DTYPE_FLOAT, 32, 1, extents);
	}
	a->tensors[2] = mpkr_tensor_on_host(&a->alpha, MPKR_DTYPE_FLOAT, 32, 0, NULL);
	a->tensors[3] = mpkr_tensor_on_host(&a->n, MPKR_DTYPE_INT, 64, 0, NULL);
	for (size_t k = 0; k < 4; k++)
		a->in[k] = &a->tensors[k];
}

static void arguments_check(const struct arguments *a, size_t shift)
{
	for (size_t i = 0; i < COUNT; i++) {
		ck_assert_float_eq(a->memory[0][shift + i], (float)(i + 1));
		ck_assert_float_eq(a->memory[1][shift + i],
				   (float)(i + 1) * (i < TOUCHED ? 12.0F : 10.0F));
	}
}

START_TEST(kernels_give_what_they_compute)
{
	static struct arguments a;
	struct mpkr_launch launch = launch_of(3, 256);
	mpkr_function *f, *again;
	struct mpkr_result *none[1];
	const char *first;
	mpkr_model *model;
	size_t count = 9;

	NEED_FIXTURES;
	model = open_or_skip(_i);
	if (!model)
		SKIP_TEST("%s", err.text);
	ck_ok(mpkr_find_kernel(model, "saxpy_kernel", &launch, &f, &err));
	/* it keeps the model; so does its session */
	mpkr_close(model);
	for (size_t shift = 0; shift < 2; shift++) {
		arguments_fill(&a, shift);
		ck_ok(mpkr_call(f, a.in, 4, none, 1, &count, &err));
		ck_assert_uint_eq(count, 0);
		arguments_check(&a, shift);
	}
	ck_ok(mpkr_session(f, &again, &err));
	mpkr_drop(f);
	arguments_fill(&a, 1);
	ck_ok(mpkr_call(again, a.in, 4, none, 1, &count, &err));
	arguments_check(&a, 1);
	mpkr_drop(again);
	if (files[_i].type == MPKR_DEVICE_CUDA) {
		ck_assert_uint_eq(fake->last_launch()->grid[0], 3);
		ck_assert_uint_eq(fake->last_launch()->block[0], 256);
		ck_assert_msg(fake->misuses(&first) == 0, "%s", first);
		ck_assert_uint_eq(fake->live(), 0);
	}
}
END_TEST

/* Only what follows the inputs is an output. */
START_TEST(outputs_alone_are_written)
{
	static struct arguments a;
	struct mpkr_launch launch = launch_of(3, 256);
	const struct mpkr_tensor *out[3];
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	model = open_or_skip(_i);
	if (!model)
		SKIP_TEST("%s", err.text);
	arguments_fill(&a, 0);
	for (int i = 0; i < 3; i++)
		out[i] = a.in[i + 1];
	ck_ok(mpkr_find_kernel(model, "/0#saxpy_kernel", &launch, &f, &err));
	ck_ok(mpkr_call_into(f, a.in, 1, out, 3, &err));
	arguments_check(&a, 0);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

START_TEST(kernels_say_what_they_take)
{
	static const enum mpkr_kind kinds[] = { MPKR_KIND_TENSOR, MPKR_KIND_TENSOR,
						MPKR_KIND_NUMBER, MPKR_KIND_NUMBER };
	struct mpkr_type type;
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	model = open_or_skip(_i);
	if (!model)
		SKIP_TEST("%s", err.text);
	ck_ok(mpkr_find_kernel(model, "saxpy_kernel", NULL, &f, &err));
	for (size_t i = 0; i < 4; i++) {
		ck_ok(mpkr_input(f, i, &type));
		ck_assert_int_eq(type.kind, kinds[i]);
		ck_assert_str_eq(type.name, "");
		ck_assert_uint_eq(type.dtype.bits, (i < 2 ? 0 : i == 2 ? 32 : 64));
	}
	ck_assert_int_eq(mpkr_input(f, 4, &type), MPKR_E_NOT_FOUND);
	ck_assert_int_eq(mpkr_output(f, 0, &type), MPKR_E_NOT_FOUND);
	ck_fails(mpkr_expect(f, 3, MPKR_KIND_TEXT, &err), MPKR_E_USAGE, "input 3");
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

START_TEST(kernels_that_are_wrong)
{
	static struct arguments a;
	struct mpkr_launch launch = launch_of(1, 1);
	struct mpkr_result *none[1];
	mpkr_function *f = NULL;
	mpkr_model *model;
	size_t count;

	NEED_FIXTURES;
	model = open_or_skip(_i);
	if (!model)
		SKIP_TEST("%s", err.text);
	ck_fails(mpkr_find_kernel(model, "saxpy_kernal", NULL, &f, &err), MPKR_E_NOT_FOUND,
		 "did you mean 'saxpy_kernel'?");
	ck_fails(mpkr_find_kernel(model, "/7#saxpy_kernel", NULL, &f, &err), MPKR_E_NOT_FOUND,
		 "no module at '/7'");
	ck_fails(mpkr_find_kernel(NULL, "saxpy_kernel", NULL, &f, &err), MPKR_E_USAGE, "NULL");
	launch.grid[2] = 2;
	ck_fails(mpkr_find_kernel(model, "saxpy_kernel", &launch, &f, &err), MPKR_E_USAGE,
		 "no axis blockIdx.z");
	launch = launch_of(1, 1);
	launch.size = 8;
	ck_fails(mpkr_find_kernel(model, "saxpy_kernel", &launch, &f, &err), MPKR_E_USAGE,
		 "set its size");
	ck_assert_ptr_null(f);
	ck_ok(mpkr_find_kernel(model, "saxpy_kernel", NULL, &f, &err));
	arguments_fill(&a, 0);
	ck_fails(mpkr_call(f, a.in, 3, none, 1, &count, &err), MPKR_E_USAGE,
		 "takes 4 inputs, not 3");
	a.in[3] = &a.tensors[0];
	ck_fails(mpkr_call(f, a.in, 4, none, 1, &count, &err), MPKR_E_USAGE, "input 3 is a number");
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* A device that was asked for is kept to; a file without modules has no kernels. */
START_TEST(kernels_of_another_device)
{
	struct mpkr_options on_host = { .size = sizeof on_host, .device = { MPKR_DEVICE_CPU, 0 } };
	mpkr_function *f;
	mpkr_model *model;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("cuda/saxpy_opencl.so"), &on_host, &model, &err));
	ck_fails(mpkr_find_kernel(model, "saxpy_kernel", NULL, &f, &err), MPKR_E_USAGE,
		 "is code for opencl, not for cpu");
	mpkr_close(model);
	ck_ok(mpkr_open(data_path("formats/14_llvm_noblob.so"), NULL, &model, &err));
	ck_fails(mpkr_find_kernel(model, "add", NULL, &f, &err), MPKR_E_NOT_FOUND, "no blob");
	mpkr_close(model);
}
END_TEST

int main(void)
{
	static char cache[] = "/tmp/check_run_kernels_XXXXXX";
	Suite *s = suite_create("run_kernels");
	TCase *tc = tcase_create("mpk/run.h");

	if (!find_fakes() || !mkdtemp(cache))
		return EXIT_FAILURE;
	(void)setenv("POCL_CACHE_DIR", cache, 1);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, kernels_give_what_they_compute, 0, 2);
	tcase_add_loop_test(tc, outputs_alone_are_written, 0, 2);
	tcase_add_loop_test(tc, kernels_say_what_they_take, 0, 2);
	tcase_add_loop_test(tc, kernels_that_are_wrong, 0, 2);
	tcase_add_test(tc, kernels_of_another_device);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	folder_remove(cache);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

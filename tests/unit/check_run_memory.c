/* SPDX-License-Identifier: Apache-2.0 */
/* libmpk-run when memory is out: each allocation of each step fails once
 *
 * The linker leads every allocation of the library here (--wrap). What fails has to say MPKR_E_NO_MEMORY, to leave what
 * its arguments point to alone, and to work afterwards.
 */
/* Code that TVM generates returns at once where a second workspace is not to be had, and keeps the first. */
#define MORE_LEAKS "leak:alloc_workspace\n"

#include "device_fake.h"
#include "run_models.h"
#include "tensor/tensor.h"

/* --- allocations ------------------------------------------------------------------------------ */

static long until; /* allocations until one fails; 0: none does */
static bool has_failed;

static bool fails(void)
{
	bool now = until == 1;

	has_failed |= now;
	until -= until > 0;
	return now;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	return fails() ? NULL : __real_aligned_alloc(align, bytes);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
	return fails() ? NULL : __real_strndup(text, len);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* One life of a model. Each step is taken until it succeeds, with its first allocation failing, then with its second,
 * and so on. */
#define STEP(call)                                                                                 \
	do {                                                                                       \
		int code_;                                                                         \
		long n_ = 0;                                                                       \
		do {                                                                               \
			has_failed = false;                                                        \
			until = ++n_;                                                              \
			code_ = (call);                                                            \
			until = 0;                                                                 \
			ck_assert_msg(code_ == MPKR_OK || code_ == MPKR_E_NO_MEMORY,               \
				      "%s: allocation %ld: %d: %s", #call, n_, code_, err.text);   \
			ck_assert_msg(code_ == MPKR_OK || has_failed, "%s: %s", #call, err.text);  \
			failures += code_ != MPKR_OK;                                              \
		} while (code_ != MPKR_OK || has_failed);                                          \
	} while (0)

static unsigned failures; /* of the test under way */

/* A step that allocates succeeds in spite of a failure, too: what it got is given back before the next try. */
static int open_again(const char *path, mpkr_model **out)
{
	mpkr_close(*out);
	*out = NULL;
	return mpkr_open(path, NULL, out, &err);
}

static int find_again(mpkr_model *model, const char *name, mpkr_function **out)
{
	mpkr_drop(*out);
	*out = NULL;
	return mpkr_find(model, name, out, &err);
}

static int session_again(mpkr_function *f, mpkr_function **out)
{
	mpkr_drop(*out);
	*out = NULL;
	return mpkr_session(f, out, &err);
}

static int call_again(mpkr_function *f, const struct mpkr_tensor *const *in, size_t n,
		      struct mpkr_result **results, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		mpkr_free(results[i]);
	*count = 0;
	return mpkr_call(f, in, n, results, 3, count, &err);
}

START_TEST(every_allocation_of_a_model)
{
	const struct model *m = &models[_i];
	size_t n = count_names(m->in), count = 0;
	mpkr_model *model = NULL;
	mpkr_function *f = NULL, *own = NULL;
	const struct mpkr_tensor *in[3];
	struct mpkr_result *results[3];
	struct array arrays[3];

	NEED_FIXTURES;
	if (m->on_device)
		SKIP_TEST("drivers allocate for themselves");
	for (size_t i = 0; i < n; i++) {
		array_load(&arrays[i], m->in[i], false);
		in[i] = &arrays[i].tensor;
	}
	STEP(open_again(data_path(m->path), &model));
	STEP(find_again(model, m->function, &f));
	STEP(session_again(f, &own));
	STEP(call_again(own, in, n, results, &count));
	ck_assert_uint_ge(failures, 20);
	ck_assert_uint_eq(count, count_names(m->out));
	for (size_t i = 0; i < count; i++) {
		check_result(results[i], m->out[i]);
		mpkr_free(results[i]);
	}
	call_model(m, f, true);
	for (size_t i = 0; i < n; i++)
		array_free(&arrays[i]);
	mpkr_drop(f);
	mpkr_drop(own);
	mpkr_close(model);
}
END_TEST

/* Lists have no code to return: they are shorter, or their texts are missing, and whole the next time. */
START_TEST(every_allocation_of_a_list)
{
	mpkr_model *model;
	const char *signature = NULL;
	size_t count = 0;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("relax/gelu.so"), NULL, &model, &err));
	for (long n = 1; !count; n++) {
		until = n;
		count = mpkr_function_count(model);
		until = 0;
		failures++;
	}
	ck_assert_uint_gt(failures, 1);
	ck_assert_str_eq(mpkr_function_name(model, 0), "forward");
	failures = 0;
	for (long n = 1; !signature; n++) {
		until = n;
		signature = mpkr_function_signature(model, 0);
		until = 0;
		failures++;
		ck_assert_msg(!signature || strstr(signature, "forward(x: f32[4, 24])"), "%s",
			      signature);
	}
	ck_assert_uint_gt(failures, 1);
	mpkr_close(model);
}
END_TEST

static int bind_again(mpkr_model **model, const char *path)
{
	int code;
	long left = until;

	/* bound parameters are never unbound */
	until = 0;
	ck_ok(open_again(data_path("relax/packed.so"), model));
	until = left;
	code = mpkr_bind_weights(*model, path, NULL, &err);
	return code;
}

START_TEST(every_allocation_of_parameters)
{
	mpkr_model *model = NULL;
	mpkr_function *f = NULL;

	NEED_FIXTURES;
	STEP(bind_again(&model, "tests/data/relax/packed.weights.npz"));
	ck_assert_uint_gt(failures, 8);
	STEP(find_again(model, "forward", &f));
	ck_assert_int_eq(mpkr_input(f, 1, &(struct mpkr_type){ 0 }), MPKR_E_NOT_FOUND);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* test.vm.add of registered.so: twice its first argument, which has four numbers. */
static int add_numbers(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		       struct mpkr_error *why)
{
	const int64_t four = 4;
	float sums[4];
	struct mpkr_tensor t = mpkr_tensor_on_host(sums, MPKR_DTYPE_FLOAT, 32, 1, &four);
	struct mpkr_result *x;

	(void)context;
	if (mpkr_value_tensor(call->args[0], 0, &x, why))
		return why->code;
	for (int i = 0; i < 4; i++)
		sums[i] = 2 * ((float *)x->tensor.data)[i];
	mpkr_free(x);
	return mpkr_value_make(call->model, MPKR_KIND_TENSOR, &t, result, why);
}

START_TEST(every_allocation_of_an_application)
{
	static const char *const paths[] = { "relax/registered.so",
					     "relax/registered_compiled.so" };
	const int64_t four = 4;
	const float x[4] = { 1, 2, 3, 4 };
	struct mpkr_tensor t = mpkr_tensor_on_host(x, MPKR_DTYPE_FLOAT, 32, 1, &four);
	const struct mpkr_tensor *in[2] = { &t, &t };
	struct mpkr_result *results[3];
	mpkr_model *model = NULL;
	mpkr_function *f = NULL;
	size_t count = 0;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path(paths[_i]), NULL, &model, &err));
	STEP(mpkr_register(model, "test.vm.add", add_numbers, NULL, &err));
	STEP(find_again(model, "add", &f));
	STEP(call_again(f, in, 2, results, &count));
	ck_assert_uint_gt(failures, 5);
	ck_assert_uint_eq(count, 1);
	ck_assert_float_eq(((float *)results[0]->tensor.data)[3], 8);
	mpkr_free(results[0]);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

static int kernel_again(mpkr_model *model, mpkr_function **out)
{
	struct mpkr_launch launch = { .size = sizeof launch, .grid = { 1 }, .block = { 64 } };

	mpkr_drop(*out);
	*out = NULL;
	return mpkr_find_kernel(model, "saxpy_kernel", &launch, out, &err);
}

START_TEST(every_allocation_of_a_kernel)
{
	mpkr_model *model = NULL;
	mpkr_function *f = NULL;

	NEED_FIXTURES;
	fake = open_fake("libcuda.so.1");
	ck_ok(mpkr_open(data_path("cuda/fatbin/saxpy_cuda.so"), NULL, &model, &err));
	STEP(kernel_again(model, &f));
	ck_assert_uint_gt(failures, 3);
	mpkr_drop(f);
	mpkr_close(model);
	ck_assert_uint_eq(fake->live(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_memory");
	TCase *tc = tcase_create("mpk/run.h");

	if (!find_fakes())
		return EXIT_FAILURE;
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, every_allocation_of_a_model, 0, MPK_ARRAY_COUNT(models));
	tcase_add_test(tc, every_allocation_of_a_list);
	tcase_add_test(tc, every_allocation_of_parameters);
	tcase_add_loop_test(tc, every_allocation_of_an_application, 0, 2);
	tcase_add_test(tc, every_allocation_of_a_kernel);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

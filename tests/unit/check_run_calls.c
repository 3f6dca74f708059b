/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in libmpk-run: what goes in, where results go, what is refused */
#include "run_models.h"

/* --- host functions --------------------------------------------------------------------------- */

/* Into aligned memory, into memory that is not, and into every second element. */
START_TEST(host_functions_write_to_outputs)
{
	static _Alignas(64) float memory[64], a[16], b[16];
	const int64_t shape[1] = { 16 };
	int64_t strides[1] = { 2 };
	struct mpkr_tensor in[2] = { mpkr_tensor_on_host(a, MPKR_DTYPE_FLOAT, 32, 1, shape),
				     mpkr_tensor_on_host(b, MPKR_DTYPE_FLOAT, 32, 1, shape) };
	struct mpkr_tensor out =
		mpkr_tensor_on_host(memory + (_i ? 1 : 0), MPKR_DTYPE_FLOAT, 32, 1, shape);
	const struct mpkr_tensor *all[3] = { &in[0], &in[1], &out }, *outs[1] = { &out };
	struct mpkr_result *none[1];
	size_t count = 9, step = _i == 2 ? 2 : 1;
	mpkr_function *f;

	NEED_FIXTURES;
	for (int i = 0; i < 16; i++) {
		a[i] = (float)i;
		b[i] = 100;
	}
	for (int i = 0; i < 64; i++)
		memory[i] = -1;
	out.strides = _i == 2 ? strides : NULL;
	f = find_in("formats/14_llvm_noblob.so", "add");
	ck_ok(mpkr_call_into(f, all, 2, outs, 1, &err));
	for (size_t i = 0; i < 16; i++)
		ck_assert_float_eq(((float *)out.data)[step * i], (float)(100 + i));
	ck_assert_float_eq(((float *)out.data)[15 * step + 1], -1);
	if (_i == 2)
		ck_assert_float_eq(((float *)out.data)[1], -1);
	/* as one of its arguments it is written to as well */
	b[3] = 7;
	ck_ok(mpkr_call(f, all, 3, none, 1, &count, &err));
	ck_assert_uint_eq(count, 0);
	ck_assert_float_eq(((float *)out.data)[3 * step], 10);
	mpkr_drop(f);
}
END_TEST

/* Inputs that a function does not write to may lie in read-only memory, aligned or not. */
START_TEST(inputs_are_not_written)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = NULL;
	static _Alignas(64) float sum[16];
	const int64_t shape[1] = { 16 };
	struct mpkr_tensor a = mpkr_tensor_on_host(memory, MPKR_DTYPE_FLOAT, 32, 1, shape),
			   b = mpkr_tensor_on_host(memory, MPKR_DTYPE_FLOAT, 32, 1, shape),
			   c = mpkr_tensor_on_host(sum, MPKR_DTYPE_FLOAT, 32, 1, shape);
	const struct mpkr_tensor *in[3] = { &a, &b, &c };
	struct mpkr_result *none[1];
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	ck_assert_int_eq(posix_memalign(&memory, page, page), 0);
	a.data = memory;
	b.data = (char *)memory + 4;
	for (int i = 0; i < 17; i++)
		((float *)memory)[i] = (float)i;
	ck_assert_int_eq(mprotect(memory, page, PROT_READ), 0);
	f = find_in("formats/14_llvm_noblob.so", "add");
	ck_ok(mpkr_call(f, in, 3, none, 1, &count, &err));
	for (int i = 0; i < 16; i++)
		ck_assert_float_eq(sum[i], (float)(2 * i + 1));
	mpkr_drop(f);
	ck_assert_int_eq(mprotect(memory, page, PROT_READ | PROT_WRITE), 0);
	free(memory);
}
END_TEST

/* Tensors of the host go to the device and back, into outputs alone, or into whatever was written to. */
START_TEST(host_functions_on_a_device)
{
	static float a[1024], b[1024], c[1025];
	const int64_t shape[1] = { 1024 };
	struct mpkr_tensor ta = mpkr_tensor_on_host(a, MPKR_DTYPE_FLOAT, 32, 1, shape),
			   tb = mpkr_tensor_on_host(b, MPKR_DTYPE_FLOAT, 32, 1, shape),
			   tc = mpkr_tensor_on_host(c + 1, MPKR_DTYPE_FLOAT, 32, 1, shape);
	const struct mpkr_tensor *all[3] = { &ta, &tb, &tc }, *out[1] = { &tc };
	struct mpkr_result *none[1];
	mpkr_model *model;
	mpkr_function *f;
	size_t count;
	int code;

	NEED_FIXTURES;
	for (int i = 0; i < 1024; i++) {
		a[i] = (float)i;
		b[i] = (float)(2 * i);
	}
	ck_ok(mpkr_open(data_path("cuda/vadd_opencl.so"), NULL, &model, &err));
	code = mpkr_find(model, "vadd", &f, &err);
	if (code == MPKR_E_DEVICE)
		SKIP_TEST("%s", err.text);
	ck_ok(code);
	if (_i)
		ck_ok(mpkr_call(f, all, 3, none, 1, &count, &err));
	else
		ck_ok(mpkr_call_into(f, all, 2, out, 1, &err));
	for (int i = 0; i < 1024; i++) {
		ck_assert_float_eq(c[1 + i], (float)(3 * i));
		ck_assert_float_eq(a[i], (float)i);
	}
	tc.device.device_type = MPKR_DEVICE_OPENCL;
	ck_fails(mpkr_call_into(f, all, 2, out, 1, &err), MPKR_E_USAGE, "output 0 is in memory of");
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* <dir>/tests/unit/check_run_library -> <dir>/tests/modules/NAME.so */
static const char *module_path(const char *name)
{
	static char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, 3900);

	ck_assert_int_gt(len, 0);
	self[len] = '\0';
	for (int i = 0; i < 2; i++)
		*strrchr(self, '/') = '\0';
	(void)snprintf(strchr(self, '\0'), 100, "/modules/%s.so", name);
	return self;
}

static mpkr_model *open_module(const char *name)
{
	mpkr_model *model;

	ck_ok(mpkr_open(module_path(name), NULL, &model, &err));
	return model;
}

static struct mpkr_result *call_one(mpkr_function *f, const struct mpkr_tensor *in)
{
	struct mpkr_result *r;
	size_t count;

	ck_ok(mpkr_call(f, &in, 1, &r, 1, &count, &err));
	ck_assert_uint_eq(count, 1);
	return r;
}

/* A function that returns its input gives a copy of it, also of one that was used where it lies. */
START_TEST(results_are_never_inputs)
{
	static _Alignas(64) float memory[8] = { 1, 2, 3, 4 };
	const int64_t shape[2] = { 2, 2 };
	struct mpkr_tensor t = mpkr_tensor_on_host(memory + _i, MPKR_DTYPE_FLOAT, 32, 2, shape);
	mpkr_model *model = open_module("ffi");
	struct mpkr_result *r;
	mpkr_function *f;

	ck_ok(mpkr_find(model, "echo", &f, &err));
	r = call_one(f, &t);
	ck_assert_ptr_ne(r->tensor.data, t.data);
	ck_assert_mem_eq(r->tensor.data, t.data, 16);
	memory[_i] = 9;
	ck_assert_float_eq(*(float *)r->tensor.data, (float)(1 + _i));
	*(float *)r->tensor.data = 5;
	ck_assert_float_eq(memory[_i], 9);
	memory[_i] = (float)(1 + _i);
	mpkr_free(r);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* What is no tensor crosses as one, as the caller says. */
START_TEST(numbers_shapes_and_texts)
{
	static const int64_t extents[2] = { 3, 5 }, two[1] = { 2 }, three[1] = { 3 };
	static const double real = 2.5;
	static const int16_t whole = -7;
	static const uint8_t bit = 1;
	const struct {
		enum mpkr_kind kind;
		struct mpkr_tensor in;
		uint8_t code, bits;
		int32_t ndim;
		const void *content;
		size_t bytes;
	} cases[] = {
		{ MPKR_KIND_NUMBER, mpkr_tensor_on_host(&real, MPKR_DTYPE_FLOAT, 64, 0, NULL),
		  MPKR_DTYPE_FLOAT, 64, 0, &real, 8 },
		{ MPKR_KIND_NUMBER, mpkr_tensor_on_host(&whole, MPKR_DTYPE_INT, 16, 0, NULL),
		  MPKR_DTYPE_INT, 64, 0, &(int64_t){ -7 }, 8 },
		{ MPKR_KIND_NUMBER, mpkr_tensor_on_host(&bit, MPKR_DTYPE_BOOL, 8, 0, NULL),
		  MPKR_DTYPE_BOOL, 8, 0, &bit, 1 },
		{ MPKR_KIND_SHAPE, mpkr_tensor_on_host(extents, MPKR_DTYPE_INT, 64, 1, two),
		  MPKR_DTYPE_INT, 64, 1, extents, 16 },
		{ MPKR_KIND_TEXT, mpkr_tensor_on_host("abc", MPKR_DTYPE_UINT, 8, 1, three),
		  MPKR_DTYPE_UINT, 8, 1, "abc", 3 },
	};
	mpkr_model *model = open_module("ffi");
	struct mpkr_result *r;
	mpkr_function *f;

	ck_ok(mpkr_find(model, "echo", &f, &err));
	ck_ok(mpkr_expect(f, 0, cases[_i].kind, &err));
	r = call_one(f, &cases[_i].in);
	ck_assert_uint_eq(r->tensor.dtype.code, cases[_i].code);
	ck_assert_uint_eq(r->tensor.dtype.bits, cases[_i].bits);
	ck_assert_int_eq(r->tensor.ndim, cases[_i].ndim);
	ck_assert_mem_eq(r->tensor.data, cases[_i].content, cases[_i].bytes);
	mpkr_free(r);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* Nothing comes back as nothing, and none goes in as none. */
START_TEST(none_is_no_result)
{
	mpkr_model *model = open_module("ffi");
	const struct mpkr_tensor *in[1] = { NULL };
	struct mpkr_result *r[1];
	mpkr_function *f;
	size_t count = 5;

	ck_ok(mpkr_find(model, "echo", &f, &err));
	ck_ok(mpkr_call(f, in, 1, r, 1, &count, &err));
	ck_assert_uint_eq(count, 0);
	mpkr_drop(f);
	ck_ok(mpkr_find(model, "nothing", &f, &err));
	ck_ok(mpkr_call(f, NULL, 0, NULL, 0, &count, NULL));
	ck_assert_uint_eq(count, 0);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* Rows that lie apart come back without gaps. */
START_TEST(results_are_compact)
{
	static const float want[4] = { 1, 3, 2, 4 };
	mpkr_model *model = open_module("ffi");
	struct mpkr_result *r[1];
	mpkr_function *f;
	size_t count;

	ck_ok(mpkr_find(model, "make_tensor", &f, &err));
	ck_ok(mpkr_call(f, NULL, 0, r, 1, &count, &err));
	mpkr_drop(f);
	mpkr_close(model);
	ck_assert_int_eq(r[0]->tensor.strides[0], 2);
	ck_assert_int_eq(r[0]->tensor.strides[1], 1);
	ck_assert_mem_eq(r[0]->tensor.data, want, sizeof want);
	mpkr_free(r[0]);
}
END_TEST

/* --- into tensors of the caller --------------------------------------------------------------- */

START_TEST(models_write_results_where_a_caller_wants_them)
{
	const struct model *m = &models[2];
	struct array in, want[2];
	float *memory[2];
	int64_t strides[2] = { 1, 6 };
	struct mpkr_tensor out[2];
	const struct mpkr_tensor *ins[1] = { &in.tensor }, *outs[2] = { &out[0], &out[1] };
	mpkr_function *f;

	NEED_FIXTURES;
	f = find_in(m->path, m->function);
	array_load(&in, m->in[0], false);
	for (int i = 0; i < 2; i++) {
		array_load(&want[i], m->out[i], true);
		memory[i] = calloc(1, want[i].npy.data.len + 64);
		out[i] = want[i].tensor;
		out[i].data = memory[i] + 1; /* not aligned */
	}
	/* a transposed matrix */
	strides[1] = want[1].npy.shape[0];
	out[1].strides = strides;
	ck_ok(mpkr_call_into(f, ins, 1, outs, 2, &err));
	for (int64_t i = 0; i < want[0].npy.shape[0]; i++)
		ck_assert_float_eq_tol(memory[0][1 + i], ((float *)want[0].data)[i], 2e-5F);
	for (int64_t i = 0; i < want[1].npy.shape[0]; i++)
		for (int64_t k = 0; k < want[1].npy.shape[1]; k++)
			ck_assert_float_eq_tol(
				memory[1][1 + i + k * strides[1]],
				((float *)want[1].data)[i * want[1].npy.shape[1] + k], 2e-5F);
	/* what does not fit is not begun */
	memory[0][1] = 77;
	out[1].ndim = 1;
	ck_fails(mpkr_call_into(f, ins, 1, outs, 2, &err), MPKR_E_USAGE, "output 1 is float32[");
	ck_fails(mpkr_call_into(f, ins, 1, outs, 1, &err), MPKR_E_USAGE, "2 results for 1 output");
	ck_assert_float_eq(memory[0][1], 77);
	for (int i = 0; i < 2; i++) {
		free(memory[i]);
		array_free(&want[i]);
	}
	array_free(&in);
	mpkr_drop(f);
}
END_TEST

/* --- errors ----------------------------------------------------------------------------------- */

START_TEST(calls_that_are_wrong)
{
	static _Alignas(64) float x[256];
	int64_t shape[2] = { 2, 20 }, wide[2] = { 2, 13 }, negative[1] = { -1 };
	struct mpkr_tensor data = mpkr_tensor_on_host(x, MPKR_DTYPE_FLOAT, 32, 2, shape),
			   extra = mpkr_tensor_on_host(x, MPKR_DTYPE_FLOAT, 32, 2, wide), bad;
	const struct mpkr_tensor *in[2] = { &data, &extra };
	struct mpkr_result *r[2] = { NULL };
	mpkr_model *model;
	mpkr_function *f;
	size_t count = 77;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("legacy/mlp_llvm.so"), NULL, &model, &err));
	ck_fails(mpkr_find(model, "defaul", &f, &err), MPKR_E_NOT_FOUND, "did you mean 'default'?");
	ck_ok(mpkr_find(model, "default", &f, &err));
	ck_fails(mpkr_call(f, in, 1, r, 2, &count, &err), MPKR_E_USAGE, "1 input for 2: default(");
	ck_fails(mpkr_call(f, in, 2, r, 2, &count, &err), MPKR_E_USAGE,
		 "input 'extra' takes float32[2, 12], not float32[2, 13]");
	ck_assert_ptr_null(strstr(err.text, "--"));
	bad = data;
	in[0] = &bad;
	wide[1] = 12;
	bad.ndim = 33;
	ck_fails(mpkr_call(f, in, 2, r, 2, &count, &err), MPKR_E_USAGE, "33 dimensions");
	bad.ndim = 2;
	bad.shape = NULL;
	ck_fails(mpkr_call(f, in, 2, r, 2, &count, &err), MPKR_E_USAGE, "no shape");
	bad = data;
	bad.data = NULL;
	ck_fails(mpkr_call(f, in, 2, r, 2, &count, &err), MPKR_E_USAGE, "no data");
	bad = data;
	bad.ndim = 1;
	bad.shape = negative;
	ck_fails(mpkr_call(f, in, 2, r, 2, &count, &err), MPKR_E_USAGE, "input 0: ");
	bad = data;
	bad.device.device_type = MPKR_DEVICE_CUDA;
	ck_fails(mpkr_call(f, in, 2, r, 2, &count, &err), MPKR_E_USAGE, "input 0 is in memory of");
	in[0] = NULL;
	ck_fails(mpkr_call(f, in, 2, r, 2, &count, &err), MPKR_E_USAGE, "input 'data' takes");
	in[0] = &data;
	ck_assert_uint_eq(count, 77);
	ck_fails(mpkr_call(f, in, 2, r, 1, &count, &err), MPKR_E_USAGE,
		 "2 results, and room for 1");
	ck_assert_uint_eq(count, 2);
	ck_assert_ptr_null(r[0]);
	ck_fails(mpkr_call(f, in, 2, r, 2, NULL, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_call(NULL, in, 2, r, 2, &count, &err), MPKR_E_USAGE, "NULL");
	ck_fails(mpkr_find(NULL, "f", &f, &err), MPKR_E_USAGE, "NULL");
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

START_TEST(what_code_raises_is_raised)
{
	mpkr_model *model = open_module("ffi");
	struct mpkr_result *r[1];
	mpkr_function *f;
	size_t count;

	ck_ok(mpkr_find(model, "raise_value_error", &f, &err));
	/* in one line, whatever was raised */
	ck_fails(mpkr_call(f, NULL, 0, r, 1, &count, &err), MPKR_E_RAISED,
		 "ValueError: this is \\x1b[31mwrong");
	ck_assert_ptr_null(strchr(err.text, '\n'));
	mpkr_drop(f);
	ck_ok(mpkr_find(model, "make_function", &f, &err));
	ck_fails(mpkr_call(f, NULL, 0, r, 1, &count, &err), MPKR_E_UNSUPPORTED, "function");
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_calls");
	TCase *tc = tcase_create("mpk/run.h");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, host_functions_write_to_outputs, 0, 3);
	tcase_add_test(tc, inputs_are_not_written);
	tcase_add_loop_test(tc, host_functions_on_a_device, 0, 2);
	tcase_add_loop_test(tc, results_are_never_inputs, 0, 2);
	tcase_add_loop_test(tc, numbers_shapes_and_texts, 0, 5);
	tcase_add_test(tc, none_is_no_result);
	tcase_add_test(tc, results_are_compact);
	tcase_add_test(tc, models_write_results_where_a_caller_wants_them);
	tcase_add_test(tc, calls_that_are_wrong);
	tcase_add_test(tc, what_code_raises_is_raised);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

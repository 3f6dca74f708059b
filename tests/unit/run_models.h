/* SPDX-License-Identifier: Apache-2.0 */
/* run_models.h - models of TVM, as programs use them: through mpk/run.h alone */
#ifndef MPK_TESTS_UNIT_RUN_MODELS_H
#define MPK_TESTS_UNIT_RUN_MODELS_H

#include "harness.h"
#include "leaks.h"
#include "mpk/run.h"
#include "npy/npy.h"
#include "skip.h"

#if defined __x86_64__ && !defined __ILP32__
#define FIXTURES_RUN_HERE true
#else
#define FIXTURES_RUN_HERE false
#endif

static struct mpkr_error err;

#define ck_ok(call)                                                                                \
	do {                                                                                       \
		int code_ = (call);                                                                \
		ck_assert_msg(code_ == MPKR_OK, "%s: %d: %s", #call, code_, err.text);             \
	} while (0)
#define ck_fails(call, want, part)                                                                 \
	do {                                                                                       \
		memset(&err, 0, sizeof err);                                                       \
		ck_assert_int_eq((call), (want));                                                  \
		ck_assert_int_eq(err.code, (want));                                                \
		ck_assert_msg(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);  \
	} while (0)

/* --- files ---------------------------------------------------------------------------------- */

/* A file of tests/data as a caller has it. */
struct array {
	struct mpk_span file;
	struct mpk_npy npy;
	void *data; /* aligned to 64 and a half, so that it is copied, or to 64 */
	struct mpkr_tensor tensor;
};

HARNESS_FN void array_load(struct array *a, const char *name, bool aligned)
{
	struct mpk_error why = { 0 };
	size_t shift = aligned ? 0 : 4;

	a->file = fixture_load(name);
	ck_assert_msg(mpk_npy_read(a->file, &a->npy, &why) == MPK_OK, "%s", why.text);
	ck_assert_int_eq(posix_memalign(&a->data, 64, a->npy.data.len + 64), 0);
	memcpy((char *)a->data + shift, a->npy.data.data, a->npy.data.len);
	a->tensor = mpkr_tensor_on_host((char *)a->data + shift, a->npy.dtype.code,
					a->npy.dtype.bits, (int32_t)a->npy.ndim, a->npy.shape);
}

HARNESS_FN void array_free(struct array *a)
{
	free(a->data);
	fixture_free(a->file);
}

HARNESS_FN void check_result(const struct mpkr_result *r, const char *name)
{
	struct array want;
	size_t count;

	array_load(&want, name, true);
	count = want.npy.data.len / sizeof(float);
	ck_assert_int_eq(r->tensor.ndim, (int)want.npy.ndim);
	for (size_t d = 0; d < want.npy.ndim; d++)
		ck_assert_int_eq(r->tensor.shape[d], want.npy.shape[d]);
	ck_assert_int_eq(r->tensor.device.device_type, MPKR_DEVICE_CPU);
	ck_assert_uint_eq((uintptr_t)r->tensor.data % 64, 0);
	for (size_t i = 0; i < count; i++)
		ck_assert_float_eq_tol(((const float *)r->tensor.data)[i],
				       ((const float *)want.data)[i], 2e-5F);
	array_free(&want);
}

/* Models of each executor, with what the same TVM computed. */
static const struct model {
	const char *path, *function;
	const char *in[3], *out[3];
	bool on_device;
} models[] = {
	{ "relax/gelu.so", "forward", { "relax/gelu.in0.npy" }, { "relax/gelu.out0.npy" }, false },
	{ "relax/gelu_dyn.so",
	  "forward",
	  { "relax/gelu_dyn.in0.npy" },
	  { "relax/gelu_dyn.out0.npy" },
	  false },
	{ "relax/twoout_dyn.so",
	  "forward",
	  { "relax/twoout_dyn.in0.npy" },
	  { "relax/twoout_dyn.out0.npy", "relax/twoout_dyn.out1.npy" },
	  false },
	{ "relax/embed_dyn.so",
	  "forward",
	  { "relax/embed_dyn.in0.npy" },
	  { "relax/embed_dyn.out0.npy" },
	  false },
	{ "legacy/mlp_llvm.so",
	  "default",
	  { "legacy/mlp.data.npy", "legacy/mlp.extra.npy" },
	  { "legacy/mlp_llvm.out0.npy", "legacy/mlp_llvm.out1.npy" },
	  false },
	{ "legacy/mlp_aot.so",
	  "default",
	  { "legacy/mlp.data.npy", "legacy/mlp.extra.npy" },
	  { "legacy/mlp_llvm.out0.npy", "legacy/mlp_llvm.out1.npy" },
	  false },
	{ "legacy/mlp_vm.so",
	  "main",
	  { "legacy/mlp.data.npy", "legacy/mlp.extra.npy" },
	  { "legacy/mlp_llvm.out0.npy", "legacy/mlp_llvm.out1.npy" },
	  false },
	{ "relax/gelu_opencl.so",
	  "forward",
	  { "relax/gelu_opencl.in0.npy" },
	  { "relax/gelu_opencl.out0.npy" },
	  true },
	{ "legacy/mlp_opencl.so",
	  "default",
	  { "legacy/mlp.data.npy", "legacy/mlp.extra.npy" },
	  { "legacy/mlp_llvm.out0.npy", "legacy/mlp_llvm.out1.npy" },
	  true },
};

HARNESS_FN const char *data_path(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof path, "tests/data/%s", name);
	return path;
}

HARNESS_FN size_t count_names(const char *const *names)
{
	size_t n = 0;

	while (n < 3 && names[n])
		n++;
	return n;
}

HARNESS_FN void call_model(const struct model *m, mpkr_function *f, bool aligned)
{
	size_t n = count_names(m->in), want = count_names(m->out), count = 99;
	const struct mpkr_tensor *in[3];
	struct mpkr_result *results[3];
	struct array arrays[3];

	for (size_t i = 0; i < n; i++) {
		array_load(&arrays[i], m->in[i], aligned);
		in[i] = &arrays[i].tensor;
	}
	ck_ok(mpkr_call(f, in, n, results, 3, &count, &err));
	ck_assert_uint_eq(count, want);
	for (size_t i = 0; i < n; i++)
		array_free(&arrays[i]);
	for (size_t i = 0; i < count; i++) {
		check_result(results[i], m->out[i]);
		mpkr_free(results[i]);
	}
}

/* A driver may be missing; anything else is a failure. */
HARNESS_FN mpkr_function *find_or_skip(const struct model *m, mpkr_model *model)
{
	mpkr_function *f = NULL;
	int code = mpkr_find(model, m->function, &f, &err);

	if (code == MPKR_E_DEVICE && m->on_device)
		return NULL;
	ck_ok(code);
	return f;
}

#define NEED_FIXTURES                                                                              \
	if (!FIXTURES_RUN_HERE)                                                                    \
	SKIP_TEST("the fixtures are libraries for x86-64")

HARNESS_FN mpkr_function *find_in(const char *path, const char *name)
{
	mpkr_function *f;
	mpkr_model *model;

	ck_ok(mpkr_open(data_path(path), NULL, &model, &err));
	ck_ok(mpkr_find(model, name, &f, &err));
	mpkr_close(model);
	return f;
}

#endif

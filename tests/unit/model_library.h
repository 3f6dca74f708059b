/* SPDX-License-Identifier: Apache-2.0 */
/* model_library.h - libraries of the fixtures, opened with the executors of models */
#ifndef MPK_TESTS_MODEL_LIBRARY_H
#define MPK_TESTS_MODEL_LIBRARY_H

#include "executor/executor.h"
#include "library/internal/library.h"
#include "module_made.h"
#include "npy/npy.h"
#include "payload.h"
#include "runtime/library.h"
#include "skip.h"

static struct mpk_error err;

static inline struct mpk_value npy_tensor(const char *name)
{
	struct mpk_value v = { .kind = MPK_VALUE_TENSOR };
	struct mpk_span file = fixture_load(name);
	struct mpk_npy npy;

	ck_assert_ok(mpk_npy_read(file, &npy, &err), err);
	ck_assert_ok(mpk_tensor_create(npy.dtype, npy.shape, npy.ndim, MPK_STORAGE_PRIVATE,
				       &v.tensor, &err),
		     err);
	memcpy(v.tensor->dl.data, npy.data.data, (size_t)v.tensor->bytes);
	fixture_free(file);
	return v;
}

static inline void check_floats(const struct mpk_value *got, const struct mpk_value *expected)
{
	ck_assert_uint_eq(got->tensor->bytes, expected->tensor->bytes);
	for (uint64_t i = 0; i < mpk_tensor_count(got->tensor); i++)
		ck_assert_float_eq_tol(((float *)got->tensor->dl.data)[i],
				       ((float *)expected->tensor->dl.data)[i], 1e-6F);
}

/* --- a library ----------------------------------------------------------------------------- */

struct library {
	const struct mpk_host_code *code;
	struct mpk_runtime_options options;
	struct mpk_runtime *runtime;
	struct mpk_library *library;
};

static inline void library_open(struct library *l, const char *folder, const char *name)
{
	struct mpk_library_file *file;
	char path[4100];

	(void)snprintf(path, sizeof path, "%s/%s.so", folder, name);
	ck_assert_ok(mpk_library_file_open(path, (struct mpk_span){ 0 }, NULL, &file, &err), err);
	l->code = mpk_library_file_code(file);
	ck_assert_ok(mpk_runtime_create(&l->options, &l->runtime, &err), err);
	ck_assert_ok(mpk_executors_add(l->runtime, &err), err);
	ck_assert_ok(mpk_library_open(l->runtime, l->code, &l->library, &err), err);
}

static inline void library_close(struct library *l)
{
	mpk_library_close(l->library);
	mpk_runtime_destroy(l->runtime);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_call.h - calls of the global functions of a runtime, with arguments made in place */
#ifndef MPK_TESTS_UNIT_CONTRIB_CALL_H
#define MPK_TESTS_UNIT_CONTRIB_CALL_H

#include "assert_error.h"
#include "executor/executor.h"
#include "globals.h"
#include "harness.h"
#include "runtime/runtime.h"
#include "value/element.h"

static struct mpk_runtime *runtime;
static struct mpk_error err;
static uint64_t seed_state = 7;

HARNESS_FN void setup(void)
{
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	ck_assert_ok(mpk_executors_add(runtime, &err), err);
}

HARNESS_FN void teardown(void)
{
	mpk_runtime_destroy(runtime);
}

HARNESS_FN enum mpk_code call(const char *name, const struct mpk_value *args, size_t count)
{
	struct mpk_function *f = global_named(runtime, name);
	struct mpk_value result = { 0 };
	enum mpk_code code;

	ck_assert_msg(f != NULL, "%s", name);
	code = mpk_function_call(f, &(struct mpk_args){ args, NULL, count }, &result, &err);
	ck_assert_int_eq(result.kind, MPK_VALUE_NONE);
	return code;
}

#define CALL(name, ...)                                                                            \
	call(name, (const struct mpk_value[]){ __VA_ARGS__ },                                      \
	     sizeof((const struct mpk_value[]){ __VA_ARGS__ }) / sizeof(struct mpk_value))
#define INT(i) mpk_value_of_int(i)
#define FLOAT(f) mpk_value_of_float(f)

HARNESS_FN struct mpk_value make(struct mpk_dtype type, const int64_t *shape, size_t ndim)
{
	struct mpk_tensor *t = NULL;

	ck_assert_ok(mpk_tensor_create(type, shape, ndim, MPK_STORAGE_PRIVATE, &t, &err), err);
	return mpk_value_of_tensor(t);
}

HARNESS_FN struct mpk_value list_of(struct mpk_dtype type, int64_t count)
{
	return make(type, &count, 1);
}

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
static const struct mpk_dtype f64 = { MPK_DTYPE_FLOAT, 64, 1 };
static const struct mpk_dtype i32 = { MPK_DTYPE_INT, 32, 1 };
static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };

HARNESS_FN struct mpk_value floats(size_t count, const float *values)
{
	struct mpk_value v = list_of(f32, (int64_t)count);

	memcpy(v.tensor->dl.data, values, count * sizeof *values);
	return v;
}
#define FLOATS(...)                                                                                \
	floats(sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float),                             \
	       (const float[]){ __VA_ARGS__ })

HARNESS_FN struct mpk_value text(const char *s)
{
	struct mpk_value v;

	ck_assert_ok(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str(s), &v, &err), err);
	return v;
}

HARNESS_FN struct mpk_element at(const struct mpk_value *v, size_t i)
{
	const struct mpk_dltensor *dl = &v->tensor->dl;

	return mpk_element_load(dl->dtype, (const uint8_t *)mpk_dltensor_data(dl) +
						   i * mpk_dtype_bytes(dl->dtype));
}

HARNESS_FN int64_t index_at(const struct mpk_value *v, size_t i)
{
	struct mpk_element e = at(v, i);

	if (e.class == MPK_ELEMENT_FLOAT)
		return (int64_t)e.f;
	return e.class == MPK_ELEMENT_UINT ? (int64_t)e.u : e.i;
}

HARNESS_FN void drop_all(struct mpk_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&values[i]);
}

#endif

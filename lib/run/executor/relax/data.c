/* SPDX-License-Identifier: Apache-2.0 */
/* data.c - builtins that look at the content of tensors: conditions, shapes out of data, assertions
 *
 * What they return may be another thing in each call of the same shapes, so that a function which has one
 * of them gets no plan. The content may be on a device, from which it is fetched.
 */
#include <string.h>

#include "base/native.h"
#include "executor/relax/internal/relax.h"
#include "runtime/context.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"

/* The first `bytes` bytes of a compact tensor, wherever it lies. */
static enum mpk_code read_bytes(const struct mpk_tensor *t, void *out, size_t bytes,
				struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_device *device;

	if (!bytes) /* then there need not be an address */
		return MPK_OK;
	if (mpk_dldevice_is_host(t->dl.device)) {
		memcpy(out, mpk_dltensor_data(&t->dl), bytes);
		return MPK_OK;
	}
	if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "a tensor is read outside of any call");
	MPK_TRY(mpk_devices_get(mpk_runtime_devices(runtime), t->dl.device, &device, err));
	return mpk_device_read(device, t->dl.data, t->dl.byte_offset, out, bytes, err);
}

/* An integer of 1 to 8 bytes. */
static int64_t integer_at(const uint8_t *p, struct mpk_dtype t)
{
	size_t bytes = mpk_dtype_bytes(t);
	uint64_t bits = mpk_native_load(p, bytes); /* made here or copied from a kernel */

	/* a signed integer keeps its sign in 64 bits */
	if (t.code == MPK_DTYPE_INT && bytes < 8 && bits >> (8 * bytes - 1))
		bits |= ~UINT64_C(0) << (8 * bytes);
	return (int64_t)bits;
}

/* Types that a condition or an extent may have; bool is uint1 or of 8 bits. */
static bool data_is_integer(struct mpk_dtype t)
{
	return t.lanes == 1 &&
	       (t.code == MPK_DTYPE_INT || t.code == MPK_DTYPE_UINT || t.code == MPK_DTYPE_BOOL) &&
	       (t.bits == 1 || t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64);
}

static enum mpk_code read_if_cond(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.read_if_cond";
	uint8_t raw[8] = { 0 };
	struct mpk_tensor *t;
	char type[MPK_DTYPE_TEXT];

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	if (args[0].kind == MPK_VALUE_INT || args[0].kind == MPK_VALUE_BOOL) {
		int64_t value;

		MPK_TRY(mpk_relax_int(name, args, 0, &value, err));
		*result = mpk_value_of_bool(value != 0);
		return MPK_OK;
	}
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	if (!data_is_integer(t->dl.dtype) || !t->bytes)
		return mpk_relax_raise(err, "TypeError", "%s: a condition of type %s%s", name,
				       mpk_dtype_print(t->dl.dtype, type),
				       t->bytes ? "" : " without elements");
	MPK_TRY(read_bytes(t, raw, mpk_dtype_bytes(t->dl.dtype), err));
	*result = mpk_value_of_bool(integer_at(raw, t->dl.dtype) != 0);
	return MPK_OK;
}

static enum mpk_code tensor_to_shape(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.tensor_to_shape";
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };
	struct mpk_tensor *t;
	char type[MPK_DTYPE_TEXT];

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	const struct mpk_dltensor *dl = &t->dl;

	if (dl->ndim != 1 || dl->dtype.code != MPK_DTYPE_INT || dl->dtype.lanes != 1 ||
	    (dl->dtype.bits != 16 && dl->dtype.bits != 32 && dl->dtype.bits != 64) ||
	    !mpk_dltensor_is_compact(dl))
		return mpk_relax_raise(err, "TypeError", "%s: a shape of type %s and %d dimensions",
				       name, mpk_dtype_print(dl->dtype, type), dl->ndim);
	MPK_TRY(mpk_value_of_shape(NULL, (size_t)dl->shape[0], &v, err));
	MPK_TRY(read_bytes(t, v.shape->extents, (size_t)t->bytes, err));
	/* the last first: numbers are at most as wide as extents, and lie where these will */
	for (size_t i = v.shape->ndim; i-- > 0;)
		v.shape->extents[i] = integer_at(
			(const uint8_t *)v.shape->extents + i * (dl->dtype.bits / 8u), dl->dtype);
	*result = v;
	v.kind = MPK_VALUE_NONE;
	return MPK_OK;
}

static enum mpk_code shape_to_tensor(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
	static const char name[] = "relax.run.shape_to_tensor";
	struct mpk_tensor *t;
	int64_t length;

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	if (args[0].kind != MPK_VALUE_SHAPE)
		return mpk_relax_raise(err, "TypeError", "%s: argument 0 must be a shape", name);
	length = (int64_t)args[0].shape->ndim;
	MPK_TRY(mpk_tensor_create(i64, &length, 1, MPK_STORAGE_PRIVATE, &t, err));
	if (length)
		memcpy(t->dl.data, args[0].shape->extents, (size_t)t->bytes);
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

static enum mpk_code assert_op(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "relax.run.assert_op";
	struct mpk_value condition;

	MPK_TRY(mpk_relax_arity(name, count, 2, SIZE_MAX, err));
	/* the condition is read like that of a branch: a tensor or a number */
	MPK_TRY(read_if_cond(args, 1, &condition, err));
	(void)result;
	if (condition.boolean)
		return MPK_OK;
	return mpk_relax_raise(err, "AssertionError", "%s",
			       args[1].kind == MPK_VALUE_STR ? args[1].text->data
							     : "Assertion Failed");
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_data(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_data_builtins = { rows, MPK_ARRAY_COUNT(rows) };

/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - calls of kernels, and what a recorder notes of them
 *
 * Relay computes shapes with compiled functions, as it computes everything: from the shape of an
 * input, shape functions make the shapes of what follows, and two small kernels their sizes in
 * bytes. When all inputs of a kernel are known from the shapes of the call, and its outputs are a few
 * integers on the host, its results are known as well and the plan leaves the kernel out.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "abi/convention.h"
#include "executor/plan/plan.h"
#include "executor/relay/internal/relay.h"

enum { FEW = 24 }; /* arguments that find room without an allocation */

/* The arguments of one call, tuples taken apart; borrowed from registers. */
struct arguments {
	struct mpk_value few[FEW], *values;
	size_t count;
	size_t outputs; /* index of the first */
};

static void arguments_fini(struct arguments *a)
{
	if (a->values != a->few)
		free(a->values);
}

/* A tuple is as many arguments as it has fields. */
static size_t count_arguments(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s)
{
	const struct mpk_value *registers = mpk_relay_registers(vm);
	size_t count = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct mpk_value *v = &registers[vm->program->registers[s->first + i]];

		count += v->kind == MPK_VALUE_ARRAY ? v->array->count : 1;
	}
	return count;
}

static enum mpk_code relay_packed_put(const struct mpk_relay_vm *vm, struct arguments *a,
				      uint32_t reg, const struct mpk_value *v,
				      struct mpk_error *err)
{
	if (v->kind != MPK_VALUE_TENSOR)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32
				       " must hold a tensor or a tuple of tensors, not %s",
				       reg, mpk_value_kind_name(v->kind));
	a->values[a->count++] = *v;
	return MPK_OK;
}

static enum mpk_code put_register(const struct mpk_relay_vm *vm, struct arguments *a, uint32_t reg,
				  struct mpk_error *err)
{
	const struct mpk_value *v = &mpk_relay_registers(vm)[reg];

	if (v->kind != MPK_VALUE_ARRAY)
		return relay_packed_put(vm, a, reg, v, err);
	for (size_t i = 0; i < v->array->count; i++)
		MPK_TRY(relay_packed_put(vm, a, reg, &v->array->items[i], err));
	return MPK_OK;
}

static enum mpk_code relay_packed_collect(const struct mpk_relay_vm *vm,
					  const struct mpk_relay_step *s, struct arguments *a,
					  struct mpk_error *err)
{
	const uint32_t *registers = vm->program->registers + s->first;
	size_t count = count_arguments(vm, s);

	a->values = a->few;
	a->count = a->outputs = 0;
	if (count > FEW)
		a->values = malloc(count * sizeof *a->values);
	MPK_TRY_ALLOC(a->values, err);
	for (uint32_t i = 0; i < s->count; i++) {
		/* outputs come last; from here on everything is one */
		if (i == s->count - (uint32_t)s->number)
			a->outputs = a->count;
		enum mpk_code code = put_register(vm, a, registers[i], err);

		if (code != MPK_OK) {
			arguments_fini(a);
			return code;
		}
	}
	if (!s->number)
		a->outputs = a->count;
	return MPK_OK;
}

/* --- the call ------------------------------------------------------------------------------ */

/* TVM leaves a kernel out whose one output has no elements; what is no single tensor is called. */
static bool has_nothing_to_do(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s)
{
	uint32_t last = s->number == 1 ? vm->program->registers[s->first + s->count - 1] : 0;
	const struct mpk_value *v = &mpk_relay_registers(vm)[last];

	if (s->number != 1 || v->kind != MPK_VALUE_TENSOR)
		return false;
	/* no product: an extent of 0 among others that overflow is still no elements */
	for (int32_t i = 0; i < v->tensor->dl.ndim; i++)
		if (v->tensor->dl.shape[i] == 0)
			return true;
	return false;
}

static enum mpk_code relay_packed_call(struct mpk_function *f, const struct arguments *a,
				       struct mpk_error *err)
{
	struct mpk_value none = { 0 };

	if (f->address) {
		/* Code at an address: cells on the stack where they fit, and nothing is
		 * allocated. */
		_Alignas(16) char few[FEW * sizeof(struct mpk_ffi_any)];
		size_t bytes = mpk_packed_bytes(f->convention, a->count);
		void *memory = bytes <= sizeof few ? few : aligned_alloc(16, bytes);
		struct mpk_packed p;
		enum mpk_code code;

		MPK_TRY_ALLOC(memory, err);
		p = mpk_packed_at(f->convention, memory, a->count);
		for (size_t i = 0; i < a->count; i++)
			mpk_packed_set_tensor(&p, i, &a->values[i].tensor->dl);
		code = mpk_packed_call(&p, f->address, NULL, err);
		if (memory != few)
			free(memory);
		return code;
	}
	MPK_TRY(mpk_function_call(f, &(struct mpk_args){ a->values, NULL, a->count }, &none, err));
	mpk_value_drop(&none);
	return MPK_OK;
}

/* --- recording ----------------------------------------------------------------------------- */

static bool are_few_integers(const struct mpk_tensor *t)
{
	enum mpk_dtype_code code = (enum mpk_dtype_code)t->dl.dtype.code;

	return mpk_dldevice_is_host(t->dl.device) &&
	       (code == MPK_DTYPE_INT || code == MPK_DTYPE_UINT) &&
	       mpk_tensor_count(t) <= MPK_TENSOR_NDIM_MAX;
}

/* Without an input it might be a generator of random numbers. */
static bool computes_shapes(const struct mpk_recorder *r, const struct arguments *a)
{
	for (size_t i = 0; i < a->outputs; i++)
		if (mpk_recorder_look(r, a->values[i].tensor) != MPK_RECORDED_KNOWN)
			return false;
	for (size_t i = a->outputs; i < a->count; i++)
		if (!are_few_integers(a->values[i].tensor) ||
		    mpk_recorder_look(r, a->values[i].tensor) != MPK_RECORDED_UNTOUCHED)
			return false;
	return a->outputs > 0 && a->outputs < a->count;
}

enum mpk_code mpk_relay_invoke_packed(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_function *f = vm->program->packed[s->index].function;
	struct arguments a;
	enum mpk_code code;

	(void)result;
	MPK_TRY(relay_packed_collect(vm, s, &a, err));
	code = MPK_OK;
	if (!f) {
		code = mpk_relay_fault(vm, err, "RuntimeError",
				       "nobody has packed function %" PRIu32, s->index);
	} else if (!has_nothing_to_do(vm, s)) {
		code = relay_packed_call(f, &a, err);
		if (code == MPK_OK && vm->recorder) {
			struct mpk_recorder *r = vm->recorder;
			const struct mpk_value none = { 0 };
			bool is_left_out = computes_shapes(r, &a);

			for (size_t i = a.outputs; i < a.count; i++) {
				if (is_left_out)
					mpk_record_origin(r, a.values[i].tensor->storage,
							  MPK_ORIGIN_KNOWN, 0);
				else if (mpk_recorder_look(r, a.values[i].tensor) ==
					 MPK_RECORDED_KNOWN)
					mpk_record_nothing(
						r); /* it would not be known in the next call */
			}
			if (!is_left_out)
				mpk_record_kernel(r, f, a.values, a.count, &none);
		}
	}
	arguments_fini(&a);
	return code;
}

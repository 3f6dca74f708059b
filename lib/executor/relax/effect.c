/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/relax/effect.h"

#include <stdlib.h>

#include "executor/plan/plan.h"

/* Calls of byte code are recorded by what they do in turn. */
static bool is_transparent(const struct mpk_relax_vm *vm, const struct mpk_value *args,
			   size_t count)
{
	return count > 1 && args[1].kind == MPK_VALUE_FUNCTION &&
	       mpk_relax_vm_owns(vm, args[1].function);
}

/* call_tir_dyn(function, tensors..., shape), as it calls the function. */
static void record_tir_dyn(struct mpk_relax_vm *vm, const struct mpk_value *args, size_t count,
			   const struct mpk_value *result)
{
	const struct mpk_shape *shape = args[count - 1].shape;
	size_t tensors = count - 2;
	struct mpk_value *values;

	if (mpk_relax_vm_owns(vm, args[0].function))
		return; /* its own calls were recorded */
	values = calloc(tensors + shape->ndim + 1, sizeof *values);
	if (!values) {
		mpk_record_nothing(vm->recorder);
		return;
	}
	for (size_t i = 0; i < tensors; i++)
		values[i] = args[i + 1];
	for (size_t i = 0; i < shape->ndim; i++)
		values[tensors + i] = mpk_value_of_int(shape->extents[i]);
	mpk_record_kernel(vm->recorder, args[0].function, values, tensors + shape->ndim, result);
	free(values);
}

void mpk_relax_record_builtin(struct mpk_relax_vm *vm, const struct mpk_relax_builtin *b,
			      const struct mpk_value *args, size_t count,
			      const struct mpk_value *result)
{
	switch (b->effect) {
	case MPK_EFFECT_COPY:
		mpk_record_copy(vm->recorder, args[0].tensor, result->tensor);
		return;
	case MPK_EFFECT_CALL:
		if (!is_transparent(vm, args, count))
			mpk_record_nothing(vm->recorder);
		return;
	case MPK_EFFECT_KERNEL:
		record_tir_dyn(vm, args, count, result);
		return;
	case MPK_EFFECT_DATA:
		mpk_record_nothing(vm->recorder);
		return;
	case MPK_EFFECT_HEAP:
		mpk_record_heap(vm->recorder, result->tensor->storage);
		return;
	case MPK_EFFECT_SHAPES:
		break;
	}
	if (result->kind == MPK_VALUE_STORAGE)
		mpk_record_storage(vm->recorder, result->storage);
}

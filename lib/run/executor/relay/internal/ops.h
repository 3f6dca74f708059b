/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - instructions that make a value: for the loop in interp.c */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_OPS_H
#define MPK_EXECUTOR_RELAY_INTERNAL_OPS_H

#include "executor/relay/internal/vm.h"

/* Runs one step in the innermost frame of the machine.
 * @result  none on entry; receives an owned value for the step's register
 * Returns  MPK_OK; MPK_E_RAISED: registers do not hold what the step needs, what a kernel raised;
 *          MPK_E_RANGE: a size beyond 2^63; MPK_E_DEVICE; MPK_E_NOMEM; ... */
typedef enum mpk_code mpk_relay_op_fn(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_value *result, struct mpk_error *err);

mpk_relay_op_fn mpk_relay_alloc_storage, mpk_relay_alloc_tensor, mpk_relay_alloc_tensor_reg,
	mpk_relay_shape_of, mpk_relay_reshape_tensor, mpk_relay_device_copy, mpk_relay_get_tag,
	mpk_relay_invoke_packed;

/* mpk_relay_registers - those of the innermost frame */
static inline struct mpk_value *mpk_relay_registers(const struct mpk_relay_vm *vm)
{
	return vm->stack + vm->frames[vm->frame_count - 1].base;
}

/* mpk_relay_fault - MPK_E_RAISED "KIND: sentence (function, instruction n)" */
enum mpk_code mpk_relay_fault(const struct mpk_relay_vm *vm, struct mpk_error *err,
			      const char *kind, const char *fmt, ...)
	MPK_PRINTF(4, 5) MPK_MUST_CHECK;
#define mpk_relay_fault(...) mpk_failed(mpk_relay_fault(__VA_ARGS__))

/* mpk_relay_tensor - the tensor in a register; borrowed */
enum mpk_code mpk_relay_tensor(const struct mpk_relay_vm *vm, uint32_t reg, struct mpk_tensor **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relay_scalar - the first element of the tensor in a register, whatever its shape, as a signed
 * integer of its width; fetched from its device */
enum mpk_code mpk_relay_scalar(struct mpk_relay_vm *vm, uint32_t reg, int64_t *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* A shape that stands in a tensor. */
struct mpk_relay_extents {
	int64_t extents[MPK_TENSOR_NDIM_MAX];
	size_t ndim;
};

/* mpk_relay_shape_in - the shape in a register: a list of int32 or int64; a tensor of rank 0 is the
 * shape of a tensor of rank 0 */
enum mpk_code mpk_relay_shape_in(struct mpk_relay_vm *vm, uint32_t reg,
				 struct mpk_relay_extents *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif

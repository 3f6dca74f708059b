/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - operands of a step as values, and calls that leave the byte code */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_CALL_H
#define MPK_EXECUTOR_RELAX_INTERNAL_CALL_H

#include "executor/relax/internal/vm.h"

enum { MPK_RELAX_ARGUMENTS_FEW = 24 }; /* that find room without an allocation */

/* The arguments of one call. Values are borrowed from registers and constants but for functions,
 * which are made for the call. */
struct mpk_relax_arguments {
	struct mpk_value few[MPK_RELAX_ARGUMENTS_FEW], *values;
	size_t count;
	bool has_functions;
};

/* mpk_relax_registers - those of the innermost frame */
static inline struct mpk_value *mpk_relax_registers(const struct mpk_relax_vm *vm)
{
	return mpk_frames_registers(&vm->frames);
}

/* mpk_relax_operand_value - an operand in the innermost frame
 * @out     borrowed, but for a function: one reference
 * Returns  MPK_OK; as mpk_relax_vm_constant and mpk_relax_vm_function */
enum mpk_code mpk_relax_operand_value(struct mpk_relax_vm *vm, const struct mpk_relax_operand *o,
				      struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_arguments_of - the operands of a call
 * Returns  as mpk_relax_operand_value; MPK_E_NOMEM. mpk_relax_arguments_fini after MPK_OK alone */
enum mpk_code mpk_relax_arguments_of(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				     struct mpk_relax_arguments *a,
				     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_relax_arguments_fini(struct mpk_relax_arguments *a);

/* mpk_relax_call_out - run a step that calls anything but byte code, with the recorder or the
 * observers of the machine informed
 * @result  none on entry; owned
 * Returns  MPK_OK; MPK_E_LOAD: nobody has the function; what it failed with; MPK_E_NOMEM */
enum mpk_code mpk_relax_call_out(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				 struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.h - from the arguments of a caller to those that byte code takes */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_INPUTS_H
#define MPK_EXECUTOR_RELAY_INTERNAL_INPUTS_H

#include "executor/relay/internal/vm.h"

/* mpk_relay_inputs_order - arguments in the order of the parameters: named ones at their parameter's
 * place, the others at the places that are left
 * @skip    parameters at the beginning that have their values already
 * @out     borrowed values, as many as there are parameters behind those
 * Returns  MPK_OK; MPK_E_USAGE as mpk_signature_bind: a name that no parameter has, one given twice, too few
 *          arguments or too many; MPK_E_NOMEM */
enum mpk_code mpk_relay_inputs_order(const struct mpk_signature *model, size_t skip,
				     const struct mpk_args *args, struct mpk_value *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relay_inputs_take - arguments as kernels take them: each on the device of its parameter, in host
 * memory compact and aligned. What is so already is shared, not copied.
 * @out     owned values, as many as args
 * Returns  MPK_OK; MPK_E_USAGE: a value that Relay does not have, or arrays nested too deep;
 *          MPK_E_UNSUPPORTED: a parameter that is an image; MPK_E_DEVICE; MPK_E_NOMEM. On failure
 *          nothing is owned */
enum mpk_code mpk_relay_inputs_take(struct mpk_relay_vm *vm, const struct mpk_relay_callee *callee,
				    const struct mpk_value *args, struct mpk_value *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif

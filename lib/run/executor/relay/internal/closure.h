/* SPDX-License-Identifier: Apache-2.0 */
/* closure.h - functions of a program as values: those a caller looks up, and closures */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_CLOSURE_H
#define MPK_EXECUTOR_RELAY_INTERNAL_CLOSURE_H

#include "executor/relay/internal/vm.h"

/* A function with its first arguments; those that a caller looked up have none. */
struct mpk_relay_closure {
	struct mpk_function base;
	struct mpk_relay_vm *vm; /* held */
	size_t function;
	/* An array: closures within closures are freed by way of it, without recursion. */
	struct mpk_value captured;
};

/* mpk_relay_closure_make - a function bound to a machine; called from outside it runs there
 * @captured an array; taken over also on failure
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_relay_closure_make(struct mpk_relay_vm *vm, size_t function,
				     struct mpk_value captured, struct mpk_function **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relay_closure_of - the closure that a value is, when it is one of this machine; else NULL */
const struct mpk_relay_closure *mpk_relay_closure_of(const struct mpk_relay_vm *vm,
						     const struct mpk_value *v);

#endif

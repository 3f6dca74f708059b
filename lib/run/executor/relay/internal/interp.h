/* SPDX-License-Identifier: Apache-2.0 */
/* interp.h - runs byte code, step by step */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_INTERP_H
#define MPK_EXECUTOR_RELAY_INTERNAL_INTERP_H

#include "executor/relay/internal/vm.h"

/* mpk_relay_run - run a function in a frame of its own until it returns
 * @args    as many as it has parameters; borrowed
 * Returns  MPK_OK, *result owned; MPK_E_RAISED: what a kernel raised, registers that do not hold what
 *          a step needs, a match without a case, recursion or a loop without end; ... All frames of
 *          the run are gone then, and the machine is as before */
enum mpk_code mpk_relay_run(struct mpk_relay_vm *vm, size_t function, const struct mpk_value *args,
			    size_t count, struct mpk_value *result,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - calls that are recorded (plan/plan.h) or observed (runtime/observer.h) */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_WATCH_H
#define MPK_EXECUTOR_RELAX_INTERNAL_WATCH_H

#include "executor/relax/internal/vm.h"
#include "runtime/observer.h"

enum { MPK_RELAX_ARGUMENTS_FEW = 24 }; /* that find room without an allocation */

/* The arguments of one call. Values are borrowed from registers and constants but for functions,
 * which are made for the call. */
struct mpk_relax_arguments {
	struct mpk_value few[MPK_RELAX_ARGUMENTS_FEW], *values;
	size_t count;
	bool has_functions;
};

/* Runs a step that calls anything but byte code.
 * @result  none on entry; owned */
typedef enum mpk_code mpk_relax_call_fn(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
					const struct mpk_relax_arguments *a,
					struct mpk_value *result, struct mpk_error *err);

/* mpk_relax_call_recorded - the same, noted by the machine's recorder, which there is
 * Returns  as call */
enum mpk_code mpk_relax_call_recorded(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				      const struct mpk_relax_arguments *a, mpk_relax_call_fn *call,
				      struct mpk_value *result,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_call_observed - the same, between the begin and the end that the machine's observers see
 * Returns  as call; what an observer failed with; MPK_E_NOMEM */
enum mpk_code mpk_relax_call_observed(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				      const struct mpk_relax_arguments *a, mpk_relax_call_fn *call,
				      struct mpk_value *result,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_watch_control - show the observers a call of byte code, a return or a jump
 * Returns  as mpk_operator_control */
enum mpk_code mpk_relax_watch_control(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				      struct mpk_error *err) MPK_MUST_CHECK;

#endif

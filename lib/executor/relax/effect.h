/* SPDX-License-Identifier: Apache-2.0 */
/* effect.h - what a builtin did in a call that is recorded (plan/plan.h) */
#ifndef MPK_EXECUTOR_RELAX_EFFECT_H
#define MPK_EXECUTOR_RELAX_EFFECT_H

#include "executor/relax/vm.h"

/* mpk_relax_record_builtin - tell the machine's recorder, which there is, of a call that went well */
void mpk_relax_record_builtin(struct mpk_relax_vm *vm, const struct mpk_relax_builtin *b,
			      const struct mpk_value *args, size_t count,
			      const struct mpk_value *result);

#endif

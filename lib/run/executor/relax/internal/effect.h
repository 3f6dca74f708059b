/* SPDX-License-Identifier: Apache-2.0 */
/* effect.h - what the steps of a call that is recorded do (plan/plan.h)
 *
 * A function of the machine that is called while a call is recorded tells of its own steps. It may be
 * called by a step of byte code, or by a builtin that does nothing else (MPK_EFFECT_CALL and
 * MPK_EFFECT_KERNEL). Called by a kernel or a closure its steps would be told twice, as its own and as
 * a part of theirs: then there is no plan.
 */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_EFFECT_H
#define MPK_EXECUTOR_RELAX_INTERNAL_EFFECT_H

#include "executor/relax/internal/vm.h"

/* mpk_relax_record_before - what a step that calls something is about to do; when a recorder is there */
void mpk_relax_record_before(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			     const struct mpk_value *args, size_t count);

/* mpk_relax_record_after - tell the machine's recorder, which there is, of a call that went well */
void mpk_relax_record_after(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			    const struct mpk_value *args, size_t count,
			    const struct mpk_value *result);

#endif

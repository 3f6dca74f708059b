/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - steps as observers are told of them (runtime/observer.h)
 *
 * A kernel is given the tensors that it reads and those that it fills, and byte code does not say which
 * are which. What tells is that byte code allocates each result just before: the first operator that
 * gets an allocated tensor fills it. One that gets no such tensor works in place, on any of its tensors
 * but constants and the heap of symbolic extents, of which shapes are computed and nothing else.
 */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_WATCH_H
#define MPK_EXECUTOR_RELAX_INTERNAL_WATCH_H

#include "executor/relax/internal/vm.h"
#include "runtime/observer.h"

/* mpk_relax_watch_call - describe a step that calls something, in the innermost frame
 * @values  its arguments, s->count
 * Returns  MPK_OK; MPK_E_NOMEM. mpk_operator_fini in both cases. */
enum mpk_code mpk_relax_watch_call(const struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   const struct mpk_value *values, struct mpk_operator *op,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_watch_done - what follows from a call that went well; before observers are told
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_watch_done(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   struct mpk_operator *op, const struct mpk_value *result,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_watch_control - tell the observers of a call of byte code, a return or a jump
 * Returns  as mpk_operator_control */
enum mpk_code mpk_relax_watch_control(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_watch_compiled - describe the call of a function of exec_mode="compiled" from outside
 * Returns  as mpk_relax_watch_call */
enum mpk_code mpk_relax_watch_compiled(const struct mpk_relax_callee *c,
				       const struct mpk_value *values, size_t count,
				       struct mpk_operator *op,
				       struct mpk_error *err) MPK_MUST_CHECK;

#endif

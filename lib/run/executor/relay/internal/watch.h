/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - steps under the eyes of observers (runtime/observer.h) */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_WATCH_H
#define MPK_EXECUTOR_RELAY_INTERNAL_WATCH_H

#include "executor/relay/internal/ops.h"

/* mpk_relay_watch - run a step that makes a value, and tell the observers of it
 * Returns  as op; what an observer failed with */
enum mpk_code mpk_relay_watch(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			      mpk_relay_op_fn *op, struct mpk_value *result,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relay_watch_control - tell the observers of a step that goes elsewhere
 * Returns  as mpk_operator_control */
enum mpk_code mpk_relay_watch_control(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_error *err) MPK_MUST_CHECK;

#endif

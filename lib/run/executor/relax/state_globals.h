/* SPDX-License-Identifier: Apache-2.0 */
/* state_globals.h - operations on states that applications call and models do not
 * (executor/state/save.c) */
#ifndef MPK_EXECUTOR_RELAX_STATE_GLOBALS_H
#define MPK_EXECUTOR_RELAX_STATE_GLOBALS_H

#include "runtime/runtime.h"

enum { MPK_STATE_GLOBALS = 2 };

/* mpk.state_save(state, sequence ids as a shape or none for all, digest of the model as a shape of
 * two numbers) returns a tensor of bytes. mpk.state_load(state, tensor from mpk.state_save, digest)
 * adds the saved sequences to a state that was created with the same parameters. Both fail with
 * MPK_E_RAISED; load also with MPK_E_CORRUPT and MPK_E_UNSUPPORTED, and then adds nothing */
extern const struct mpk_global mpk_state_globals[MPK_STATE_GLOBALS];

#endif

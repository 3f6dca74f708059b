/* SPDX-License-Identifier: Apache-2.0 */
/* state_globals.h - what applications ask of states that models do not (executor/state/save.c) */
#ifndef MPK_EXECUTOR_RELAX_STATE_GLOBALS_H
#define MPK_EXECUTOR_RELAX_STATE_GLOBALS_H

#include "runtime/runtime.h"

enum { MPK_STATE_GLOBALS = 2 };

/* mpk.state_save(state, shape of the ids of sequences or none for all, digest of the model as a shape of two numbers)
 * gives a tensor of bytes; mpk.state_load(state, such a tensor, digest) adds its sequences to a state that was made
 * alike. Both fail with MPK_E_RAISED; load also with MPK_E_CORRUPT and MPK_E_UNSUPPORTED, and has then added none */
extern const struct mpk_global mpk_state_globals[MPK_STATE_GLOBALS];

#endif

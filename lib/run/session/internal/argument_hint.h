/* SPDX-License-Identifier: Apache-2.0 */
/* argument_hint.h - what to say when a host function refused its arguments: a call that works */
#ifndef MPK_SESSION_INTERNAL_ARGUMENT_HINT_H
#define MPK_SESSION_INTERNAL_ARGUMENT_HINT_H

#include "session/call.h"

/* mpk_argument_hint_add - append the options of a call that works, where the arguments do not fit the function
 * Host functions check their arguments, and their word is the verdict: a signature is read from texts. The file is
 * searched for it only now, as most calls need none.
 * @arena   scratch
 * @err     of the call; changed for MPK_E_RAISED when options->explains_calls */
void mpk_argument_hint_add(const struct mpk_library_options *options, const struct mpk_call *call,
			   struct mpk_arena *arena, struct mpk_error *err);

#endif

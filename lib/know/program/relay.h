/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - what a function in Relay byte code takes */
#ifndef MPK_PROGRAM_RELAY_H
#define MPK_PROGRAM_RELAY_H

#include "base/error.h"
#include "relayvm/relayvm.h"
#include "signature/signature.h"

/* mpk_relay_signatures - of each function, x->func_count of them: the names of its inputs, and no types
 * @out     in arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relay_signatures(const struct mpk_relay *x, struct mpk_arena *arena,
				   const struct mpk_signature **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif

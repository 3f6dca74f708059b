/* SPDX-License-Identifier: Apache-2.0 */
/* placement.h - on which device each argument of a call is */
#ifndef MPK_SESSION_INTERNAL_PLACEMENT_H
#define MPK_SESSION_INTERNAL_PLACEMENT_H

#include "runtime/devices.h"
#include "session/call.h"
#include "signature/signature.h"

/* mpk_call_send - argument `i` of a call, its tensors where they are to be: where the function asks for
 * them, else where the call says, else where the others are
 * @signature  of the function; NULL: it has none of its own, and asks for nothing that is known
 * @others  where tensors are of which nobody says anything
 * @out     zeroed; the caller drops it in every case
 * Returns  MPK_OK; MPK_E_USAGE: the call says another device than the function asks for, with the
 *          input's name; what mpk_devices_send and mpk_texture_send say */
enum mpk_code mpk_call_send(struct mpk_devices *devices, const struct mpk_call *call,
			    const struct mpk_signature *signature, size_t i,
			    struct mpk_dldevice others, struct mpk_value *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif

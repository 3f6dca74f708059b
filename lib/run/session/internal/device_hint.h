/* SPDX-License-Identifier: Apache-2.0 */
/* device_hint.h - what to say when a call failed because its tensors were on the wrong device */
#ifndef MPK_SESSION_INTERNAL_DEVICE_HINT_H
#define MPK_SESSION_INTERNAL_DEVICE_HINT_H

#include "session/call.h"

/* mpk_device_hint_add - append what --device would put right, where the error is of that sort
 * @call    whose device is set
 * @err     of the call; changed for MPK_E_RAISED whose text speaks of device types or of a crash */
void mpk_device_hint_add(const struct mpk_library_options *library, const struct mpk_call *call,
			 struct mpk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "session/call.h"

#include "session/batch.h"
#include "session/device_hint.h"

enum mpk_code mpk_call_choose_device(const struct mpk_library_options *library,
				     struct mpk_call *call, struct mpk_error *err)
{
	if (call->kernel || call->device.type)
		return MPK_OK;
	/* a standalone library moves its tensors to its device itself */
	if (!library->image->standalone)
		return mpk_devices_default(library->tree, &call->device, err);
	call->device.type = MPK_DL_CPU;
	return MPK_OK;
}

enum mpk_code mpk_call_run(const struct mpk_library_options *library, const struct mpk_call *call,
			   double timeout, struct mpk_call_result *out, struct mpk_error *err)
{
	struct mpk_batch_item item = { .call = call, .timeout = timeout };

	if (!call->kernel)
		MPK_TRY(mpk_library_check(library, err));
	MPK_TRY(mpk_batch_run(library, &item, 1, err));
	if (item.error.code != MPK_OK) {
		mpk_device_hint_add(library, call, &item.error);
		if (err)
			*err = item.error;
		return mpk_failed(item.error.code);
	}
	*out = item.result;
	return MPK_OK;
}

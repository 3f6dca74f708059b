/* SPDX-License-Identifier: Apache-2.0 */
#include "session/call.h"

#include "session/batch.h"
#include "session/internal/device_hint.h"

enum mpk_code mpk_call_choose_device(const struct mpk_library_options *library,
				     struct mpk_call *call, struct mpk_error *err)
{
	if (call->kernel || call->device.type)
		return MPK_OK;
	call->device_is_guess = true;
	/* a standalone library moves its tensors to its device itself */
	if (!library->image->standalone)
		return mpk_devices_default(library->tree, &call->device, err);
	call->device.type = MPK_DL_CPU;
	return MPK_OK;
}

enum mpk_code mpk_call_check_isolated(const struct mpk_library_options *library,
				      const struct mpk_call *call, struct mpk_error *err)
{
	bool on_device = call->device.type > MPK_DL_CPU;

	for (size_t i = 0; call->places && i < call->arg_count; i++)
		on_device |= call->places[i].type > MPK_DL_CPU;
	if (!library->sandbox || !on_device)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_USAGE,
		"--isolate is for code on the CPU, as drivers of devices need more; a function that takes host tensors runs with --device cpu");
}

enum mpk_code mpk_call_run(const struct mpk_library_options *library, const struct mpk_call *call,
			   double timeout, struct mpk_call_result *out, struct mpk_error *err)
{
	struct mpk_batch_item item = { .call = call, .timeout = timeout };

	MPK_TRY(mpk_call_check_isolated(library, call, err));
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

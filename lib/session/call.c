#include "session/call.h"

#include <stdlib.h>

#include "session/batch.h"

enum mpk_code mpk_call_place(const struct mpk_library_options *library, struct mpk_call *call,
			     struct mpk_error *err)
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
		if (err)
			*err = item.error;
		return mpk_failed(item.error.code);
	}
	*out = item.result;
	return MPK_OK;
}

void mpk_call_result_fini(struct mpk_call_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		mpk_value_drop(&r->values[i]);
	free(r->values);
	free(r->seconds);
	*r = (struct mpk_call_result){ 0 };
}

static int compare_seconds(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct mpk_timing mpk_timing_of(double *seconds, size_t count)
{
	struct mpk_timing t = { 0 };
	size_t p95 = (count * 95 + 99) / 100;

	qsort(seconds, count, sizeof *seconds, compare_seconds);
	for (size_t i = 0; i < count; i++)
		t.mean += seconds[i] / (double)count;
	t.min = seconds[0];
	t.median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
	t.p95 = seconds[p95 - 1];
	return t;
}

#include "run/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "run/session.h"

/* Appends v, or the items of an array one by one; takes v over. */
static enum mpk_code flatten(struct mpk_call_result *r, size_t *cap, struct mpk_value v,
			     struct mpk_error *err)
{
	enum mpk_code rc = MPK_OK;

	if (v.kind == MPK_VALUE_ARRAY) {
		for (size_t i = 0; i < v.array->count && rc == MPK_OK; i++)
			rc = flatten(r, cap, mpk_value_hold(v.array->items[i]), err);
		mpk_value_drop(&v);
		return rc;
	}
	if (!mpk_vec_reserve(&r->values, cap, r->count + 1, sizeof *r->values)) {
		mpk_value_drop(&v);
		return mpk_fail_nomem(err);
	}
	r->values[r->count++] = v;
	return MPK_OK;
}

static enum mpk_code collect(const struct mpk_call *call, struct mpk_wire_map *reply,
			     struct mpk_call_result *r, struct mpk_error *err)
{
	struct mpk_value returned = { 0 };
	struct mpk_span raw;
	size_t cap = 0;

	MPK_TRY(mpk_wire_get(reply, call->repeat * sizeof *r->seconds, &raw, err));
	r->seconds = malloc(raw.len);
	if (!r->seconds)
		return mpk_fail_nomem(err);
	memcpy(r->seconds, raw.data, raw.len);
	r->seconds_count = call->repeat;
	for (size_t i = 0; i < call->arg_count; i++)
		if (call->is_out[i])
			MPK_TRY(flatten(r, &cap, mpk_value_hold(call->args[i]), err));
	MPK_TRY(mpk_wire_get_value(reply, &returned, err));
	if (returned.kind == MPK_VALUE_NONE && r->count)
		return MPK_OK;
	return flatten(r, &cap, returned, err);
}

enum mpk_code mpk_call_run(const struct mpk_library_options *library,
			   const struct mpk_call *call, double timeout,
			   struct mpk_call_result *out, struct mpk_error *err)
{
	struct mpk_child_options child = { .timeout = timeout, .what = call->function };
	struct mpk_session_work work = { .library = *library, .call = call };
	MPK_CLEANUP(mpk_call_result_fini) struct mpk_call_result result = { 0 };
	struct mpk_wire_map *reply;
	enum mpk_code rc;

	if (!call->kernel)
		MPK_TRY(mpk_library_check(library, err));
	rc = mpk_child_run(mpk_session_work_in_child, &work, &child, &reply, err);
	if (rc == MPK_E_AGAIN && !work.library.use_real_tvm_ffi) {
		work.library.use_real_tvm_ffi = true;
		rc = mpk_child_run(mpk_session_work_in_child, &work, &child, &reply, err);
	}
	MPK_TRY(rc);
	rc = collect(call, reply, &result, err);
	mpk_wire_map_drop(reply);
	MPK_TRY(rc);
	*out = result;
	result = (struct mpk_call_result){ 0 };
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

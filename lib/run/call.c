#include "run/call.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vec.h"

struct work {
	struct mpk_library_options library;
	const struct mpk_call *call;
};

/* --- in the child ----------------------------------------------------------------------- */

static double clock_seconds(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static enum mpk_code call_all(const struct mpk_call *call, struct mpk_function *f,
			      double *seconds, struct mpk_value *result,
			      struct mpk_error *err)
{
	for (unsigned i = 0; i < call->warmup + call->repeat; i++) {
		mpk_value_drop(result);

		double start = clock_seconds();
		MPK_TRY(mpk_function_call(f, call->args, call->arg_count, result, err));
		if (i >= call->warmup)
			seconds[i - call->warmup] = clock_seconds() - start;
	}
	return MPK_OK;
}

static enum mpk_code call_and_reply(const struct mpk_call *call, struct mpk_function *f,
				    struct mpk_wire *wire, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value result = { 0 };
	double *seconds = calloc(call->repeat, sizeof *seconds);
	enum mpk_code rc;

	if (!seconds)
		return mpk_fail_nomem(err);
	rc = call_all(call, f, seconds, &result, err);
	if (rc == MPK_OK)
		rc = mpk_wire_put(wire, mpk_span_of(seconds, call->repeat * sizeof *seconds),
				  err);
	if (rc == MPK_OK)
		rc = mpk_wire_put_value(wire, &result, err);
	free(seconds);
	return rc;
}

static enum mpk_code work_in_child(struct mpk_child_side *side, void *user,
				   struct mpk_error *err)
{
	struct work *w = user;
	struct mpk_library *lib;
	struct mpk_function *f;

	MPK_TRY(mpk_library_open(&w->library, &lib, err));

	enum mpk_code rc = mpk_library_find(lib, w->call->function, &f, err);
	if (rc == MPK_OK) {
		*side->phase = MPK_CHILD_CALLING;
		rc = call_and_reply(w->call, f, &side->wire, err);
		mpk_function_drop(f);
	}
	*side->phase = MPK_CHILD_ENDING;
	mpk_library_close(lib);
	return rc;
}

/* --- in the parent ---------------------------------------------------------------------- */

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
	struct work work = { .library = *library, .call = call };
	MPK_CLEANUP(mpk_call_result_fini) struct mpk_call_result result = { 0 };
	struct mpk_wire_map *reply;
	enum mpk_code rc;

	MPK_TRY(mpk_library_check(library, err));
	rc = mpk_child_run(work_in_child, &work, &child, &reply, err);
	if (rc == MPK_E_CONFLICT && !work.library.use_real_tvm_ffi) {
		work.library.use_real_tvm_ffi = true;
		rc = mpk_child_run(work_in_child, &work, &child, &reply, err);
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

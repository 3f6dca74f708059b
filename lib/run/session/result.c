/* SPDX-License-Identifier: Apache-2.0 */
#include "session/internal/result.h"

#include <stdlib.h>

#include "observe/compare.h"
#include "observe/profile.h"

void mpk_call_result_fini(struct mpk_call_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		mpk_value_drop(&r->values[i]);
	free(r->values);
	free(r->seconds);
	if (r->profile)
		mpk_profile_fini(r->profile);
	free(r->profile);
	if (r->comparisons)
		mpk_comparisons_fini(r->comparisons);
	free(r->comparisons);
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

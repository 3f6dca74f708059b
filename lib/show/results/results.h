/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - what a call gave: values, times, comparisons as text, JSON and .npy */
#ifndef MPK_RESULTS_RESULTS_H
#define MPK_RESULTS_RESULTS_H

#include "base/rope.h"
#include "session/call.h"
#include "text/json.h"
#include "value/compare.h"

/* mpk_results_text - append one line a value, long tensors cut
 * mpk_results_json - put "results", the same with types; "complete" says whether all elements of
 * a tensor are there (minspect-run.schema.json) */
void mpk_results_text(const struct mpk_call_result *r, struct mpk_strbuf *out);
void mpk_results_json(const struct mpk_call_result *r, struct mpk_json *j, struct mpk_json_at *at);

/* mpk_results_npy - append a tensor as a .npy file
 * @rope    borrows the elements
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a type that NumPy has not; MPK_E_NOMEM */
enum mpk_code mpk_results_npy(const struct mpk_tensor *t, struct mpk_rope *rope,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_comparison_json - append how result i compares with what was expected
 * @c       NULL: the result was to be ignored */
void mpk_comparison_json(const struct mpk_comparison *c, size_t i, struct mpk_json *j,
			 struct mpk_json_at *list);

/* mpk_seconds_text - append a time with its unit: "1.5 ms"
 * mpk_timing_text, mpk_timing_json - the figures of timed calls: "3 calls, min 1 us, ..."; a
 * member "seconds" */
void mpk_seconds_text(double seconds, struct mpk_strbuf *out);
void mpk_timing_text(const struct mpk_timing *t, size_t calls, struct mpk_strbuf *out);
void mpk_timing_json(const struct mpk_timing *t, size_t calls, struct mpk_json *j,
		     struct mpk_json_at *at);

#endif

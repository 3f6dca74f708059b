/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - where the time of a model went, and where it differs from a dump */
#ifndef MPK_RESULTS_PROFILE_H
#define MPK_RESULTS_PROFILE_H

#include "base/strbuf.h"
#include "observe/compare.h"
#include "observe/profile.h"
#include "text/json.h"

/* mpk_profile_text - append a table: operators by time, with device, calls, total, mean, min, max and
 * share of all operators; a line of sums by device where there are several; a line of the whole
 * mpk_profile_json - put "profile", the same (minspect-run.schema.json) */
void mpk_profile_text(const struct mpk_profile *p, struct mpk_strbuf *out);
void mpk_profile_json(const struct mpk_profile *p, struct mpk_json *j, struct mpk_json_at *at);

/* mpk_profile_events - append the calls of operators in Chrome's trace event format, which Perfetto
 * opens: complete events in microseconds, a thread for each device
 * @process what ran */
void mpk_profile_events(const struct mpk_profile *p, const char *process, struct mpk_strbuf *out);

/* mpk_comparisons_text - append one sentence about the first operator that differs; nothing when
 * all are equal
 * mpk_comparisons_gaps - append one about what only the run or only the dump has; nothing when they
 * have the same
 * mpk_comparisons_json - put "comparison", how each compares */
void mpk_comparisons_text(const struct mpk_comparisons *c, struct mpk_strbuf *out);
void mpk_comparisons_gaps(const struct mpk_comparisons *c, struct mpk_strbuf *out);
void mpk_comparisons_json(const struct mpk_comparisons *c, struct mpk_json *j,
			  struct mpk_json_at *at);

#endif

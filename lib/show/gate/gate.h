/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - a file held against its baseline: what got worse, better, new or lost */
#ifndef MPK_GATE_GATE_H
#define MPK_GATE_GATE_H

#include "gate/internal/baseline.h"

enum mpk_gate_verdict {
	MPK_GATE_WORSE, /* grown by more than the tolerance, or no longer known */
	MPK_GATE_GROWN, /* grown by less */
	MPK_GATE_BETTER,
	MPK_GATE_NEW, /* a kernel that the baseline has not */
	MPK_GATE_GONE,
};

struct mpk_gate_finding {
	enum mpk_gate_verdict verdict;
	const struct mpk_listed_kernel *kernel; /* NULL: the file itself */
	unsigned measure;                       /* MPK_MEASURE_COUNT: of NEW and GONE */
	struct mpk_figure_value before, after;
	double tolerance; /* percent that were allowed */
};

struct mpk_gate {
	const char *file, *baseline; /* as the user named them */
	struct mpk_gate_finding *items;
	size_t count, cap;
	const struct mpk_kernel_list *now; /* all that were looked at */
	size_t worse_kernels;
	bool worse; /* anything is, sizes of the file included */
};

/* mpk_gate_compare - hold now against before
 * @tolerance  percent, for measures to which the baseline gives none
 * @out     kernels are borrowed from now and before; mpk_gate_fini in any case
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_gate_compare(const struct mpk_baseline *b, const struct mpk_baseline_file *before,
			       const struct mpk_baseline_file *now, double tolerance,
			       struct mpk_gate *out, struct mpk_error *err) MPK_MUST_CHECK;

void mpk_gate_fini(struct mpk_gate *gate);

/* mpk_gate_text - a line for the file, and one for each kernel and verdict
 * mpk_gate_json - put the findings (minspect-gate.schema.json) */
void mpk_gate_text(const struct mpk_gate *gate, struct mpk_style style, struct mpk_strbuf *out);
void mpk_gate_json(const struct mpk_gate *gate, struct mpk_json *j, struct mpk_json_at *at);

/* mpk_gate_junit - append a <testsuite> of JUnit: a test for the sizes of the file and one for each of its
 * kernels; what got worse is a failure */
void mpk_gate_junit(const struct mpk_gate *gate, struct mpk_strbuf *out);

#endif

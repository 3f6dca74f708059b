/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - minspect --baseline: kernels that need more than they did, found without a GPU
 *
 * A baseline is a JSON document (schema minspect-baseline.schema.json) with the figures of each kernel of
 * some files, how far each may grow, and what none may pass or lose. A file is held against it: what got worse, better,
 * new or lost.
 */
#ifndef MPK_GATE_GATE_H
#define MPK_GATE_GATE_H

#include "model/kernel_list.h"

/* --- baselines -------------------------------------------------------------------------- */

/* What is measured: figures of kernels, and of files two sizes. */
enum { MPK_MEASURE_FILE_BYTES = MPK_FIGURE_COUNT, MPK_MEASURE_BLOB_BYTES, MPK_MEASURE_COUNT };

/* One file as it was or is. */
struct mpk_baseline_file {
	const char *name; /* without its folder */
	uint64_t file_bytes, blob_bytes;
	struct mpk_kernel_list kernels; /* key, path, name, target, copy and figures are filled */
};

struct mpk_baseline {
	bool has_tolerance[MPK_MEASURE_COUNT];
	double tolerance[MPK_MEASURE_COUNT]; /* percent by which each may grow; 0 where not given */
	/* limits to what a file or kernel measures, new ones too; least is 0 where there is none */
	bool has_most[MPK_MEASURE_COUNT];
	uint64_t least[MPK_MEASURE_COUNT], most[MPK_MEASURE_COUNT];
	bool keeps_targets;              /* a device for which no kernel is left is worse */
	bool keeps_kernels;              /* and so is a kernel that is gone */
	struct mpk_baseline_file *files; /* in arena */
	size_t count, room;
	bool is_sorted; /* by name, each of which is there once */
};

/* mpk_baseline_parse - read the document
 * @out     everything is in arena
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column: no JSON; MPK_E_CORRUPT: JSON, but no baseline, or
 *          one of a later version; MPK_E_NOMEM */
enum mpk_code mpk_baseline_parse(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_baseline *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_baseline_measure - what a file is now
 * @out     everything is in arena, and outlives the view
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_baseline_measure(const struct mpk_view *view, struct mpk_arena *arena,
				   struct mpk_baseline_file *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_baseline_update - put a file in the place of the one of its name, or add it; files are sorted by name
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_baseline_update(struct mpk_baseline *b, const struct mpk_baseline_file *file,
				  struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_baseline: the document */
extern const struct mpk_answer mpk_answer_baseline;

/* --- the gate --------------------------------------------------------------------------- */

enum mpk_gate_verdict {
	MPK_GATE_WORSE, /* grown (a gain: shrunk) by more than the tolerance, or no longer known */
	MPK_GATE_GROWN, /* grown by less */
	MPK_GATE_BETTER,
	MPK_GATE_NEW, /* a kernel that the baseline has not */
	MPK_GATE_GONE,
	MPK_GATE_LIMIT, /* less than the least or more than the most, whatever it was before */
	MPK_GATE_LOST,  /* a device that no kernel is for any more, or a kernel that must stay */
};

struct mpk_gate_finding {
	enum mpk_gate_verdict verdict;
	const struct mpk_listed_kernel *kernel; /* NULL: the file itself */
	const char *target;                     /* of a device that is lost; else NULL */
	unsigned measure;                       /* MPK_MEASURE_COUNT: of NEW, GONE and LOST */
	const char *word; /* of the measure: "registers", ..., "file_bytes", "blob_bytes" */
	struct mpk_figure_value before, after;
	double tolerance; /* percent that were allowed */
	bool is_least;    /* of LIMIT: limit is the least that is allowed, not the most */
	uint64_t limit;
};

struct mpk_gate {
	const char *file, *baseline; /* as the user named them */
	struct mpk_gate_finding *items;
	size_t count, cap;
	const struct mpk_kernel_list *now; /* all that were looked at */
	size_t worse_kernels;
	bool worse; /* anything is, sizes of the file included */
};

/* mpk_gate_compare - hold now against the file of its name in b
 * @tolerance  percent, for measures to which the baseline gives none
 * @arena   receives the findings; kernels are borrowed from now and b
 * Returns  MPK_OK; MPK_E_DIFFERENT: the baseline has no such file; MPK_E_NOMEM */
enum mpk_code mpk_gate_compare(const struct mpk_baseline *b, const struct mpk_baseline_file *now,
			       double tolerance, struct mpk_arena *arena, struct mpk_gate *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_gate: a line for the file, and one for each kernel and verdict; the findings in JSON
 * (minspect-gate.schema.json); a <testsuite> of JUnit, with a test for the sizes of the file and one for each of
 * its kernels: what got worse is a failure; Markdown for a pull request, what got worse first */
extern const struct mpk_answer mpk_answer_gate;

#endif

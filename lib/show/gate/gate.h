/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - minspect --baseline: finds kernels that need more resources than before, without a GPU
 *
 * A baseline is a JSON document (schema minspect-baseline.schema.json) with the figures of each
 * kernel of some files, the growth allowed to each, and absolute limits. A file is compared with
 * it: which figures are worse or better, which kernels are new or lost.
 */
#ifndef MPK_GATE_GATE_H
#define MPK_GATE_GATE_H

#include "model/kernel_list.h"

/* --- baselines -------------------------------------------------------------------------- */

/* The measures: figures of kernels, and two sizes of files. */
enum { MPK_MEASURE_FILE_BYTES = MPK_FIGURE_COUNT, MPK_MEASURE_BLOB_BYTES, MPK_MEASURE_COUNT };

/* One file, as it was or as it is. */
struct mpk_baseline_file {
	const char *name; /* file name without its folder */
	uint64_t file_bytes, blob_bytes;
	/* the fields key, path, name, target, copy and figures are set */
	struct mpk_kernel_list kernels;
};

struct mpk_baseline {
	bool has_tolerance[MPK_MEASURE_COUNT];
	double tolerance[MPK_MEASURE_COUNT]; /* allowed growth in percent; 0 if not given */
	/* absolute limits, which hold for new kernels too; least is 0 if there is none */
	bool has_most[MPK_MEASURE_COUNT];
	uint64_t least[MPK_MEASURE_COUNT], most[MPK_MEASURE_COUNT];
	bool keeps_targets;              /* a device that loses all its kernels is worse */
	bool keeps_kernels;              /* a kernel that is removed is worse */
	struct mpk_baseline_file *files; /* in arena */
	size_t count, room;
	bool is_sorted; /* sorted by name, without duplicates */
};

/* mpk_baseline_parse - parse a baseline
 * @out     all of it is in arena
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column: invalid JSON; MPK_E_CORRUPT: JSON that is not
 *          a baseline, or one of a later version; MPK_E_NOMEM */
enum mpk_code mpk_baseline_parse(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_baseline *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_baseline_measure - measure a file as it is now
 * @out     all of it is in arena, and outlives the view
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_baseline_measure(const struct mpk_view *view, struct mpk_arena *arena,
				   struct mpk_baseline_file *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_baseline_update - replace the file of the same name, or add it; files stay sorted by name
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_baseline_update(struct mpk_baseline *b, const struct mpk_baseline_file *file,
				  struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;

/* Printer of struct mpk_baseline: the document */
extern const struct mpk_answer mpk_answer_baseline;

/* --- the gate --------------------------------------------------------------------------- */

enum mpk_gate_verdict {
	MPK_GATE_WORSE, /* grown (a gain: shrunk) by more than the tolerance, or no longer known */
	MPK_GATE_GROWN, /* grown within the tolerance */
	MPK_GATE_BETTER,
	MPK_GATE_NEW, /* a kernel that the baseline does not have */
	MPK_GATE_GONE,
	MPK_GATE_LIMIT, /* below the minimum or above the maximum, whatever it was before */
	MPK_GATE_LOST,  /* a device without kernels now, or a kernel that must stay */
};

struct mpk_gate_finding {
	enum mpk_gate_verdict verdict;
	const struct mpk_listed_kernel *kernel; /* NULL if the finding is about the file */
	const char *target;                     /* the device that was lost; else NULL */
	unsigned measure;                       /* MPK_MEASURE_COUNT for NEW, GONE and LOST */
	const char *word; /* word of the measure: "registers", ..., "file_bytes", "blob_bytes" */
	struct mpk_figure_value before, after;
	double tolerance; /* allowed percent */
	bool is_least;    /* LIMIT only: limit is the minimum, not the maximum */
	uint64_t limit;
};

struct mpk_gate {
	const char *file, *baseline; /* the names that the user gave */
	struct mpk_gate_finding *items;
	size_t count, cap;
	const struct mpk_kernel_list *now; /* all kernels that were compared */
	size_t worse_kernels;
	bool worse; /* some finding is worse, including those about sizes */
};

/* mpk_gate_compare - compare now with the file of its name in b
 * @tolerance  percent, for measures without one in the baseline
 * @arena   receives the findings; kernels are borrowed from now and b
 * Returns  MPK_OK; MPK_E_DIFFERENT: the baseline has no such file; MPK_E_NOMEM */
enum mpk_code mpk_gate_compare(const struct mpk_baseline *b, const struct mpk_baseline_file *now,
			       double tolerance, struct mpk_arena *arena, struct mpk_gate *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* Printers of struct mpk_gate: a line for the file, and one for each kernel and verdict; the
 * findings in JSON (minspect-gate.schema.json); a JUnit <testsuite> with a test for the sizes of
 * the file and one for each kernel, which fails if something is worse; Markdown for a pull request,
 * what is worse first */
extern const struct mpk_answer mpk_answer_gate;

#endif

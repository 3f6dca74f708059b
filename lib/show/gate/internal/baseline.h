/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h - minspect --baseline: kernels that need more than they did, found without a GPU
 *
 * A baseline is a JSON document (schema minspect-baseline.schema.json) with the figures of each kernel of
 * some files, and how far each may grow.
 */
#ifndef MPK_GATE_INTERNAL_BASELINE_H
#define MPK_GATE_INTERNAL_BASELINE_H

#include "model/kernel_list.h"

/* What is measured: figures of kernels, and of files two sizes. */
enum { MPK_MEASURE_FILE_BYTES = MPK_FIGURE_COUNT, MPK_MEASURE_BLOB_BYTES, MPK_MEASURE_COUNT };

/* mpk_measure_word - "registers", ..., "file_bytes", "blob_bytes"; static storage */
const char *mpk_measure_word(unsigned measure);

/* One file as it was or is. */
struct mpk_baseline_file {
	const char *name; /* without its folder */
	uint64_t file_bytes, blob_bytes;
	struct mpk_kernel_list kernels; /* key, path, name, target, copy and figures are filled */
};

struct mpk_baseline {
	bool has_tolerance[MPK_MEASURE_COUNT];
	double tolerance[MPK_MEASURE_COUNT]; /* percent by which each may grow; 0 where not given */
	const struct mpk_baseline_file *files;
	size_t count;
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

/* mpk_baseline_find - the file of this name; NULL: there is none */
const struct mpk_baseline_file *mpk_baseline_find(const struct mpk_baseline *b, const char *name);

/* mpk_baseline_update - put a file in the place of the one of its name, or add it; files are sorted by name
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_baseline_update(struct mpk_baseline *b, const struct mpk_baseline_file *file,
				  struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_baseline_json - the document, as members of the root object at */
void mpk_baseline_json(const struct mpk_baseline *b, struct mpk_json *j, struct mpk_json_at *at);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h - minspect --diff: what differs between two files, by what it means */
#ifndef MPK_DIFF_DIFF_H
#define MPK_DIFF_DIFF_H

#include "compare/differ.h"
#include "model/view.h"

/* mpk_diff_views - compare two files, the older first: generation and machine, host
 * functions, modules wherever they stand (diff_match.h), and within modules of one kind what they hold in its own terms: kernels
 * and callable functions by name, texts line by line, byte code by function, graphs by node, machine code
 * by kernel, tensors by element; then GPU code of any library by device and kernel. Two files that differ in nothing of that but in bytes give entries
 * that say where.
 * @a_bytes, @b_bytes  the whole input files
 * @arena   receives texts
 * Returns  MPK_OK; MPK_E_NOMEM. mpk_diff_fini in any case. */
enum mpk_code mpk_diff_views(const struct mpk_view *a, struct mpk_span a_bytes,
			     const struct mpk_view *b, struct mpk_span b_bytes,
			     struct mpk_arena *arena, struct mpk_diff *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

void mpk_diff_fini(struct mpk_diff *diff);

/* mpk_diff_text - one line each: "- /0 kernel add", "~ /0 part kernels.cl: 1 line added"; hunks are
 * indented below */
void mpk_diff_text(const struct mpk_diff *diff, struct mpk_style style, struct mpk_strbuf *out);
void mpk_diff_json(const struct mpk_diff *diff, struct mpk_json *j, struct mpk_json_at *at);

/* One of the two files, as a summary names it. */
struct mpk_diff_side {
	const char *name;
	uint64_t bytes, blob_bytes; /* blob_bytes 0: it has none */
};

/* mpk_diff_markdown - the same for a pull request: tables, and hunks folded below them */
void mpk_diff_markdown(const struct mpk_diff *diff, struct mpk_diff_side a, struct mpk_diff_side b,
		       struct mpk_strbuf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h - minspect --diff: what differs between two files, by what it means */
#ifndef MPK_DIFF_DIFF_H
#define MPK_DIFF_DIFF_H

#include "compare/differ.h"
#include "model/view.h"

/* mpk_diff_views - compare two files, the older first: generation and machine, host
 * functions, modules wherever they stand, and within modules of one kind what they hold in its own terms: kernels
 * and callable functions by name, texts line by line, byte code by function, graphs by node, machine code
 * by kernel, tensors by element; then GPU code of any library by device and kernel. Two files that differ in nothing of that but in bytes give entries
 * that say where.
 * @a_bytes, @b_bytes  the whole input files
 * @arena   receives all of it
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_diff_views(const struct mpk_view *a, struct mpk_span a_bytes,
			     const struct mpk_view *b, struct mpk_span b_bytes,
			     struct mpk_arena *arena, struct mpk_diff *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_diff. Text: one line each, "- /0 kernel add", "~ /0 part kernels.cl: 1 line added", hunks
 * indented below, and nothing where nothing differs; Markdown: tables, and hunks folded below them. */
extern const struct mpk_answer mpk_answer_diff;

/* the same where code alone was compared: a line says whether it is the same, and those of many files are a list */
extern const struct mpk_answer mpk_answer_verdict;

#endif

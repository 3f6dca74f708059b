/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h - minspect --diff: compares two files by meaning */
#ifndef MPK_DIFF_DIFF_H
#define MPK_DIFF_DIFF_H

#include "compare/differ.h"
#include "model/view.h"

/* mpk_diff_views - compare two files, the older first
 * Compares generation and machine, host functions, modules wherever they are in the tree, the
 * contents of two modules of one kind, and the GPU code of any library by device and kernel.
 * Within modules, kernels and callable functions are matched by name, texts by line, byte code
 * by function, graphs by node, machine code by kernel, tensors by element. If the files differ
 * only in bytes, the entries say where.
 * @a_bytes, @b_bytes  the whole input files
 * @arena   receives the result
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_diff_views(const struct mpk_view *a, struct mpk_span a_bytes,
			     const struct mpk_view *b, struct mpk_span b_bytes,
			     struct mpk_arena *arena, struct mpk_diff *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* Printers of struct mpk_diff. Text: one line for each difference, "- /0 kernel add", "~ /0 part
 * kernels.cl: 1 line added", with hunks indented below; empty if nothing differs. Markdown: tables,
 * and hunks folded below them. */
extern const struct mpk_answer mpk_answer_diff;

/* Printers for a comparison of code only: a line says whether the code is the same; many files give
 * a list */
extern const struct mpk_answer mpk_answer_verdict;

#endif

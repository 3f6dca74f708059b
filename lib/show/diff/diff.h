/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h - minspect --diff: what differs between two files, by what it means */
#ifndef MPK_DIFF_DIFF_H
#define MPK_DIFF_DIFF_H

#include "code/figure.h"
#include "model/view.h"

enum mpk_diff_sign { MPK_DIFF_REMOVED, MPK_DIFF_ADDED, MPK_DIFF_CHANGED };

/* One figure of a kernel in both files. */
struct mpk_figure_change {
	enum mpk_figure figure;
	struct mpk_figure_value before, after;
};

struct mpk_difference {
	enum mpk_diff_sign sign;
	const char *path; /* tree path in the file that has it, the older one of both; "" for the
			       * library itself */
	const char *
		new_path; /* changed things of a module that moved: its path in the newer file; else "" */
	const char *what;     /* "function", "module", "kernel", "part", ...; static storage */
	struct mpk_span name; /* of the thing; may be empty */
	const char *text;     /* how it changed: "4 B -> 8 B"; "" for removed and added */
	const char *lines;  /* hunks of the unified format; "" where nothing is told line by line */
	const char *target; /* of kernels: "sm_90"; "" where the code names none */
	const struct mpk_figure_change *figures; /* of kernels: those that changed */
	size_t figure_count;
	bool same_code; /* the bytes differ, the code in them does not */
};

struct mpk_diff {
	struct mpk_difference *items;
	size_t count, cap;
	bool failed;
};

/* All hunks of a comparison together, in bytes; what would be more is told as numbers of lines. */
#define MPK_DIFF_LINES_MAX ((size_t)4 << 20)

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

/* mpk_diff_place - append "/1", or "/1 -> /2" for what is in a module that moved */
void mpk_diff_place(const struct mpk_difference *d, struct mpk_strbuf *out);

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

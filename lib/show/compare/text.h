/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - two texts line by line, as diff -u shows them
 *
 * A line ends with a line feed, which is part of it: "a" and "a\n" differ. Lines are compared by their
 * bytes, whatever these are.
 */
#ifndef MPK_COMPARE_TEXT_H
#define MPK_COMPARE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

/* Lines of either text between the first and the last that differ; beyond, nothing is matched. */
enum { MPK_TEXT_LINES_MAX = 1 << 19 };

/* Lines around a change that a hunk shows. */
enum { MPK_TEXT_CONTEXT = 3 };

/* A run of lines that differs. Lines count from 0 in the texts' windows. */
struct mpk_text_change {
	uint32_t a, a_count; /* lines of the older text that went */
	uint32_t b, b_count; /* lines of the newer one that came */
};

/* The part of a text in which all changes are, and some context. */
struct mpk_text_window {
	struct mpk_span text;
	uint64_t first; /* number of its first line in the whole text, from 0 */
	uint32_t *ends; /* offset in text of the end of each line; from malloc */
	uint32_t count; /* lines */
};

/* Zero-initialise; mpk_text_compare; mpk_text_diff_fini. */
struct mpk_text_diff {
	bool is_equal;
	bool is_too_large; /* more than MPK_TEXT_LINES_MAX lines, or 4 GiB: nothing below is known */
	uint64_t removed, added; /* lines */
	struct mpk_text_window a, b;
	bool is_cut;                     /* the texts go on, alike, after their windows */
	struct mpk_text_change *changes; /* in order, with lines between them */
	size_t count, cap;
};

/* mpk_text_compare - find what lines differ
 * Time and memory are bounded (script.h); memory is at most 64 bytes for each line that is between
 * the first and the last difference.
 * @a, @b   the older and the newer text; borrowed while the result is used
 * Returns  MPK_OK; MPK_E_NOMEM; mpk_text_diff_fini in any case */
enum mpk_code mpk_text_compare(struct mpk_span a, struct mpk_span b, struct mpk_text_diff *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

void mpk_text_diff_fini(struct mpk_text_diff *d);

/* mpk_text_unified - append the hunks in the unified format, without the lines that name the files:
 * "@@ -1,4 +1,5 @@", then lines behind ' ', '-' and '+'. Control bytes but the tab, and bytes that are
 * no UTF-8, are escaped; a text without them can be patched with it.
 * @limit   bytes after which no further hunk is begun, and no further line of one
 * Returns  the hunks that were left out or cut */
size_t mpk_text_unified(const struct mpk_text_diff *d, size_t limit, struct mpk_strbuf *out);

#endif

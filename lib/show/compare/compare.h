/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - compares two texts, two tensors, and the host functions of two files */
#ifndef MPK_COMPARE_COMPARE_H
#define MPK_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "canon/hash.h"
#include "elf/image.h"
#include "elf/reader.h"
#include "tensor/tensor.h"

/* --- texts, line by line, as diff -u shows them -------------------------------------------------
 *
 * A line includes the line feed that ends it: "a" and "a\n" differ. Lines are compared by their
 * bytes, whatever the encoding. */

/* Maximum number of lines between the first and the last difference of a text. Longer texts are not
 * matched. */
enum { MPK_TEXT_LINES_MAX = 1 << 19 };

/* Number of unchanged lines that a hunk shows around a change. */
enum { MPK_TEXT_CONTEXT = 3 };

/* A run of lines that differ. Line numbers count from 0 within the windows of the texts. */
struct mpk_text_change {
	uint32_t a, a_count; /* removed lines of the older text */
	uint32_t b, b_count; /* added lines of the newer text */
};

/* The part of a text that contains all changes and some context. */
struct mpk_text_window {
	struct mpk_span text;
	uint64_t first; /* number of the window's first line in the whole text, from 0 */
	uint32_t *ends; /* offset in text of the end of each line; malloc'ed */
	uint32_t count; /* lines */
};

/* Zero-initialise, fill with mpk_text_compare, free with mpk_text_diff_fini. */
struct mpk_text_diff {
	bool is_equal;
	/* more than MPK_TEXT_LINES_MAX lines or 4 GiB: the fields below are not set */
	bool is_too_large;
	uint64_t removed, added; /* numbers of lines */
	struct mpk_text_window a, b;
	bool is_cut;                     /* equal text follows the windows */
	struct mpk_text_change *changes; /* in order, with unchanged lines between them */
	size_t count, cap;
};

/* mpk_text_compare - find the lines that differ
 * Time and memory are bounded (internal/compare.h). Memory is at most 64 bytes for each line
 * between the first and the last difference.
 * @a, @b   the older and the newer text; borrowed while the result is used
 * Returns  MPK_OK; MPK_E_NOMEM; call mpk_text_diff_fini in any case */
enum mpk_code mpk_text_compare(struct mpk_span a, struct mpk_span b, struct mpk_text_diff *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

void mpk_text_diff_fini(struct mpk_text_diff *d);

/* mpk_text_unified - append the hunks in unified format, without the lines that name the files: "@@
 * -1,4 +1,5 @@", then lines behind ' ', '-' and '+'. Control bytes except the tab and invalid UTF-8
 * are escaped. patch(1) can apply the output if nothing was escaped.
 * @limit   bytes after which no further hunk or line is begun
 * Returns  the number of hunks that were omitted or cut */
size_t mpk_text_unified(const struct mpk_text_diff *d, size_t limit, struct mpk_strbuf *out);

/* mpk_text_put_counts - append "2 lines removed, 1 added"; counts of 0 are omitted
 * @unit    word for a line */
void mpk_text_put_counts(uint64_t removed, uint64_t added, const char *unit,
			 struct mpk_strbuf *out);

/* --- tensors of one shape and type ------------------------------------------------------------ */

struct mpk_tensor_diff {
	bool is_comparable; /* false: types or shapes differ, and the fields below are not set */
	uint64_t count;     /* scalars; each lane counts */
	/* scalars whose values differ; NaN equals NaN, 0 equals -0. Types without values are
	 * compared by bytes */
	uint64_t differing;
	uint64_t bits_only; /* scalars with different bytes and equal values */
	uint64_t first;     /* row-major index of the first differing scalar */
	bool has_values;    /* the type has numeric values, so the fields below are set */
	uint64_t unordered; /* differing scalars of which one is NaN or infinite */
	double max_abs;     /* maximum of |a - b| over the finite scalars */
	uint64_t max_at;    /* index of the first maximum */
	/* mean of |a - b| over all but the unordered scalars; equal ones count as 0 */
	double mean_abs;
	/* sum of |a - b| divided by the sum of |a|, both over the differing, ordered scalars;
	 * infinite if the sum of |a| is 0 */
	double relative;
};

/* mpk_tensor_compare - compare every element of two tensors; takes as long as reading them */
struct mpk_tensor_diff mpk_tensor_compare(const struct mpk_tensor_record *a,
					  const struct mpk_tensor_record *b);

/* mpk_tensor_relative - struct mpk_tensor_diff.relative from the two sums
 * mpk_tensor_put_relative - append that ratio: "by 3.1 % of their magnitude", "from 0" */
double mpk_tensor_relative(long double gaps, long double were);
void mpk_tensor_put_relative(double relative, struct mpk_strbuf *out);

/* mpk_tensor_diff_text - append "3 of 12 elements differ, by at most 0.5 (element 4), 0.125 on
 * average"; for tensors that are not comparable, append their types and shapes */
void mpk_tensor_diff_text(const struct mpk_tensor_diff *d, const struct mpk_tensor_record *a,
			  const struct mpk_tensor_record *b, struct mpk_strbuf *out);

/* --- host functions of two ELF files: is their code the same, wherever it lies? -----------------
 *
 * When one function of a library grows, all functions after it move, and the distances in every
 * call and load change. Code is compared byte by byte. Bytes that differ may be the distance of a
 * branch or load on x86-64 or AArch64. The distance counts as equal if it leads to the same target
 * in both files: the same symbol, directly or through the PLT, or read-only data with equal
 * content.
 */

struct mpk_host_function {
	const char *symbol;
	uint64_t address;
	struct mpk_span code;
};

/* Zero-initialise, open with mpk_host_code_open, close with mpk_host_code_close. */
struct mpk_host_code {
	struct mpk_elf elf;
	/* in the order of the symbol table; includes local functions unless the file is stripped */
	const struct mpk_host_function *functions;
	size_t count;
	const struct mpk_host_place *places; /* symbols sorted by address */
	size_t place_count;
	const struct mpk_host_slot *slots; /* words that the loader fills in, sorted by address */
	size_t slot_count;
	const struct mpk_host_place *sections; /* loaded sections, sorted by address */
	size_t section_count;
	/* bytes of code that may still be compared: a bound, since symbols of a hostile file may
	 * all claim the same bytes */
	uint64_t bytes_left;
	/* bytes of referenced data that may still be compared: a bound, since many places may refer
	 * to one large table */
	uint64_t data_left;
};

/* mpk_host_code_open - list the functions of an image with their code
 * @out     in arena, except the ELF reader; empty for formats other than ELF
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_host_code_open(const struct mpk_image *image, struct mpk_arena *arena,
				 struct mpk_host_code *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_host_code_close(struct mpk_host_code *h);

/* mpk_host_same_code - whether two functions of two files do the same, as far as their bytes tell;
 * false if in doubt */
bool mpk_host_same_code(struct mpk_host_code *a, const struct mpk_host_function *f,
			const struct mpk_host_code *b, const struct mpk_host_function *g);

/* mpk_host_put_target - add the target of an address to a digest: an import's or symbol's name and
 * the offset from its beginning, the content of read-only data, or the section's name and the
 * offset in it
 * Returns  whether the target is known; if not, nothing is added */
bool mpk_host_put_target(struct mpk_host_code *h, uint64_t x, bool again,
			 struct mpk_canon_hash *out);

#endif

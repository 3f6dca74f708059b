/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - what differs between two texts, between two tensors, and between host functions of two files */
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
 * A line ends with a line feed, which is part of it: "a" and "a\n" differ. Lines are compared by their
 * bytes, whatever these are. */

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
 * Time and memory are bounded (internal/compare.h); memory is at most 64 bytes for each line that is between
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

/* mpk_text_put_counts - append "2 lines removed, 1 added"; nothing of what is 0
 * @unit    what a line is called */
void mpk_text_put_counts(uint64_t removed, uint64_t added, const char *unit,
			 struct mpk_strbuf *out);

/* --- tensors of one shape and type ------------------------------------------------------------ */

struct mpk_tensor_diff {
	bool is_comparable; /* false: another type or shape; nothing below is known */
	uint64_t count;     /* scalars: lanes count one by one */
	uint64_t differing; /* NaN equals NaN, 0 equals -0: by value, where there are values */
	uint64_t bits_only; /* with other bytes and the same value */
	uint64_t first;     /* row-major index of the first that differs */
	bool has_values;    /* the type has numbers; what follows is known then */
	uint64_t unordered; /* differing ones of which one is NaN or infinite */
	double max_abs;     /* |a - b| over the finite ones */
	uint64_t max_at;    /* where that is first */
	double mean_abs;    /* over all scalars but the unordered; equal ones count as 0 */
	double relative; /* sum of |a - b| by sum of |a|, both over the differing ones but the unordered;
			  * infinite: all of those were 0 */
};

/* mpk_tensor_compare - every element of both; in the time of reading them */
struct mpk_tensor_diff mpk_tensor_compare(const struct mpk_tensor_record *a,
					  const struct mpk_tensor_record *b);

/* mpk_tensor_relative - struct mpk_tensor_diff.relative from the two sums
 * mpk_tensor_put_relative - append it: "by 3.1 % of their magnitude", "from 0" */
double mpk_tensor_relative(long double gaps, long double were);
void mpk_tensor_put_relative(double relative, struct mpk_strbuf *out);

/* mpk_tensor_diff_text - append "3 of 12 elements differ, by at most 0.5 (element 4), 0.125 on average";
 * of tensors that are not comparable their types and shapes */
void mpk_tensor_diff_text(const struct mpk_tensor_diff *d, const struct mpk_tensor_record *a,
			  const struct mpk_tensor_record *b, struct mpk_strbuf *out);

/* --- host functions of two ELF files: is their code the same, wherever it lies? -----------------
 *
 * When one function of a library grows, all after it move, and with them the distances in every call and
 * load. Code is compared byte by byte; where bytes differ, they may be the distance of a branch or a load of
 * x86-64 or AArch64 that leads to the same thing in both files: the same symbol, also through the PLT, or
 * read-only data of the same content.
 */

struct mpk_host_function {
	const char *symbol;
	uint64_t address;
	struct mpk_span code;
};

/* Zero-initialise; mpk_host_code_open; mpk_host_code_close. */
struct mpk_host_code {
	struct mpk_elf elf;
	const struct mpk_host_function *functions; /* in the order of the symbol table, local ones
						    * included unless they were stripped */
	size_t count;
	const struct mpk_host_place *places; /* symbols by address */
	size_t place_count;
	const struct mpk_host_slot *slots; /* what a loader fills in, by address */
	size_t slot_count;
	const struct mpk_host_place *sections; /* that are loaded, by address */
	size_t section_count;
	uint64_t
		bytes_left; /* of code that will still be compared: symbols of a hostile file may all
			      * claim the same bytes */
	uint64_t
		data_left; /* of what code refers to that will still be compared: it may be one large table */
};

/* mpk_host_code_open - list the functions of an image with their code
 * @out     in arena but for the ELF reader; empty for images of other formats
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_host_code_open(const struct mpk_image *image, struct mpk_arena *arena,
				 struct mpk_host_code *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_host_code_close(struct mpk_host_code *h);

/* mpk_host_same_code - whether a function of one file does what one of another file does, as far as bytes
 * tell; in doubt not */
bool mpk_host_same_code(struct mpk_host_code *a, const struct mpk_host_function *f,
			const struct mpk_host_code *b, const struct mpk_host_function *g);

/* mpk_host_put_target - add to a digest what is at an address: the name of an import or of a symbol and how far
 * behind its beginning, the content of read-only data, or the section's name and how far behind
 * Returns  whether anything is known to be there; else nothing was added */
bool mpk_host_put_target(struct mpk_host_code *h, uint64_t x, bool again,
			 struct mpk_canon_hash *out);

#endif

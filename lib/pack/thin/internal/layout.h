/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - where what leaves a library is, and where all else is afterwards: found by layout.c, written by assemble.c */
#ifndef MPK_THIN_INTERNAL_LAYOUT_H
#define MPK_THIN_INTERNAL_LAYOUT_H

#include "thin/internal/thin.h"

enum { MPK_THIN_SECTIONS_MAX = 64 };

/* What is free at the end of a section; file offsets before anything moves. */
struct mpk_thin_hole {
	const struct mpk_thin_section *section;
	uint64_t off, end; /* the free bytes, without the program headers that are put there */
	uint64_t cut_off, cut_end; /* whole pages of them, which leave the file; equal: none */
	size_t segment; /* PT_LOAD that the section is in; of one that is not loaded, the number of segments */
	bool at_tail; /* nothing of the segment follows: it is cut off, not split */
};

struct mpk_thin_layout {
	const struct mpk_elf *elf;
	struct mpk_arena *arena;
	const struct mpk_thin_section *sections;
	size_t section_count;
	const GElf_Phdr *segments;
	uint64_t page;
	struct mpk_thin_hole holes[MPK_THIN_SECTIONS_MAX]; /* by offset, one a section */
	size_t split_count;                                /* segments more */
	uint64_t table_off; /* of the program headers, before anything moves */
	bool table_moves;
	/* What made room for them: [block_off, block_end) is loaded from block_to now. Equal: nothing did. */
	uint64_t block_off, block_end, block_to, block_address;
	uint8_t *block; /* its bytes */
	struct mpk_error *err;
};

static inline bool mpk_thin_is_cut(const struct mpk_thin_hole *h)
{
	return h->cut_off < h->cut_end;
}

/* Whether a part of the file is in the block that made room. */
static inline bool mpk_thin_in_block(const struct mpk_thin_layout *l, uint64_t off, uint64_t len)
{
	return off >= l->block_off && off < l->block_end && len <= l->block_end - off;
}

/* mpk_thin_overlap - MPK_E_CORRUPT: two things lie in the same place of the file */
enum mpk_code mpk_thin_overlap(const struct mpk_thin_layout *l, uint64_t off);

/* mpk_thin_assemble - the whole file anew
 * Returns  MPK_OK; MPK_E_CORRUPT: tables or patches lie over one another; MPK_E_NOMEM */
enum mpk_code mpk_thin_assemble(const struct mpk_thin_layout *l,
				const struct mpk_thin_patches *patches,
				struct mpk_rope *out) MPK_MUST_CHECK;

#endif

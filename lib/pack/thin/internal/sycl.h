/* SPDX-License-Identifier: Apache-2.0 */
/* sycl.h - the tables by which a library registers its images with SYCL's runtime: sycl.c reads
 * them, sycl_keep.c decides which images stay, move.c rewrites them */
#ifndef MPK_THIN_INTERNAL_SYCL_H
#define MPK_THIN_INTERNAL_SYCL_H

#include "thin/internal/thin.h"

/* A word that a relocation sets, and the address in the library that it gets. */
struct mpk_thin_word {
	uint64_t address, target;
	uint64_t off; /* offset of the relocation in the file */
	bool has_own; /* the relocation is for this word only (DT_RELA), not for several words
		       * (DT_RELR) */
};

/* A loaded section of images, such as "__CLANG_OFFLOAD_BUNDLE__sycl-spir64". */
struct mpk_thin_sycl_section {
	size_t index; /* index of the section header */
	GElf_Shdr header;
	const struct mpk_code_target *target;
	bool has_images; /* tables list images in the section */
	bool drops;      /* an image in the section is removed */
};

/* Bytes of a section that tables list as an image; several images may share them. */
struct mpk_thin_sycl_range {
	uint64_t begin, end; /* addresses */
	size_t section;      /* index in sections */
	struct mpk_span bytes;
	bool kept;
};

/* One image in a table. */
struct mpk_thin_sycl_image {
	struct mpk_span device; /* the name by which the runtime chooses, such as "spir64_gen" */
	uint64_t begin, end;    /* addresses; equal if the image is empty */
	size_t range;           /* index in ranges; range_count: its bytes are in none of the
				 * sections */
	uint64_t entries, entries_end, properties,
		properties_end; /* addresses; 0 if there are none */
};

/* An array of images, with the descriptor that the library passes to the runtime. */
struct mpk_thin_sycl_table {
	uint64_t descriptor, array; /* addresses */
	uint64_t stride;            /* size in bytes of an array element */
	size_t first, count;        /* range in images */
	bool loses;                 /* an image of the table is removed */
};

/* SYCL tables of a library. Zero-initialise; all memory is malloc'ed, and freed by library.c. */
struct mpk_thin_sycl {
	struct mpk_thin_word *words; /* sorted by address */
	size_t word_count, word_cap;
	struct mpk_thin_sycl_section *sections; /* sorted by section index */
	size_t section_count, section_cap;
	struct mpk_thin_sycl_table *tables; /* sorted by array; they do not overlap */
	size_t table_count, table_cap;
	struct mpk_thin_sycl_image *images;
	size_t image_count, image_cap;
	struct mpk_thin_sycl_range *ranges; /* sorted by address; they do not overlap */
	size_t range_count;
};

/* mpk_thin_sycl_read - read a library's sections of images and their tables, and decide which
 * images stay
 * Tables are read only if some section is not kept as a whole.
 * @t       receives names and numbers of images, and code that kept devices would lose
 * Returns  MPK_OK, also without SYCL; MPK_E_CORRUPT: invalid relocations or kernel tables, or
 *          images or tables that overlap; MPK_E_UNSUPPORTED: too many sections; MPK_E_NOMEM */
enum mpk_code mpk_thin_sycl_read(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_thin_sycl *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_sycl_keeps - whether an image stays; an image in none of the sections does */
static inline bool mpk_thin_sycl_keeps(const struct mpk_thin_sycl *s, size_t image)
{
	size_t range = s->images[image].range;

	return range == s->range_count || s->ranges[range].kept;
}

/* mpk_thin_sycl_word - the relocated word at an address; NULL if there is none */
const struct mpk_thin_word *mpk_thin_sycl_word(const struct mpk_thin_sycl *s, uint64_t address);

/* mpk_thin_sycl_keep - decide which ranges stay, and find code that kept devices would lose
 * The decision is stored in ranges, sections and tables.
 * Returns  MPK_OK; MPK_E_CORRUPT: invalid kernel tables; MPK_E_NOMEM */
enum mpk_code mpk_thin_sycl_keep(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_thin_sycl *s, struct mpk_error *err) MPK_MUST_CHECK;

#endif

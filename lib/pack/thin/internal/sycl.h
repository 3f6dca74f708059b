/* SPDX-License-Identifier: Apache-2.0 */
/* sycl.h - tables by which a library registers its images with SYCL's runtime: read by sycl.c, decided on by
 * sycl_keep.c, written anew by move.c */
#ifndef MPK_THIN_INTERNAL_SYCL_H
#define MPK_THIN_INTERNAL_SYCL_H

#include "thin/internal/thin.h"

/* A word that the dynamic linker stores to, and the address in the library that it stores. */
struct mpk_thin_word {
	uint64_t address, target;
	uint64_t off; /* of the relocation in the file */
	bool has_own; /* the relocation is for this word alone (DT_RELA), not for a run of words (DT_RELR) */
};

/* A loaded section of images, "__CLANG_OFFLOAD_BUNDLE__sycl-spir64". */
struct mpk_thin_sycl_section {
	size_t index; /* of its header */
	GElf_Shdr header;
	const struct mpk_code_target *target;
	bool has_images; /* tables name some of it */
	bool drops;      /* an image in it is not kept */
};

/* Bytes of a section that tables have as an image; several may have the same. */
struct mpk_thin_sycl_range {
	uint64_t begin, end; /* addresses */
	size_t section;      /* in sections */
	struct mpk_span bytes;
	bool kept;
};

/* One image of a table. */
struct mpk_thin_sycl_image {
	struct mpk_span device; /* the name that the runtime chooses by: "spir64_gen" */
	uint64_t begin, end;    /* addresses; equal: no bytes */
	size_t range;           /* in ranges; their number: its bytes are in none of the sections */
	uint64_t entries, entries_end, properties, properties_end; /* addresses; 0: none */
};

/* An array of images, and the descriptor that the library gives to the runtime. */
struct mpk_thin_sycl_table {
	uint64_t descriptor, array; /* addresses */
	uint64_t stride;            /* bytes of an image in the array */
	size_t first, count;        /* in images */
	bool loses;                 /* one of them is not kept */
};

/* All of a library. Zero-initialise; everything is malloc'ed, and freed by library.c. */
struct mpk_thin_sycl {
	struct mpk_thin_word *words; /* by address */
	size_t word_count, word_cap;
	struct mpk_thin_sycl_section *sections; /* by index */
	size_t section_count, section_cap;
	struct mpk_thin_sycl_table *tables; /* by array, apart */
	size_t table_count, table_cap;
	struct mpk_thin_sycl_image *images;
	size_t image_count, image_cap;
	struct mpk_thin_sycl_range *ranges; /* by address, apart */
	size_t range_count;
};

/* mpk_thin_sycl_read - sections of a library, what its tables say of them, and what is kept
 * Tables are read if not all sections are kept by their names.
 * @t       receives names and numbers of images, and what kept devices would lose
 * Returns  MPK_OK, also without any; MPK_E_CORRUPT: relocations or tables of kernels do not read, images or tables
 *          overlap; MPK_E_UNSUPPORTED: too many sections; MPK_E_NOMEM */
enum mpk_code mpk_thin_sycl_read(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_thin_sycl *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_sycl_keeps - whether an image stays: what is in none of the sections does */
static inline bool mpk_thin_sycl_keeps(const struct mpk_thin_sycl *s, size_t image)
{
	size_t range = s->images[image].range;

	return range == s->range_count || s->ranges[range].kept;
}

/* mpk_thin_sycl_word - the word at an address; NULL: nothing is stored there */
const struct mpk_thin_word *mpk_thin_sycl_word(const struct mpk_thin_sycl *s, uint64_t address);

/* mpk_thin_sycl_keep - which ranges are kept, and what kept devices would lose by that
 * ranges, sections and tables receive what becomes of them
 * Returns  MPK_OK; MPK_E_CORRUPT: tables of kernels that do not read; MPK_E_NOMEM */
enum mpk_code mpk_thin_sycl_keep(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_thin_sycl *s, struct mpk_error *err) MPK_MUST_CHECK;

#endif

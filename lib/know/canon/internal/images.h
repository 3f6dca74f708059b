/* SPDX-License-Identifier: Apache-2.0 */
/* images.h - cubins and AMD code objects as their digests see them: sections, functions, variables,
 * and words that a loader fills in */
#ifndef MPK_CANON_INTERNAL_IMAGES_H
#define MPK_CANON_INTERNAL_IMAGES_H

#include <stdbool.h>

#include "amdgpu/amdgpu.h"
#include "base/strmap.h"
#include "canon/internal/canon.h"
#include "cubin/elf.h"

/* --- cubins --------------------------------------------------------------------------------------- */

enum mpk_canon_role {
	MPK_CANON_NOISE,
	MPK_CANON_TEXT, /* code: a node */
	/* its name ends with that of a function: part of the function's node */
	MPK_CANON_OF_TEXT,
	MPK_CANON_DATA,        /* variables: one node, to which each variable contributes */
	MPK_CANON_COMMON,      /* constants and everything else: part of node 0 */
	MPK_CANON_INFO,        /* .nv.info: each attribute belongs to a function */
	MPK_CANON_RELOCATIONS, /* relocations of another section */
};

struct mpk_canon_section {
	struct mpk_cubin_section head;
	enum mpk_canon_role role;
	uint32_t node;        /* node to which the section belongs */
	struct mpk_span base; /* name of the section; for MPK_CANON_OF_TEXT without the function's
			       * name */
};

/* Zero-initialise, set elf and left; mpk_canon_sections_read; free items, mpk_strmap_fini(code). */
struct mpk_canon_sections {
	struct mpk_cubin_elf elf;
	uint64_t left;                   /* bytes that may still be read, since parts may overlap */
	struct mpk_canon_section *items; /* malloc'ed; elf.section_count items */
	struct mpk_strmap code;          /* code sections by the name of their function */
	struct mpk_span symbols, strings;
	size_t symbol_count;
};

/* mpk_canon_sections_read - find the role of each section
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_canon_sections_read(struct mpk_canon_sections *f,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* --- AMD code objects ----------------------------------------------------------------------------- */

enum { MPK_CANON_SHF_ALLOC = 2 };

/* A function or variable. */
struct mpk_canon_place {
	uint64_t address, size;
	struct mpk_span name, bytes; /* bytes is empty for a variable that is zero at first */
	bool is_function, is_referred_to;
	size_t kernel; /* the kernel whose code or descriptor this is, from 1; 0: none */
};

/* A word that the loader fills in with the address of a symbol, or with that of a place in the
 * file. */
struct mpk_canon_slot {
	uint64_t address, type, target;
	struct mpk_span name; /* name of the symbol; empty: target is an address */
};

/* Zero-initialise, set object, elf and left; mpk_canon_object_read; free what is malloc'ed, mpk_strmap_fini(kernels). */
struct mpk_canon_object {
	const struct mpk_amdgpu *object;
	struct mpk_cubin_elf elf;
	uint64_t left; /* bytes that may still be read, since parts of a hostile file overlap */
	/* malloc'ed: */
	struct mpk_cubin_section *sections;
	struct mpk_canon_place *places; /* sorted by address */
	size_t place_count;
	struct mpk_canon_slot *slots; /* sorted by address */
	size_t slot_count, slot_cap;
	/* used while the object is read: */
	struct mpk_span symbols, strings;
	struct mpk_strmap kernels; /* kernels by the names of their functions and descriptors */
};

/* mpk_canon_object_read - read sections, places and slots of a code object
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_canon_object_read(struct mpk_canon_object *o,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* thin.h - what the files of this room share, and nobody else includes */
#ifndef MPK_THIN_INTERNAL_THIN_H
#define MPK_THIN_INTERNAL_THIN_H

#include "base/cursor.h"
#include "code/format.h"
#include "elf/linking.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "thin/thin.h"

/* --- containers ------------------------------------------------------------------------------- */

/* A container of device code in a library. */
struct mpk_thin_container {
	struct mpk_span bytes;   /* as it was */
	uint64_t off;            /* in the ELF file */
	uint64_t address, moved; /* old and new address; 0: its section is not loaded */
	struct mpk_rope content; /* as it will be */
	bool changed;            /* content differs from bytes */
	bool is_binary;          /* of LLVM: one image, whose beginning and end host code knows */
	bool is_gone;            /* is_binary, and its image is dropped: content is empty */
	const struct mpk_code_target
		*target;     /* its section, if that is for one device as a whole; else NULL */
	bool is_relocatable; /* input of a linker: no driver loads it */
	bool referenced;     /* a relocated word has its address */
	bool is_registered;  /* a table of SYCL's names the image, so its future is known */
	bool is_host;        /* not device code: other bytes in the section of a blob */
	bool pinned;         /* it must keep its address */
};

/* The work on one file. */
struct mpk_thin {
	const struct mpk_thin_options *o;
	struct mpk_arena *arena;
	struct mpk_thin_report *report;
	struct mpk_strbuf
		missing; /* containers without code for a kept architecture: texts about them */
	size_t missing_count;
	/* a bit for each word of keep: whether loaded containers have code for it now, and had
	 * before */
	uint64_t served, unlinked;
};

/* mpk_thin_container - what becomes of one container
 * @c       bytes and is_relocatable are set; content, changed, is_binary and is_gone are filled
 * @where   names it in messages: ".nv_fatbin:3"
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_UNSUPPORTED: it does not read; MPK_E_NOMEM */
enum mpk_code mpk_thin_container(struct mpk_thin *t, struct mpk_thin_container *c,
				 const char *where, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_is_container - a fatbin, or a bundle of Clang's, packed or not */
bool mpk_thin_is_container(struct mpk_span bytes);

/* mpk_thin_section_target - which device a section of images is for, by its name
 * @out     in arena; NULL: it is no such section
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_section_target(const char *name, struct mpk_span bytes,
				      struct mpk_arena *arena, const struct mpk_code_target **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_leave - note that a section stays as it is, whatever is kept
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_leave(struct mpk_thin *t, const struct mpk_code_target *target,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_see_found - look at code for GPUs among other data (elf/image.h), which stays as it is
 * Host code may have its size and its end as well as its address, in words that nothing marks; and where it is taken out of
 * data that stay, the file does not become smaller.
 * @blob    of a module in the file; empty: none
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_see_found(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_span blob, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_keeps - whether an architecture is among those to keep; notes that it is there */
bool mpk_thin_keeps(struct mpk_thin *t, const struct mpk_code_target *target);

/* Lists what a driver takes of a container: indices of images; their number: nothing. */
struct mpk_thin_choice {
	size_t before, after;
};

/* mpk_thin_choose - what a driver takes for the device that a word of keep names
 * @kept    of each target whether it is kept; NULL: all are
 * Returns  MPK_OK, also for a word that names no device; MPK_E_NOMEM */
enum mpk_code mpk_thin_choose(struct mpk_span word, const struct mpk_code_target *targets,
			      const bool *kept, size_t count, struct mpk_thin_choice *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_keep_devices - of the images of one container, keep those that a driver takes on the devices of --device-arch
 * @kept    of each target; what is true stays
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_keep_devices(struct mpk_thin *t, const struct mpk_code_target *targets,
				    bool *kept, size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_keep_links - of the images of one container that is input of a linker, keep those that a link for the devices
 * of --device-arch may take where a driver takes others: LTO-IR, and PTX where no machine code is for just that device
 * @kept    of each target; what is true stays */
void mpk_thin_keep_links(struct mpk_thin *t, const struct mpk_code_target *targets, bool *kept,
			 size_t count);

/* mpk_thin_lost_link - of such a container, LTO-IR for a device, where nothing that is kept could be linked for it
 * @word    "sm_90"; for others nothing is lost
 * Returns  the index of a target; count: none is lost */
size_t mpk_thin_lost_link(struct mpk_span word, const struct mpk_code_target *targets,
			  const bool *kept, size_t count);

/* The most containers that the message names. */
enum { MPK_THIN_MISSING_SHOWN = 3 };

/* mpk_thin_miss - note that a kept architecture would lose something
 * @what    "compute_80 PTX alone" */
void mpk_thin_miss(struct mpk_thin *t, const char *where, struct mpk_span word, const char *what);

/* The section of device code in a linker's input, which no driver loads. */
#define MPK_THIN_RELOCATABLE "__nv_relfatbin"

/* mpk_thin_check_missing - whether kept architectures would lose code, when all containers of a file have been looked at
 * Returns  MPK_OK; MPK_E_CONFLICT: they would, and that is not allowed; MPK_E_NOMEM */
enum mpk_code mpk_thin_check_missing(struct mpk_thin *t,
				     const struct mpk_thin_container *containers, size_t count,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- objects ------------------------------------------------------------------------ */

/* mpk_thin_object - as mpk_thin_library, of an object
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: something points into the middle of a container that changes; MPK_E_CONFLICT:
 *          as mpk_thin_library; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_thin_object(struct mpk_span file, const struct mpk_thin_options *options,
			      struct mpk_arena *arena, struct mpk_rope *out,
			      struct mpk_thin_report *report, struct mpk_error *err) MPK_MUST_CHECK;

/* --- words that point to containers ------------------------------------------------------------ */

/* A part of the file that bytes of the same length replace. */
struct mpk_thin_patch {
	uint64_t off;
	uint8_t bytes[8];
	uint8_t len;
};

struct mpk_thin_patches {
	struct mpk_thin_patch *items; /* malloc'ed */
	size_t count, cap;
};

/* mpk_thin_patch_add - note a number of len bytes, at most 8, little-endian
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_patch_add(struct mpk_thin_patches *p, uint64_t off, uint64_t value,
				 unsigned len, struct mpk_error *err) MPK_MUST_CHECK;

/* A section of device code. */
struct mpk_thin_section {
	size_t index; /* of its header */
	GElf_Shdr header;
	struct mpk_thin_container *containers; /* by address */
	size_t container_count;
	uint64_t size; /* number of bytes that it will have */
};

struct mpk_thin_sycl;

/* mpk_thin_move - find what points into containers, give each its place, and note what of the file changes by that
 * @sections receive their new sizes
 * @c       loaded containers by address; referenced, pinned and moved are set
 * @sycl    tables of images that lose some are written anew (sycl.h)
 * @report  is added to
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: something points into the middle of a container that changes; MPK_E_CORRUPT;
 *          MPK_E_NOMEM */
enum mpk_code mpk_thin_move(const struct mpk_elf *elf, struct mpk_thin_section *sections,
			    size_t section_count, struct mpk_thin_container *c, size_t count,
			    const struct mpk_thin_sycl *sycl, struct mpk_thin_report *report,
			    struct mpk_thin_patches *patches, struct mpk_error *err) MPK_MUST_CHECK;

/* --- modules of TVM's ---------------------------------------------------------------------------- */

/* The blob of a library. */
struct mpk_thin_blob {
	struct mpk_span old; /* the old bytes, a view of the file */
	struct mpk_rope content;
	bool changed;
};

/* mpk_thin_blob - what becomes of a library's blob
 * @patches receives the digest in the note that tells of it
 * Returns  MPK_OK, also without a blob; as mpk_thin_container; MPK_E_UNSUPPORTED: one that cannot be written again */
enum mpk_code mpk_thin_blob(struct mpk_thin *t, struct mpk_span file, struct mpk_thin_blob *out,
			    struct mpk_thin_patches *patches, struct mpk_error *err) MPK_MUST_CHECK;

/* --- the file anew ------------------------------------------------------------------------------ */

/* mpk_thin_write - the file with sections that are shorter
 * @sections  by file offset
 * @patches  sorted here
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: segments or sections that cannot be cut, with the reason; MPK_E_CORRUPT:
 *          tables lie over one another; MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_thin_write(const struct mpk_elf *elf, const struct mpk_thin_section *sections,
			     size_t section_count, struct mpk_thin_patches *patches,
			     struct mpk_arena *arena, struct mpk_rope *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- where what leaves a library is, and all else afterwards ----------------------------------- */

enum { MPK_THIN_SECTIONS_MAX = 64 };

/* The free bytes at the end of a section; file offsets before anything moves. */
struct mpk_thin_hole {
	const struct mpk_thin_section *section;
	uint64_t off, end;         /* the free bytes, without program headers that are put there */
	uint64_t cut_off, cut_end; /* the whole pages of them, which leave the file; equal: none */
	size_t segment; /* the PT_LOAD that has the section; for a section that is not loaded, the
			 * number of segments */
	bool at_tail;   /* nothing of the segment follows: it is cut, not split */
};

struct mpk_thin_layout {
	const struct mpk_elf *elf;
	struct mpk_arena *arena;
	const struct mpk_thin_section *sections;
	size_t section_count;
	const GElf_Phdr *segments;
	uint64_t page;
	struct mpk_thin_hole holes[MPK_THIN_SECTIONS_MAX]; /* by offset, one for each section */
	size_t split_count;                                /* segments more */
	uint64_t table_off; /* offset of the program headers before anything moves */
	bool table_moves;
	/* The block that made room: [block_off, block_end) is loaded from block_to now. Equal:
	 * none. */
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

/* mpk_thin_assemble - the whole file anew
 * Returns  MPK_OK; MPK_E_CORRUPT: tables or patches lie over one another, or in what leaves the file; MPK_E_NOMEM */
enum mpk_code mpk_thin_assemble(const struct mpk_thin_layout *l,
				const struct mpk_thin_patches *patches,
				struct mpk_rope *out) MPK_MUST_CHECK;

/* --- words that hold addresses of device code -------------------------------------------------- */

/* A relocated word of the library that points to a container. */
struct mpk_thin_reference {
	uint64_t address;   /* of the word */
	uint64_t target;    /* what it holds */
	uint64_t addend_at; /* file offset of the addend; 0: the word itself holds it */
	size_t container;
	bool is_symbolic; /* the address comes from a symbol */
};

struct mpk_thin_references {
	struct mpk_thin_reference *items; /* malloc'ed; by address */
	size_t count, cap;
};

/* mpk_thin_read_word - a word of eight bytes at an address, and where it is in the file; false: the file has no bytes
 * for it */
static inline bool mpk_thin_read_word(const struct mpk_elf *elf, uint64_t address, uint64_t *word,
				      uint64_t *off)
{
	struct mpk_span bytes;

	if (!mpk_elf_at_address(elf, address, &bytes, off) || bytes.len < sizeof *word)
		return false;
	*word = mpk_load_u64(bytes.data);
	return true;
}

/* mpk_thin_target - what the dynamic linker stores by a relocation, counted from where the library is loaded
 * @symbols mpk_symtab_loaded
 * @is_target receives whether it is an address of the library
 * Returns  MPK_OK; MPK_E_CORRUPT: its symbol does not read */
enum mpk_code mpk_thin_target(const struct mpk_elf *elf, const struct mpk_symtab *symbols,
			      const struct mpk_relocation *r, uint64_t *out, bool *is_target,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_references - all words that point into containers, and which containers have to stay
 * @c       loaded containers by address; referenced and pinned are set
 * @out     items are the caller's, also on failure
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: something points into the middle of a container that changes; MPK_E_CORRUPT;
 *          MPK_E_NOMEM */
enum mpk_code mpk_thin_references(const struct mpk_elf *elf, struct mpk_thin_container *c,
				  size_t count, struct mpk_thin_references *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_move_symbols - symbols in containers, when moved says where these are
 * Returns  MPK_OK; MPK_E_CORRUPT: a table of symbols does not read; MPK_E_NOMEM */
enum mpk_code mpk_thin_move_symbols(const struct mpk_elf *elf, const struct mpk_thin_container *c,
				    size_t count, struct mpk_thin_patches *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif

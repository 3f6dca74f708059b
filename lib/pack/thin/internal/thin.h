/* SPDX-License-Identifier: Apache-2.0 */
/* thin.h - declarations shared by the files of this folder */
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
	struct mpk_span bytes;   /* bytes before thinning */
	uint64_t off;            /* offset in the ELF file */
	uint64_t address, moved; /* address before and after; 0: its section is not loaded */
	struct mpk_rope content; /* bytes after thinning */
	bool changed;            /* content differs from bytes */
	bool is_binary;          /* a single LLVM image, whose beginning and end are known to host
				  * code */
	bool is_gone;            /* is_binary, and the image is removed: content is empty */
	const struct mpk_code_target
		*target;     /* target of its whole section, if there is one; else NULL */
	bool is_relocatable; /* input of a linker, which drivers do not load */
	bool referenced;     /* a relocated word contains its address */
	bool is_registered;  /* a SYCL table lists the image, so removing it is safe */
	bool is_host;        /* not device code: other bytes in the section of a blob */
	bool pinned;         /* it must keep its address */
};

/* State of thinning one file. */
struct mpk_thin {
	const struct mpk_thin_options *o;
	struct mpk_arena *arena;
	struct mpk_thin_report *report;
	struct mpk_strbuf
		missing; /* messages about containers without code for a kept architecture */
	size_t missing_count;
	/* One bit for each word of keep: loaded containers have code for it after thinning, or had before. */
	uint64_t served, unlinked;
};

/* mpk_thin_container - thin one container
 * @c       bytes and is_relocatable are set; receives content, changed, is_binary and is_gone
 * @where   its name in messages: ".nv_fatbin:3"
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_UNSUPPORTED: it cannot be read; MPK_E_NOMEM */
enum mpk_code mpk_thin_container(struct mpk_thin *t, struct mpk_thin_container *c,
				 const char *where, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_is_container - whether bytes are a fatbin or a Clang bundle, compressed or not */
bool mpk_thin_is_container(struct mpk_span bytes);

/* mpk_thin_section_target - the device that a section of images is for, from its name
 * @out     in arena; NULL: it is not such a section
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_section_target(const char *name, struct mpk_span bytes,
				      struct mpk_arena *arena, const struct mpk_code_target **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_leave - note that a section is never changed
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_leave(struct mpk_thin *t, const struct mpk_code_target *target,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_see_found - account for GPU code among other data (elf/image.h), which is never changed
 * Host code may contain its size and end as well as its address, in words that no relocation marks.
 * And removing code from data that stays would not make the file smaller.
 * @blob    blob of a module in the file; empty: none
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_see_found(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_span blob, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_keeps - whether an architecture is to be kept; notes that the file has it */
bool mpk_thin_keeps(struct mpk_thin *t, const struct mpk_code_target *target);

/* Lists the images of a container that a driver takes, as indexes; the number of images stands for
 * none. */
struct mpk_thin_choice {
	size_t before, after;
};

/* mpk_thin_choose - the images that a driver takes for the device that a word of keep names
 * @kept    tells for each target whether it is kept; NULL: all are
 * Returns  MPK_OK, also if the word is not a device; MPK_E_NOMEM */
enum mpk_code mpk_thin_choose(struct mpk_span word, const struct mpk_code_target *targets,
			      const bool *kept, size_t count, struct mpk_thin_choice *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_keep_devices - keep the images of a container that drivers take on the devices of
 * --device-arch
 * @kept    for each target; true values stay true
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_keep_devices(struct mpk_thin *t, const struct mpk_code_target *targets,
				    bool *kept, size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_keep_links - keep the images of a linker's input that a link for the devices of
 * --device-arch may take where a driver would take others: LTO-IR, and PTX if there is no machine
 * code for exactly that device
 * @kept    for each target; true values stay true */
void mpk_thin_keep_links(struct mpk_thin *t, const struct mpk_code_target *targets, bool *kept,
			 size_t count);

/* mpk_thin_lost_link - find LTO-IR for a device in a linker's input that would be lost: none of the
 * kept images could be linked for the device
 * @word    such as "sm_90"; for other words nothing is lost
 * Returns  index of a target; count: nothing is lost */
size_t mpk_thin_lost_link(struct mpk_span word, const struct mpk_code_target *targets,
			  const bool *kept, size_t count);

/* Most containers that the message names. */
enum { MPK_THIN_MISSING_SHOWN = 3 };

/* mpk_thin_miss - note that a kept architecture would lose code
 * @what    what is left or missing, for the message, such as "compute_80 PTX alone" */
void mpk_thin_miss(struct mpk_thin *t, const char *where, struct mpk_span word, const char *what);

/* Section of device code in a linker's input, which drivers do not load. */
#define MPK_THIN_RELOCATABLE "__nv_relfatbin"

/* mpk_thin_check_missing - after all containers: whether kept architectures would lose code
 * Returns  MPK_OK; MPK_E_CONFLICT: they would, and the options do not allow it; MPK_E_NOMEM */
enum mpk_code mpk_thin_check_missing(struct mpk_thin *t,
				     const struct mpk_thin_container *containers, size_t count,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- objects ------------------------------------------------------------------------ */

/* mpk_thin_object - thin an object, as mpk_thin_library does a library
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: an address in the middle of a container that changes;
 *          MPK_E_CONFLICT as mpk_thin_library; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_thin_object(struct mpk_span file, const struct mpk_thin_options *options,
			      struct mpk_arena *arena, struct mpk_rope *out,
			      struct mpk_thin_report *report, struct mpk_error *err) MPK_MUST_CHECK;

/* --- words that point to containers ------------------------------------------------------------ */

/* A part of the file that is replaced by bytes of the same length. */
struct mpk_thin_patch {
	uint64_t off;
	uint8_t bytes[8];
	uint8_t len;
};

struct mpk_thin_patches {
	struct mpk_thin_patch *items; /* malloc'ed */
	size_t count, cap;
};

/* mpk_thin_patch_add - add a little-endian number of len bytes, at most 8
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_thin_patch_add(struct mpk_thin_patches *p, uint64_t off, uint64_t value,
				 unsigned len, struct mpk_error *err) MPK_MUST_CHECK;

/* A section of device code. */
struct mpk_thin_section {
	size_t index; /* index of the section header */
	GElf_Shdr header;
	struct mpk_thin_container *containers; /* sorted by address */
	size_t container_count;
	uint64_t size; /* size in bytes after thinning */
};

struct mpk_thin_sycl;

/* mpk_thin_move - find addresses that point into containers, place the containers, and collect the
 * resulting changes
 * @sections receive their new sizes
 * @c       loaded containers by address; referenced, pinned and moved are set
 * @sycl    tables that lose images are rewritten (sycl.h)
 * @report  messages are added
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: an address in the middle of a container that changes;
 *          MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_thin_move(const struct mpk_elf *elf, struct mpk_thin_section *sections,
			    size_t section_count, struct mpk_thin_container *c, size_t count,
			    const struct mpk_thin_sycl *sycl, struct mpk_thin_report *report,
			    struct mpk_thin_patches *patches, struct mpk_error *err) MPK_MUST_CHECK;

/* --- modules of TVM's ---------------------------------------------------------------------------- */

/* The blob of a library, before and after. */
struct mpk_thin_blob {
	struct mpk_span old; /* old bytes, in the file */
	struct mpk_rope content;
	bool changed;
};

/* mpk_thin_blob - thin the modules in a library's blob
 * @patches receives the new digest for the note
 * Returns  MPK_OK, also without a blob; as mpk_thin_container; MPK_E_UNSUPPORTED: a blob that
 *          cannot be written again */
enum mpk_code mpk_thin_blob(struct mpk_thin *t, struct mpk_span file, struct mpk_thin_blob *out,
			    struct mpk_thin_patches *patches, struct mpk_error *err) MPK_MUST_CHECK;

/* --- the file anew ------------------------------------------------------------------------------ */

/* mpk_thin_write - write the file with shortened sections
 * @sections  sorted by file offset
 * @patches  are sorted here
 * Returns  MPK_OK; MPK_E_UNSUPPORTED with the reason: segments or sections that cannot be
 *          shortened; MPK_E_CORRUPT: tables that overlap; MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_thin_write(const struct mpk_elf *elf, const struct mpk_thin_section *sections,
			     size_t section_count, struct mpk_thin_patches *patches,
			     struct mpk_arena *arena, struct mpk_rope *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- Layout of a library after removing free bytes ------------------------------------------ */

enum { MPK_THIN_SECTIONS_MAX = 64 };

/* Free bytes at the end of a section; file offsets before thinning. */
struct mpk_thin_hole {
	const struct mpk_thin_section *section;
	uint64_t off, end;         /* the free bytes, except those used for program headers */
	uint64_t cut_off, cut_end; /* the whole pages among them, which are removed from the file;
				    * equal: none */
	size_t segment; /* the PT_LOAD segment of the section; the number of segments if the section
			 * is not loaded */
	bool at_tail;   /* nothing follows in the segment, so the segment is shortened, not split */
};

struct mpk_thin_layout {
	const struct mpk_elf *elf;
	struct mpk_arena *arena;
	const struct mpk_thin_section *sections;
	size_t section_count;
	const GElf_Phdr *segments;
	uint64_t page;
	struct mpk_thin_hole
		holes[MPK_THIN_SECTIONS_MAX]; /* sorted by offset, one for each section */
	size_t split_count;                   /* number of additional segments */
	uint64_t table_off;                   /* offset of the program headers before thinning */
	bool table_moves;
	/* A block that was moved to make room: [block_off, block_end) is now loaded from block_to. Equal:
	 * there is none. */
	uint64_t block_off, block_end, block_to, block_address;
	uint8_t *block; /* bytes of the block */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* sycl.c - how a library registers its images with SYCL's runtime
 *
 * Compilers store one image for each device, and for each part into which they split kernels, in a
 * section for the device. A constructor of the library passes a descriptor to the runtime. The
 * descriptor has the number of images and the address of an array with a struct for each image: its
 * device, its beginning and end, and its kernels. The structs are those of Intel's compilers
 * (sycl/source/detail/compiler.hpp, "sycl_device_binary_struct"; versions 1 and 2 have two more
 * words than version 3) and of Clang (clang/tools/clang-linker-wrapper, version 3).
 *
 * In a stripped library no symbol leads to a descriptor, but each of its pointers has a relocation.
 * So every relocated word is tried as a descriptor's pointer to its array: the descriptor's head
 * must precede it, and all images in the array must agree with the head. Images that no descriptor
 * lists are left unchanged. */
#include "thin/internal/sycl.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/image.h"

#define PREFIX "__CLANG_OFFLOAD_BUNDLE__sycl-"

enum {
	WORD_BYTES = 8,
	HEAD_BYTES = 8, /* bytes of a descriptor's head, and of an image's */
	VERSION = 1,    /* of a descriptor */
	LAST_VERSION = 3,
	KIND_INTEL = 4,
	KIND_CLANG = 8,
	DEVICE_AT = 8,
	IMAGE_AT = 32,       /* offsets of the pointers to beginning, end, kernels and properties */
	MANIFEST_BYTES = 16, /* bytes before that word, up to version 2 */
	IMAGE_BYTES = 80,
	TEXT_MAX = 256, /* bytes of a device's name */
	SECTIONS_MAX = 64,
};

struct reading {
	const struct mpk_elf *elf;
	struct mpk_thin_sycl *out;
	struct mpk_symtab symbols;
	uint64_t left; /* number of images that may still be read, in all tables together */
	enum mpk_code code;
	struct mpk_error *err;
};

/* --- words ------------------------------------------------------------------------------------ */

static void take_relocated_word(void *arg, const struct mpk_relocation *r)
{
	struct reading *s = arg;
	struct mpk_thin_sycl *out = s->out;
	uint64_t target;
	bool is_target;

	if (s->code != MPK_OK)
		return;
	s->code = mpk_thin_target(s->elf, &s->symbols, r, &target, &is_target, s->err);
	if (s->code != MPK_OK || !is_target)
		return;
	if (out->word_count > s->elf->bytes.len / WORD_BYTES)
		s->code = mpk_fail_offset(s->err, MPK_E_CORRUPT, "file", r->off,
					  "more words are relocated than there are");
	else if (!MPK_VEC_ROOM(out->words, out->word_count, out->word_cap))
		s->code = mpk_fail_nomem(s->err);
	else
		out->words[out->word_count++] =
			(struct mpk_thin_word){ r->address, target, r->off, r->type != 0 };
}

MPK_ORDER_BY2(by_word_address, struct mpk_thin_word, address, off)

static enum mpk_code read_relocated_words(struct reading *s)
{
	struct mpk_thin_sycl *out = s->out;
	struct mpk_linking linking;

	MPK_TRY(mpk_symtab_loaded(s->elf, &s->symbols, s->err));
	MPK_TRY(mpk_linking_open(s->elf, &linking, s->err));
	MPK_TRY(mpk_linking_relocations(&linking, take_relocated_word, s, s->err));
	if (out->word_count)
		qsort(out->words, out->word_count, sizeof *out->words, by_word_address);
	return s->code;
}

const struct mpk_thin_word *mpk_thin_sycl_word(const struct mpk_thin_sycl *s, uint64_t address)
{
	size_t i = mpk_first_from(s->words, s->word_count, sizeof *s->words,
				  offsetof(struct mpk_thin_word, address), address);

	return i < s->word_count && s->words[i].address == address ? &s->words[i] : NULL;
}

static uint64_t target_at(const struct mpk_thin_sycl *s, uint64_t address)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(s, address);

	return w ? w->target : 0;
}

/* --- sections --------------------------------------------------------------------------------- */

static enum mpk_code read_sections(struct reading *s, struct mpk_thin *t, bool *all_kept)
{
	struct mpk_thin_sycl *out = s->out;

	for (size_t i = 1; i < s->elf->section_count; i++) {
		const char *name = mpk_elf_section_name(s->elf, i);
		struct mpk_thin_sycl_section section = { .index = i };
		struct mpk_span bytes;

		MPK_TRY(mpk_elf_section(s->elf, i, &section.header, s->err));
		if (!name || strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
		    !mpk_elf_is_device_section(name) || !(section.header.sh_flags & SHF_ALLOC) ||
		    section.header.sh_type == SHT_NOBITS || !section.header.sh_size ||
		    !mpk_span_sub(s->elf->bytes, section.header.sh_offset, section.header.sh_size,
				  &bytes))
			continue;
		if (out->section_count == SECTIONS_MAX)
			return mpk_fail(s->err, MPK_E_UNSUPPORTED,
					"more than %d sections of SYCL's images", SECTIONS_MAX);
		MPK_TRY(mpk_thin_section_target(name, bytes, t->arena, &section.target, s->err));
		*all_kept &= mpk_thin_keeps(t, section.target);
		MPK_TRY_ALLOC(MPK_VEC_ROOM(out->sections, out->section_count, out->section_cap),
			      s->err);
		out->sections[out->section_count++] = section;
	}
	return MPK_OK;
}

/* Returns the section that contains an image; the number of sections if none does. */
static size_t sycl_section_of(const struct mpk_thin_sycl *s, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; begin < end && i < s->section_count; i++) {
		const GElf_Shdr *h = &s->sections[i].header;

		if (begin >= h->sh_addr && begin - h->sh_addr <= h->sh_size &&
		    end - begin <= h->sh_size - (begin - h->sh_addr))
			return i;
	}
	return s->section_count;
}

/* --- tables ----------------------------------------------------------------------------------- */

static bool bytes_at(const struct reading *s, uint64_t address, uint64_t count,
		     struct mpk_span *out)
{
	uint64_t off;

	return mpk_elf_at_address(s->elf, address, out, &off) && out->len >= count;
}

static bool read_device_name(const struct reading *s, uint64_t address, struct mpk_span *out)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(s->out, address);
	const uint8_t *nul;

	if (!w || !bytes_at(s, w->target, 1, out))
		return false;
	nul = memchr(out->data, 0, out->len < TEXT_MAX ? out->len : TEXT_MAX);
	if (nul)
		*out = mpk_span_of(out->data, (size_t)(nul - out->data));
	return nul != NULL;
}

/* The head tells which struct follows: u16 version, u8 kind of runtime, u8 format, four bytes of
 * padding. */
static unsigned image_version(struct mpk_span head)
{
	unsigned version = mpk_load_u16(head.data);
	uint8_t kind = head.data[2];

	if (!version || version > LAST_VERSION || mpk_load_u32(head.data + 4) ||
	    !(kind == KIND_INTEL || (kind == KIND_CLANG && version == LAST_VERSION)))
		return 0;
	return version;
}

static bool read_image(const struct reading *s, uint64_t at, unsigned version,
		       struct mpk_thin_sycl_image *out)
{
	uint64_t fields = at + IMAGE_AT + (version < LAST_VERSION ? MANIFEST_BYTES : 0);
	struct mpk_span head;

	*out = (struct mpk_thin_sycl_image){ 0 };
	if (!bytes_at(s, at, HEAD_BYTES, &head) || image_version(head) != version ||
	    mpk_thin_sycl_word(s->out, at) || !read_device_name(s, at + DEVICE_AT, &out->device))
		return false;
	out->begin = target_at(s->out, fields);
	out->end = target_at(s->out, fields + 8);
	out->entries = target_at(s->out, fields + 16);
	out->entries_end = target_at(s->out, fields + 24);
	out->properties = target_at(s->out, fields + 32);
	out->properties_end = target_at(s->out, fields + 40);
	return out->begin <= out->end && out->entries <= out->entries_end &&
	       out->properties <= out->properties_end;
}

/* Whether a word is the pointer of a descriptor. The head precedes it: u16 version, u16 number of
 * images. */
static bool is_descriptor(const struct reading *s, const struct mpk_thin_word *w,
			  struct mpk_thin_sycl_table *out, unsigned *version)
{
	struct mpk_span head, array;

	if (w->address < HEAD_BYTES || !bytes_at(s, w->address - HEAD_BYTES, HEAD_BYTES, &head) ||
	    mpk_load_u16(head.data) != VERSION || !mpk_load_u16(head.data + 2) ||
	    mpk_load_u32(head.data + 4) || !bytes_at(s, w->target, IMAGE_BYTES, &array))
		return false;
	*version = image_version(array);
	out->descriptor = w->address - HEAD_BYTES;
	out->array = w->target;
	out->stride = IMAGE_BYTES + (*version < LAST_VERSION ? MANIFEST_BYTES : 0);
	out->count = mpk_load_u16(head.data + 2);
	return *version && bytes_at(s, out->array, out->stride * out->count, &array) &&
	       !mpk_thin_sycl_word(s->out, out->descriptor);
}

static enum mpk_code read_table(struct reading *s, const struct mpk_thin_word *w)
{
	struct mpk_thin_sycl *out = s->out;
	struct mpk_thin_sycl_table table = { .first = out->image_count };
	unsigned version;
	size_t ours = 0;

	if (!is_descriptor(s, w, &table, &version))
		return MPK_OK;
	if (table.count > s->left)
		return mpk_fail(s->err, MPK_E_CORRUPT, "SYCL's tables of images overlap");
	s->left -= table.count;
	MPK_TRY_ALLOC(mpk_vec_reserve(&out->images, &out->image_cap, table.first + table.count,
				      sizeof *out->images),
		      s->err);
	for (size_t i = 0; i < table.count; i++) {
		struct mpk_thin_sycl_image *image = &out->images[table.first + i];

		if (!read_image(s, table.array + i * table.stride, version, image))
			return MPK_OK;
		ours += sycl_section_of(out, image->begin, image->end) < out->section_count;
	}
	if (!ours)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(out->tables, out->table_count, out->table_cap), s->err);
	out->tables[out->table_count++] = table;
	out->image_count += table.count;
	return MPK_OK;
}

MPK_ORDER_BY2(by_array, struct mpk_thin_sycl_table, array, descriptor)

static enum mpk_code read_sycl_tables(struct reading *s)
{
	struct mpk_thin_sycl *out = s->out;

	for (size_t i = 0; i < out->word_count; i++)
		MPK_TRY(read_table(s, &out->words[i]));
	if (out->table_count)
		qsort(out->tables, out->table_count, sizeof *out->tables, by_array);
	for (size_t i = 1; i < out->table_count; i++) {
		const struct mpk_thin_sycl_table *t = &out->tables[i - 1];

		if (out->tables[i].array - t->array < t->stride * t->count)
			return mpk_fail(s->err, MPK_E_CORRUPT, "SYCL's tables of images overlap");
	}
	return MPK_OK;
}

/* --- ranges ------------------------------------------------------------------------------------ */

MPK_ORDER_BY2(by_begin, struct mpk_thin_sycl_range, begin, end)

static size_t find_range(const struct mpk_thin_sycl *s, const struct mpk_thin_sycl_image *image)
{
	const struct mpk_thin_sycl_range key = { .begin = image->begin, .end = image->end };
	const struct mpk_thin_sycl_range *found =
		s->range_count ? bsearch(&key, s->ranges, s->range_count, sizeof key, by_begin)
			       : NULL;

	return found ? (size_t)(found - s->ranges) : s->range_count;
}

/* Sorts the ranges and drops duplicates. */
static enum mpk_code sort_ranges(struct reading *s)
{
	struct mpk_thin_sycl *out = s->out;
	size_t kept = 0;

	if (out->range_count)
		qsort(out->ranges, out->range_count, sizeof *out->ranges, by_begin);
	for (size_t i = 0; i < out->range_count; i++) {
		const struct mpk_thin_sycl_range r = out->ranges[i];
		const struct mpk_thin_sycl_range *last = kept ? &out->ranges[kept - 1] : NULL;

		if (last && last->begin == r.begin && last->end == r.end)
			continue;
		if (last && r.begin < last->end)
			return mpk_fail(s->err, MPK_E_CORRUPT, "images of SYCL's overlap");
		out->ranges[kept++] = r;
	}
	out->range_count = kept;
	return MPK_OK;
}

static enum mpk_code read_ranges(struct reading *s)
{
	struct mpk_thin_sycl *out = s->out;

	out->ranges = calloc(out->image_count + 1, sizeof *out->ranges);
	MPK_TRY_ALLOC(out->ranges, s->err);
	for (size_t i = 0; i < out->image_count; i++) {
		struct mpk_thin_sycl_range r = { .begin = out->images[i].begin,
						 .end = out->images[i].end };

		r.section = sycl_section_of(out, r.begin, r.end);
		if (r.section == out->section_count)
			continue;
		r.bytes =
			mpk_span_of(s->elf->bytes.data + out->sections[r.section].header.sh_offset +
					    (r.begin - out->sections[r.section].header.sh_addr),
				    (size_t)(r.end - r.begin));
		out->ranges[out->range_count++] = r;
		out->sections[r.section].has_images = true;
	}
	MPK_TRY(sort_ranges(s));
	for (size_t i = 0; i < out->image_count; i++)
		out->images[i].range = find_range(out, &out->images[i]);
	return MPK_OK;
}

/* --- reading all descriptors ------------------------------------------------------------------ */

static bool is_dynamic(const struct mpk_elf *elf)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		GElf_Phdr p;

		if (mpk_elf_segment(elf, i, &p) && p.p_type == PT_DYNAMIC)
			return true;
	}
	return false;
}

enum mpk_code mpk_thin_sycl_read(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_thin_sycl *out, struct mpk_error *err)
{
	struct mpk_error ignored = { 0 };
	struct reading s = { .elf = elf,
			     .out = out,
			     .left = elf->bytes.len / IMAGE_BYTES,
			     .err = err ? err : &ignored };
	bool all_kept = true;

	MPK_TRY(read_sections(&s, t, &all_kept));
	if (all_kept || !is_dynamic(elf))
		return MPK_OK;
	MPK_TRY(read_relocated_words(&s));
	MPK_TRY(read_sycl_tables(&s));
	MPK_TRY(read_ranges(&s));
	return mpk_thin_sycl_keep(t, elf, out, s.err);
}

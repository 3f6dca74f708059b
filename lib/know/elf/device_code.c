/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.c - GPU code in sections of a library, separated into containers
 *
 * A linker appends the sections of all objects to each other and pads them with zeros. Only the
 * header of a container says where it ends. If a header gives no length, or one beyond the section,
 * the rest of the section is treated as one piece: it is shown as it is, not dropped. */
#include "elf/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "code/format.h"
#include "elf/internal/elf.h"
#include "fatbin/fatbin.h"
#include "offload/offload.h"

#define BUNDLE_SECTION "__CLANG_OFFLOAD_BUNDLE__"

enum { FATBIN_BYTES = 16, PAGE = 4096 };

struct list {
	struct mpk_image_device *items;
	size_t count, cap;
};

/* Frees the growing list; what the caller keeps has been copied to the arena. */
static void device_code_list_fini(struct list *l)
{
	free(l->items);
}

/* --- containers of a section ----------------------------------------------------------- */

/* Returns the bytes up to the next container, for a container that does not give its length: a
 * compressed bundle of version 1. Sections of objects are aligned to pages, so the search looks at
 * multiples of a page only. */
static size_t until_next(struct mpk_span bytes, size_t at)
{
	for (size_t next = at / PAGE * PAGE + PAGE; next < bytes.len; next += PAGE) {
		struct mpk_span rest = mpk_span_from(bytes, next);

		if (mpk_offload_is_packed(rest) || mpk_offload_is(rest))
			return next - at;
	}
	return bytes.len - at;
}

/* Returns the length of a compressed bundle. Version 1 has no field for it; the length of the
 * compressed data is used, if the format gives it; else 0. */
static uint64_t packed_bytes(struct mpk_span section, size_t at)
{
	struct mpk_offload_packed p;
	uint64_t bytes;

	if (mpk_offload_read_packed(mpk_span_from(section, at), &p, NULL) != MPK_OK)
		return 0;
	bytes = p.version == 1 ? mpk_offload_packed_bytes(&p) : p.used;
	return bytes ? bytes : until_next(section, at);
}

/* Whether the bytes begin with the magic number of a container. */
static bool begins_container(struct mpk_span bytes)
{
	return mpk_fatbin_is(bytes) || mpk_offload_is(bytes) || mpk_offload_is_packed(bytes) ||
	       mpk_offload_begins_image(bytes);
}

size_t mpk_device_container_bytes(struct mpk_span section, size_t at, bool *is_empty)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_span bytes = mpk_span_from(section, at);
	struct mpk_offload list;
	uint64_t used = 0;

	*is_empty = false;
	if (!begins_container(bytes))
		return 0;
	if (mpk_fatbin_is(bytes) && bytes.len >= FATBIN_BYTES) {
		used = mpk_load_u64(bytes.data + 8);
		*is_empty = used == 0;
		used = used <= bytes.len ? used + mpk_load_u16(bytes.data + 6) : 0;
	} else if (mpk_offload_is_packed(bytes)) {
		used = packed_bytes(section, at);
	} else if (mpk_offload_is(bytes)) {
		if (mpk_offload_read(bytes, &scratch, &list, NULL) == MPK_OK) {
			used = list.used;
			*is_empty = list.entry_count == 0;
		}
	} else {
		used = mpk_offload_image_bytes(bytes);
	}
	return used <= bytes.len ? (size_t)used : 0;
}

enum mpk_code mpk_device_code_split(struct mpk_span bytes, uint64_t off, const char *section,
				    struct mpk_image_device **items, size_t *count, size_t *cap,
				    struct mpk_error *err)
{
	size_t at = 0, len;

	for (;; at += len) {
		struct mpk_span rest;
		bool is_empty;

		/* Linkers pad with zeros, and no container begins with one. */
		while (at < bytes.len && bytes.data[at] == 0)
			at++;
		if (at == bytes.len)
			return MPK_OK;
		rest = mpk_span_from(bytes, at);
		len = mpk_device_container_bytes(bytes, at, &is_empty);
		if (!len)
			len = rest.len;
		/* A container without images has nothing to show. */
		if (is_empty)
			continue;
		MPK_TRY_ALLOC(mpk_vec_reserve(items, cap, *count + 1, sizeof **items), err);
		(*items)[*count] = (struct mpk_image_device){ .section = section,
							      .index = *count,
							      .bytes = mpk_span_of(rest.data, len),
							      .off = off + at };
		++*count;
	}
}

/* --- sections of a file ------------------------------------------------------------------ */

/* Whether a section of this name has containers one after the other: sections of nvcc, HIP and
 * Clang. */
static bool is_of_containers(const char *name)
{
	static const char *const names[] = { ".nv_fatbin", "__nv_relfatbin", ".hip_fatbin",
					     ".llvm.offloading" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Whether a section of this name has the images of one device:
 * "__CLANG_OFFLOAD_BUNDLE__sycl-spir64-unknown-unknown". The image of the host is one byte, a
 * placeholder for the surrounding object; that of SYCL's "native CPU" is pointers to host code. */
static bool is_of_images(const char *name)
{
	static const char *const hosts[] = { "host-", "sycl-native_cpu" };
	const char *id = name + strlen(BUNDLE_SECTION);

	if (strncmp(name, BUNDLE_SECTION, strlen(BUNDLE_SECTION)) != 0)
		return false;
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
		if (strncmp(id, hosts[i], strlen(hosts[i])) == 0)
			return false;
	return true;
}

bool mpk_elf_is_device_section(const char *name)
{
	return is_of_containers(name) || is_of_images(name);
}

/* The name is copied because the image outlives the open ELF file. */
static enum mpk_code device_code_add_section(const struct mpk_elf *elf, const GElf_Shdr *h,
					     const char *name, struct mpk_arena *arena,
					     struct list *l, struct mpk_error *err)
{
	const char *kept = mpk_arena_text(arena, mpk_span_str(name));
	uint64_t off = elf->base + h->sh_offset;
	size_t before = l->count;
	struct mpk_span bytes;

	MPK_TRY_ALLOC(kept, err);
	if (!mpk_span_sub(elf->bytes, h->sh_offset, h->sh_size, &bytes))
		return MPK_OK;
	MPK_TRY(mpk_device_code_split(bytes, off, kept, &l->items, &l->count, &l->cap, err));
	for (size_t i = before; i < l->count; i++)
		l->items[i].is_loaded = elf->header.e_type != ET_REL && h->sh_flags & SHF_ALLOC;
	return MPK_OK;
}

/* --- code among other data ----------------------------------------------------------------- */

/* Sorts the parts of the file that are listed elsewhere: the blob, and code that getters return. */
MPK_ORDER_BY(by_place, struct mpk_span, data)

static enum mpk_code list_known(const struct mpk_image *image, struct mpk_arena *scratch,
				struct mpk_span **out, size_t *count, struct mpk_error *err)
{
	struct mpk_span *known = mpk_arena_array(scratch, image->embedded_count + 1, sizeof *known);
	size_t n = 0;

	MPK_TRY_ALLOC(known, err);
	for (size_t i = 0; i < image->embedded_count; i++)
		known[n++] = image->embedded[i].bytes;
	if (image->has_blob)
		known[n++] = mpk_image_blob(image);
	if (n)
		qsort(known, n, sizeof *known, by_place);
	*out = known;
	*count = n;
	return MPK_OK;
}

/* Adds the containers that are found in a part of a section. */
static enum mpk_code add_found(struct mpk_span part, uint64_t off, const char *section,
			       struct list *l, struct mpk_error *err)
{
	size_t at = 0, len;

	for (;; at += len) {
		MPK_TRY(mpk_device_find(part, &at, &len, err));
		if (!len)
			return MPK_OK;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(l->items, l->count, l->cap), err);
		l->items[l->count] =
			(struct mpk_image_device){ .section = section,
						   .index = l->count,
						   .bytes = mpk_span_of(part.data + at, len),
						   .off = off + at,
						   .is_found = true };
		l->count++;
	}
}

/* Searches a section, except for the parts that are listed elsewhere. */
static enum mpk_code search_section(struct mpk_span bytes, uint64_t off, const char *section,
				    const struct mpk_span *known, size_t known_count,
				    struct list *l, struct mpk_error *err)
{
	size_t at = 0;

	for (size_t i = 0; i < known_count && at < bytes.len; i++) {
		uintptr_t begin = (uintptr_t)known[i].data, base = (uintptr_t)bytes.data;
		size_t from = begin > base ? begin - base : 0;

		if (begin + known[i].len <= base + at || from >= bytes.len)
			continue;
		if (from > at)
			MPK_TRY(add_found(mpk_span_of(bytes.data + at, from - at), off + at,
					  section, l, err));
		at = begin + known[i].len - base;
	}
	return at < bytes.len ? add_found(mpk_span_from(bytes, at), off + at, section, l, err)
			      : MPK_OK;
}

/* Whether a section may embed GPU code: it is data or code, not debug information, a table of the
 * linker or compressed. */
static bool may_embed(const GElf_Shdr *h, const char *name)
{
	return h->sh_type == SHT_PROGBITS && !(h->sh_flags & SHF_COMPRESSED) &&
	       strncmp(name, ".debug", 6) != 0 && strncmp(name, ".zdebug", 7) != 0;
}

/* A file without section headers is searched by its segments. */
static enum mpk_code find_in_segments(const struct mpk_elf *elf, const struct mpk_span *known,
				      size_t known_count, uint64_t left, struct list *l,
				      struct mpk_error *err)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		struct mpk_span bytes;
		GElf_Phdr p;

		if (!mpk_elf_segment(elf, i, &p) || p.p_type != PT_LOAD || p.p_filesz > left ||
		    !mpk_span_sub(elf->bytes, p.p_offset, p.p_filesz, &bytes))
			continue;
		left -= p.p_filesz;
		MPK_TRY(search_section(bytes, elf->base + p.p_offset, "PT_LOAD", known, known_count,
				       l, err));
	}
	return MPK_OK;
}

static enum mpk_code find_in_sections(const struct mpk_elf *elf, const struct mpk_span *known,
				      size_t known_count, uint64_t left, struct mpk_arena *arena,
				      struct list *l, struct mpk_error *err)
{
	for (size_t i = 1; i < elf->section_count; i++) {
		const char *name = mpk_elf_section_name(elf, i);
		size_t before = l->count;
		struct mpk_span bytes;
		const char *kept;
		GElf_Shdr h;

		if (!name || mpk_elf_is_device_section(name) ||
		    mpk_elf_section(elf, i, &h, NULL) != MPK_OK || !may_embed(&h, name) ||
		    h.sh_size > left || !mpk_span_sub(elf->bytes, h.sh_offset, h.sh_size, &bytes))
			continue;
		left -= h.sh_size; /* overlapping sections would be read again and again */
		MPK_TRY(search_section(bytes, elf->base + h.sh_offset, name, known, known_count, l,
				       err));
		if (l->count == before)
			continue;
		/* The name is copied because the image outlives the open ELF file. */
		kept = mpk_arena_text(arena, mpk_span_str(name));
		MPK_TRY_ALLOC(kept, err);
		for (size_t k = before; k < l->count; k++)
			l->items[k].section = kept;
	}
	return MPK_OK;
}

enum mpk_code mpk_elf_device_code(const struct mpk_elf *elf, const struct mpk_image *image,
				  struct mpk_arena *arena, const struct mpk_image_device **out,
				  size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(device_code_list_fini) struct list l = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	/* All sections together are read up to the size of the file. */
	uint64_t left = elf->bytes.len;
	struct mpk_span *known;
	size_t known_count;
	GElf_Shdr h;

	for (size_t i = 1; i < elf->section_count; i++) {
		const char *name = mpk_elf_section_name(elf, i);

		if (!name || !mpk_elf_is_device_section(name) ||
		    mpk_elf_section(elf, i, &h, NULL) != MPK_OK || h.sh_type == SHT_NOBITS ||
		    !h.sh_size || h.sh_size > left)
			continue;
		left -= h.sh_size; /* overlapping sections would be read again and again */
		MPK_TRY(device_code_add_section(elf, &h, name, arena, &l, err));
	}
	MPK_TRY(list_known(image, &scratch, &known, &known_count, err));
	if (elf->section_count)
		MPK_TRY(find_in_sections(elf, known, known_count, left, arena, &l, err));
	else
		MPK_TRY(find_in_segments(elf, known, known_count, left, &l, err));
	*out = mpk_arena_keep(arena, l.items, l.count, sizeof *l.items);
	MPK_TRY_ALLOC(*out, err);
	*count = l.count;
	return MPK_OK;
}

/* --- a file of GPU code as an image: no blob, no function, containers ------------------------- */

/* Compilers write such files (a cubin, PTX, a code object, SPIR-V), and tools that bundle them do
 * (a fatbin, an offload bundle). Each becomes an image with one container, so every answer about
 * the GPU code of a library applies to these files. Only headers are read here: a fatbin may have
 * gigabytes. */

bool mpk_file_is_device(struct mpk_span bytes)
{
	return mpk_code_format_of(bytes)->is_file;
}

static void free_items(struct mpk_image_device **items)
{
	free(*items);
}

/* Whether the file begins with a container. A single image is as long as the file. */
static bool begins_with_container(struct mpk_span bytes)
{
	return mpk_fatbin_is(bytes) || mpk_offload_is(bytes) || mpk_offload_is_packed(bytes);
}

static enum mpk_code read_device_file(enum mpk_file_format format, struct mpk_span bytes,
				      uint64_t off, const enum mpk_generation *gen,
				      struct mpk_arena *arena, struct mpk_image *image,
				      struct mpk_error *err)
{
	(void)gen;
	*image = (struct mpk_image){
		.container = MPK_CONTAINER_DEVICE,
		.format = format,
		.bytes = bytes,
		.bytes_off = off,
		.gen = MPK_GEN_CURRENT,
		.prefix = "",
	};

	/* Containers may follow one another, as in a section. A file without a container, or with one that
	 * has no images, is taken as one piece. */
	const struct mpk_image_device whole = { .section = MPK_DEVICE_FILE,
						.bytes = bytes,
						.off = off };
	MPK_CLEANUP(free_items) struct mpk_image_device *items = NULL;
	size_t count = 0, cap = 0;

	if (begins_with_container(bytes))
		MPK_TRY(mpk_device_code_split(bytes, off, MPK_DEVICE_FILE, &items, &count, &cap,
					      err));
	image->device_count = count ? count : 1;
	image->devices = mpk_arena_keep(arena, count ? items : &whole, image->device_count,
					sizeof *image->devices);
	return image->devices ? MPK_OK : mpk_fail_nomem(err);
}

const struct mpk_image_reader mpk_device_images = { read_device_file };

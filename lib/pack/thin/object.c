/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - thins an object for a linker to the device code of chosen architectures
 *
 * In an object nothing has an address yet: sections may be anywhere in the file, and symbols with
 * relocations point to containers. So containers move together within their section, symbols and
 * addends are adjusted, and the file is written section by section. Host code uses the containers
 * only after linking. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/image.h"
#include "thin/internal/thin.h"

enum { SYMBOL_BYTES = 24, RELA_BYTES = 24, ALIGN_MAX = 1 << 16, OFFSET_AT = 24, SIZE_AT = 32 };

/* A section of device code; its containers are consecutive in the object's list. */
struct object_section {
	GElf_Shdr header;
	size_t first, count;
	uint64_t size; /* size after thinning */
	bool changed;
};

struct object {
	struct mpk_elf elf;
	struct mpk_thin thin;
	struct object_section *sections; /* by section index; count is 0 if there is no device
					        * code */
	struct mpk_thin_container
		*containers; /* malloc'ed; their addresses are offsets in sections */
	size_t container_count, container_cap;
	struct mpk_thin_patches patches;
	struct mpk_error *err;
};

static void object_fini(struct object *o)
{
	mpk_elf_close(&o->elf);
	mpk_strbuf_fini(&o->thin.missing);
	free(o->containers);
	free(o->patches.items);
}

static enum mpk_code object_open(struct object *o, struct mpk_span file)
{
	const GElf_Ehdr *e = &o->elf.header;

	MPK_TRY(mpk_elf_open(file, 0, &o->elf, o->err));
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_ident[EI_DATA] != ELFDATA2LSB)
		return mpk_fail(o->err, MPK_E_UNSUPPORTED,
				"only objects of 64 bits, little-endian, are thinned");
	if (o->elf.section_count >= SHN_LORESERVE)
		return mpk_fail(o->err, MPK_E_UNSUPPORTED, "it has more than 65,279 sections");
	MPK_TRY_ARRAY(o->sections, o->thin.arena, o->elf.section_count + 1, o->err);
	memset(o->sections, 0, (o->elf.section_count + 1) * sizeof *o->sections);
	return MPK_OK;
}

/* --- containers --------------------------------------------------------------------------------- */

/* Bytes after the last container stay. */
static enum mpk_code object_split(struct object *o, struct object_section *s, const char *name)
{
	struct mpk_span bytes;
	const struct mpk_code_target *target;
	size_t at = 0, len;
	bool is_empty;

	if (!mpk_span_sub(o->elf.bytes, s->header.sh_offset, s->header.sh_size, &bytes))
		return mpk_fail(o->err, MPK_E_CORRUPT, "a section lies beyond the end");
	MPK_TRY(mpk_thin_section_target(name, bytes, o->thin.arena, &target, o->err));
	if (target && (s->header.sh_flags & SHF_ALLOC))
		return mpk_thin_leave(&o->thin, target, o->err);
	s->first = o->container_count;
	for (;; at += len) {
		struct mpk_thin_container c = {
			.is_relocatable = strcmp(name, MPK_THIN_RELOCATABLE) == 0,
			.target = target,
		};

		while (at < bytes.len && !bytes.data[at])
			at++;
		if (at == bytes.len)
			return MPK_OK;
		len = mpk_device_container_bytes(bytes, at, &is_empty);
		c.pinned = !len && !target;
		len = len && !target ? len : bytes.len - at;
		c.bytes = mpk_span_of(bytes.data + at, len);
		c.off = s->header.sh_offset + at;
		c.address = at;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(o->containers, o->container_count, o->container_cap),
			      o->err);
		o->containers[o->container_count++] = c;
		s->count++;
	}
}

/* A container keeps its alignment within the section, as far as the section has it. */
static uint64_t object_place(const struct object_section *s, uint64_t old, uint64_t at)
{
	uint64_t align = s->header.sh_addralign && s->header.sh_addralign < ALIGN_MAX
				 ? s->header.sh_addralign
				 : 1;

	align &= ~align + 1; /* the largest power of two that divides the number */
	if (old)
		align = (old & (~old + 1)) < align ? old & (~old + 1) : align;
	return (at + align - 1) & ~(align - 1);
}

static enum mpk_code object_thin_section(struct object *o, struct object_section *s,
					 const char *name)
{
	uint64_t at = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct mpk_thin_container *c = &o->containers[s->first + i];
		const char *where = mpk_arena_printf(o->thin.arena, "%s:%zu", name, i);

		MPK_TRY_ALLOC(where, o->err);
		if (c->pinned) {
			c->content = mpk_rope_of(o->thin.arena);
			mpk_rope_put_view(&c->content, c->bytes);
		} else {
			o->thin.report->containers++;
			MPK_TRY(mpk_thin_container(&o->thin, c, where, o->err));
		}
		s->changed |= c->changed;
		c->moved = object_place(s, c->address, at);
		at = c->moved + c->content.len;
	}
	/* Zeros behind the last container stay where nothing is removed. */
	s->size = s->changed ? at : s->header.sh_size;
	return MPK_OK;
}

static enum mpk_code object_containers(struct object *o)
{
	uint64_t left = o->elf.bytes.len;

	for (size_t i = 1; i < o->elf.section_count; i++) {
		const char *name = mpk_elf_section_name(&o->elf, i);
		struct object_section *s = &o->sections[i];

		MPK_TRY(mpk_elf_section(&o->elf, i, &s->header, o->err));
		if (s->header.sh_type == SHT_NOBITS)
			continue;
		if (s->header.sh_size > left)
			return mpk_fail_offset(o->err, MPK_E_CORRUPT, "file", s->header.sh_offset,
					       "sections overlap");
		left -= s->header.sh_size;
		if (!name || !mpk_elf_is_device_section(name) || !s->header.sh_size)
			continue;
		if (s->header.sh_flags & SHF_COMPRESSED)
			return mpk_fail(o->err, MPK_E_UNSUPPORTED, "%s is compressed", name);
		MPK_TRY(object_split(o, s, name));
		MPK_TRY(object_thin_section(o, s, name));
	}
	return MPK_OK;
}

/* --- what points to them ------------------------------------------------------------------------ */

/* Returns the new offset of a byte of a section; false: it is inside of what changes. */
static bool object_map(const struct object *o, const struct object_section *s, uint64_t old,
		       uint64_t *moved)
{
	const struct mpk_thin_container *c = &o->containers[s->first];
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c[middle].address <= old)
			low = middle + 1;
		else
			high = middle;
	}
	*moved = old;
	if (!s->changed || !low) /* The byte is before the first container, or nothing moves. */
		return old <= s->header.sh_size;
	c += low - 1;
	if (old >= s->header.sh_size) {
		*moved = s->size;
		return old == s->header.sh_size;
	}
	if (c->changed && old != c->address && old < c->address + c->bytes.len)
		return false;
	/* Zeros behind a container move with its end. */
	*moved = old < c->address + c->bytes.len ? c->moved + (old - c->address)
						 : c->moved + c->content.len;
	return true;
}

static enum mpk_code object_fail_middle(struct object *o, size_t section)
{
	return mpk_fail(
		o->err, MPK_E_UNSUPPORTED,
		"something points into the middle of device code in %s, which cannot be followed",
		mpk_elf_section_name(&o->elf, section));
}

/* Returns the changing section of device code that a symbol is in; 0: none. */
static size_t object_section_of(const struct object *o, uint64_t symbol, uint64_t *value,
				uint8_t *type)
{
	uint32_t word;
	size_t section;

	if (!mpk_elf_u32(&o->elf, symbol + 4, &word) || !mpk_elf_word(&o->elf, symbol + 8, value))
		return 0;
	*type = word & 0xf;
	section = word >> 16;
	return section < o->elf.section_count && o->sections[section].changed ? section : 0;
}

static enum mpk_code object_patch_symbol(struct object *o, uint64_t at)
{
	uint64_t value, size = 0, moved, end;
	uint8_t type;
	size_t i = object_section_of(o, at, &value, &type);
	const struct object_section *s = &o->sections[i];

	if (!i || type == STT_SECTION)
		return MPK_OK;
	if (!mpk_elf_word(&o->elf, at + 16, &size) || value > s->header.sh_size ||
	    size > s->header.sh_size - value)
		return mpk_fail(o->err, MPK_E_CORRUPT, "a symbol reaches beyond %s",
				mpk_elf_section_name(&o->elf, i));
	if (!object_map(o, s, value, &moved) || !object_map(o, s, value + size, &end))
		return object_fail_middle(o, i);
	MPK_TRY(mpk_thin_patch_add(&o->patches, at + 8, moved, 8, o->err));
	return mpk_thin_patch_add(&o->patches, at + 16, size ? end - moved : 0, 8, o->err);
}

/* Whether a relocation is the plain address, so that its addend says where in the section it
 * points. */
static bool object_is_address(const struct object *o, uint32_t type)
{
	switch (o->elf.header.e_machine) {
	case EM_X86_64:
		return type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S;
	case EM_AARCH64:
		return type == R_AARCH64_ABS64 || type == R_AARCH64_ABS32;
	default:
		return false;
	}
}

/* An addend continues from the symbol. If relative to the instruction, it also contains the
 * instruction's length: then only a symbol at the beginning of a container tells which container
 * is meant. */
static enum mpk_code object_patch_relocation(struct object *o, const GElf_Shdr *h,
					     const GElf_Shdr *symbols, size_t k)
{
	uint64_t at = h->sh_offset + k * RELA_BYTES, value, old, moved, base;
	uint8_t type;
	GElf_Rela r;
	size_t i;

	if (!mpk_elf_relocation(&o->elf, h, k, &r) ||
	    GELF_R_SYM(r.r_info) >= symbols->sh_size / SYMBOL_BYTES)
		return mpk_fail(o->err, MPK_E_CORRUPT, "a relocation does not read");
	i = object_section_of(o, symbols->sh_offset + GELF_R_SYM(r.r_info) * SYMBOL_BYTES, &value,
			      &type);
	if (!i || (type != STT_SECTION && !r.r_addend))
		return MPK_OK;
	base = type == STT_SECTION ? 0 : value;
	if (!object_is_address(o, (uint32_t)GELF_R_TYPE(r.r_info))) {
		/* Only the first container keeps its place. */
		bool stays = type != STT_SECTION || o->sections[i].count == 1;

		return stays && r.r_addend >= -8 && r.r_addend <= 0 ? MPK_OK
								    : object_fail_middle(o, i);
	}
	old = value + (uint64_t)r.r_addend;
	if (h->sh_type != SHT_RELA || !object_map(o, &o->sections[i], old, &moved) ||
	    !object_map(o, &o->sections[i], base, &base))
		return object_fail_middle(o, i);
	return mpk_thin_patch_add(&o->patches, at + 16, moved - base, 8, o->err);
}

static enum mpk_code object_patch_table(struct object *o, size_t index)
{
	const GElf_Shdr *h = &o->sections[index].header, *symbols;
	size_t count = h->sh_type == SHT_SYMTAB ? h->sh_size / SYMBOL_BYTES
						: mpk_elf_relocations(&o->elf, h);

	if (h->sh_type == SHT_SYMTAB) {
		for (size_t k = 0; k < count; k++)
			MPK_TRY(object_patch_symbol(o, h->sh_offset + k * SYMBOL_BYTES));
		return MPK_OK;
	}
	if (h->sh_link >= o->elf.section_count || h->sh_info >= o->elf.section_count)
		return mpk_fail(o->err, MPK_E_CORRUPT, "relocations of no section");
	if (o->sections[h->sh_info].changed && count)
		return mpk_fail(o->err, MPK_E_UNSUPPORTED, "%s has relocations of its own",
				mpk_elf_section_name(&o->elf, h->sh_info));
	symbols = &o->sections[h->sh_link].header;
	for (size_t k = 0; k < count; k++)
		MPK_TRY(object_patch_relocation(o, h, symbols, k));
	return MPK_OK;
}

/* --- the file anew ------------------------------------------------------------------------------ */

MPK_ORDER_BY(object_by_patch, struct mpk_thin_patch, off)

static void object_pad(struct mpk_rope *out, uint64_t to)
{
	while (out->len < to)
		mpk_rope_put_u8(out, 0);
}

/* Writes a section's bytes with the patches in it; *next is the first patch not before it. */
static enum mpk_code object_put_patched(struct object *o, const GElf_Shdr *h, size_t *next,
					struct mpk_rope *out)
{
	struct mpk_span bytes = mpk_span_of(o->elf.bytes.data + h->sh_offset, h->sh_size);
	uint64_t end = h->sh_offset + h->sh_size;
	uint8_t *copy;

	while (*next < o->patches.count && o->patches.items[*next].off < h->sh_offset)
		(*next)++;
	if (*next == o->patches.count || o->patches.items[*next].off >= end) {
		mpk_rope_put_view(out, bytes);
		return MPK_OK;
	}
	copy = mpk_arena_keep(o->thin.arena, bytes.data, bytes.len, 1);
	MPK_TRY_ALLOC(copy, o->err);
	for (; *next < o->patches.count && o->patches.items[*next].off < end; (*next)++) {
		const struct mpk_thin_patch *p = &o->patches.items[*next];

		if (p->len <= end - p->off)
			memcpy(copy + (p->off - h->sh_offset), p->bytes, p->len);
	}
	mpk_rope_put_view(out, mpk_span_of(copy, bytes.len));
	return MPK_OK;
}

/* The place of a section in the order of the file. */
struct object_order {
	uint64_t off;
	size_t index;
};

static int object_by_offset(const void *a, const void *b)
{
	const struct object_order *x = a, *y = b;

	if (x->off != y->off)
		return x->off > y->off ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static enum mpk_code object_put_sections(struct object *o, uint64_t *offsets, struct mpk_rope *out)
{
	struct object_order *order =
		mpk_arena_array(o->thin.arena, o->elf.section_count + 1, sizeof *order);
	size_t count = 0, next = 0;

	MPK_TRY_ALLOC(order, o->err);
	for (size_t i = 1; i < o->elf.section_count; i++)
		order[count++] = (struct object_order){ o->sections[i].header.sh_offset, i };
	if (count)
		qsort(order, count, sizeof *order, object_by_offset);
	if (o->patches.count)
		qsort(o->patches.items, o->patches.count, sizeof *o->patches.items,
		      object_by_patch);
	for (size_t k = 0; k < count; k++) {
		const struct object_section *s = &o->sections[order[k].index];
		uint64_t align = s->header.sh_addralign;
		bool has_bytes = s->header.sh_type != SHT_NOBITS && s->header.sh_type != SHT_NULL;

		if (has_bytes && align > 1 && align < ALIGN_MAX && !(align & (align - 1)))
			object_pad(out, (out->len + align - 1) & ~(align - 1));
		offsets[order[k].index] = out->len;
		if (has_bytes && s->changed) {
			uint64_t begin = out->len;

			for (size_t i = 0; i < s->count; i++) {
				struct mpk_thin_container *c = &o->containers[s->first + i];

				object_pad(out, begin + c->moved);
				mpk_rope_put_rope(out, &c->content);
			}
		} else if (has_bytes)
			MPK_TRY(object_put_patched(o, &s->header, &next, out));
	}
	return MPK_OK;
}

static void object_store(uint8_t *at, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* Headers of ELFCLASS64: the section's offset is at byte 24 of its header, its length behind it. */
static enum mpk_code object_put_headers(struct object *o, const uint64_t *offsets,
					struct mpk_rope *out)
{
	const GElf_Ehdr *e = &o->elf.header;
	uint64_t bytes = (uint64_t)e->e_shentsize * o->elf.section_count;
	struct mpk_span table;
	uint8_t *copy;

	if (e->e_shentsize != 64 || !mpk_span_sub(o->elf.bytes, e->e_shoff, bytes, &table))
		return mpk_fail(o->err, MPK_E_CORRUPT, "its section headers do not read");
	copy = mpk_arena_keep(o->thin.arena, table.data, table.len, 1);
	MPK_TRY_ALLOC(copy, o->err);
	for (size_t i = 1; i < o->elf.section_count; i++) {
		object_store(copy + 64 * i + OFFSET_AT, offsets[i]);
		if (!o->sections[i].changed)
			continue;
		object_store(copy + 64 * i + SIZE_AT, o->sections[i].size);
		/* A bundler takes the code of each device that it finds by name. */
		if (o->containers[o->sections[i].first].target)
			memset(copy + 64 * i, 0, sizeof(Elf64_Word));
	}
	mpk_rope_put_view(out, mpk_span_of(copy, table.len));
	return MPK_OK;
}

static enum mpk_code object_write(struct object *o, struct mpk_rope *out)
{
	enum { HEADER_BYTES = 64, HEADERS_AT = 40 };
	uint64_t *offsets =
		mpk_arena_array(o->thin.arena, o->elf.section_count + 1, sizeof *offsets);
	uint8_t *header =
		o->elf.bytes.len >= HEADER_BYTES
			? mpk_arena_keep(o->thin.arena, o->elf.bytes.data, HEADER_BYTES, 1)
			: NULL;

	MPK_TRY_ALLOC(offsets && header, o->err);
	mpk_rope_put_view(out, mpk_span_of(header, HEADER_BYTES));
	MPK_TRY(object_put_sections(o, offsets, out));
	object_pad(out, (out->len + 7) & ~UINT64_C(7));
	object_store(header + HEADERS_AT, out->len);
	MPK_TRY(object_put_headers(o, offsets, out));
	return out->len > o->elf.bytes.len
		       ? mpk_fail(o->err, MPK_E_UNSUPPORTED, "it would become larger")
		       : mpk_rope_status(out, o->err);
}

static enum mpk_code object_thin(struct object *o, struct mpk_rope *out)
{
	bool changed = false;

	MPK_TRY(mpk_thin_see_found(&o->thin, &o->elf, (struct mpk_span){ 0 }, o->err));
	MPK_TRY(object_containers(o));
	MPK_TRY(mpk_thin_check_missing(&o->thin, o->containers, o->container_count, o->err));
	for (size_t i = 0; i < o->container_count; i++)
		changed |= o->containers[i].changed;
	if (!changed) {
		mpk_rope_put_view(out, o->elf.bytes);
		return mpk_rope_status(out, o->err);
	}
	for (size_t i = 1; i < o->elf.section_count; i++) {
		uint32_t type = o->sections[i].header.sh_type;

		if (type == SHT_SYMTAB || type == SHT_RELA || type == SHT_REL)
			MPK_TRY(object_patch_table(o, i));
	}
	return object_write(o, out);
}

enum mpk_code mpk_thin_object(struct mpk_span file, const struct mpk_thin_options *options,
			      struct mpk_arena *arena, struct mpk_rope *out,
			      struct mpk_thin_report *report, struct mpk_error *err)
{
	MPK_CLEANUP(object_fini)
	struct object o = { .thin = { .o = options, .arena = arena, .report = report },
			    .err = err };

	MPK_TRY(object_open(&o, file));
	return object_thin(&o, out);
}

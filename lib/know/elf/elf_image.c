/* SPDX-License-Identifier: Apache-2.0 */
/* elf_image.c - an ELF file as an image: what a loader sees of a library, all of an object */
#include "elf/internal/elf_image.h"

#include "elf/device_code.h"
#include "elf/internal/embedded.h"
#include "elf/internal/functions.h"
#include "elf/symbols.h"

/* The null symbol, which begins every table, is left out. */
static enum mpk_code get(const void *self, size_t index, struct mpk_symbol *out,
			 struct mpk_error *err)
{
	return mpk_symtab_get(self, index + 1, out, err);
}

static enum mpk_code bytes(const void *self, const struct mpk_symbol *s, struct mpk_span *out,
			   uint64_t *off, struct mpk_error *err)
{
	const struct mpk_symtab *t = self;

	return mpk_symbol_bytes(t->elf, s, out, off, err);
}

static const char *section(const void *self, const struct mpk_symbol *s)
{
	const struct mpk_symtab *t = self;

	return mpk_elf_section_name(t->elf, s->section);
}

static struct mpk_symbol_source source_of(const struct mpk_symtab *t)
{
	return (struct mpk_symbol_source){
		t, t->count ? t->count - 1 : 0, t->elf->base, t->elf->bytes.len, get, bytes, section
	};
}

static enum mpk_code read_tables(const struct mpk_elf *e, const enum mpk_generation *gen,
				 struct mpk_arena *arena, struct mpk_image *image,
				 struct mpk_error *err)
{
	struct mpk_survey found = { 0 }, hidden = { 0 };
	struct mpk_symbol_source source, other;
	struct mpk_symtab table, all;

	MPK_TRY(mpk_symtab_dynamic(e, &table, err));
	if (e->header.e_type == ET_REL)
		MPK_TRY(mpk_symtab_static(e, &table, err));
	source = source_of(&table);
	MPK_TRY(mpk_symbols_survey(&source, &found, err));
	/* a program with a system-lib linked in exports nothing, its symbols stand in .symtab */
	if (!found.rank && e->header.e_type != ET_REL && !found.marks.tvm && !found.marks.current) {
		MPK_TRY(mpk_symtab_static(e, &all, err));
		other = source_of(&all);
		MPK_TRY(mpk_symbols_survey(&other, &hidden, err));
		if (hidden.rank) {
			hidden.marks = found.marks;
			found = hidden;
			source = other;
		} else {
			found.has_ctx |= hidden.has_ctx;
		}
	}
	return mpk_image_read_symbols(&source, &found, gen, arena, image, err);
}

/* A note outlives a symbol that a tool dropped or renamed. */
static enum mpk_code read_note(const struct mpk_elf *elf, struct mpk_arena *arena,
			       struct mpk_image *image, struct mpk_error *err)
{
	struct mpk_note note;

	if (image->has_blob)
		return mpk_note_find(elf, image->blob_symbol, arena, &image->note, err);
	MPK_TRY(mpk_note_find(elf, NULL, arena, &note, err));
	image->lost_blob = note.name ? note.symbol : NULL;
	return MPK_OK;
}

enum mpk_code mpk_image_read_elf(const struct mpk_elf *elf, const enum mpk_generation *gen,
				 struct mpk_arena *arena, struct mpk_image *image,
				 struct mpk_error *err)
{
	const GElf_Ehdr *h = &elf->header;

	image->bytes = elf->bytes;
	image->bytes_off = elf->base;
	image->container = h->e_type == ET_REL ? MPK_CONTAINER_ELF_OBJ : MPK_CONTAINER_ELF_SO;
	image->format = MPK_FILE_ELF;
	image->machine = h->e_machine;
	image->elf_class = h->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	image->big_endian = h->e_ident[EI_DATA] == ELFDATA2MSB;
	image->type = h->e_type;
	image->machine_name = mpk_elf_machine(h->e_machine);
	if (!image->machine_name)
		image->machine_name = mpk_arena_printf(arena, "machine 0x%x", h->e_machine);
	MPK_TRY_ALLOC(image->machine_name, err);
	MPK_TRY(read_tables(elf, gen, arena, image, err));
	MPK_TRY(read_note(elf, arena, image, err));
	MPK_TRY(mpk_elf_embedded(elf, arena, &image->embedded, &image->embedded_count, err));
	MPK_TRY(mpk_elf_device_code(elf, arena, &image->devices, &image->device_count, err));
	return mpk_elf_needed(elf, arena, &image->needed, &image->needed_count, err);
}

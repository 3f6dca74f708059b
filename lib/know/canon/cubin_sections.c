/* SPDX-License-Identifier: Apache-2.0 */
/* cubin_sections.c - what the sections of a cubin are to its digests (FORMAT.md 3.1): by their names, as no document of
 * NVIDIA says what is in them */
#include "canon/internal/images.h"

#include <stdlib.h>

enum {
	OWNER_DOTS = 6, /* in front of a function's name, in that of a section, at most */
};

/* What no driver runs or goes by, what follows from the code, and the second form of it that cubins for sm_100 and
 * later have, but for its instructions. */
static bool is_noise(struct mpk_span name)
{
	static const char *const beginnings[] = { ".debug",        ".nv_debug",   ".note",
						  ".comment",      ".nv.merc.",   ".nv.callgraph",
						  ".nv.prototype", ".nv.rel.",    ".symtab",
						  ".strtab",       ".shstrtab",   ".rel.debug",
						  ".rela.debug",   ".rel.nv_deb", ".rela.nv_deb",
						  ".nv.reservedSm" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(beginnings); i++)
		if (mpk_span_starts(name, beginnings[i]))
			return true;
	return !name.len;
}

static bool is_variables(struct mpk_span name)
{
	return mpk_span_is(name, ".nv.global") || mpk_span_is(name, ".nv.global.init");
}

static struct mpk_span canon_cubin_behind(struct mpk_span s, size_t at)
{
	return mpk_span_of(s.data + at, s.len - at);
}

/* ".nv.info.add" is of the function add, and ".nv.capmerc.text.add" is, too. */
static bool find_owner(const struct mpk_canon_sections *f, struct mpk_canon_section *s,
		       size_t *node)
{
	struct mpk_span name = s->head.name;

	for (size_t at = 1, dots = 1; at < name.len && dots < OWNER_DOTS; at++) {
		if (name.data[at] != '.')
			continue;
		dots++;
		if (!mpk_strmap_find(&f->code, canon_cubin_behind(name, at + 1), node))
			continue;
		s->base = mpk_span_of(name.data, at + 1);
		return true;
	}
	return false;
}

static enum mpk_code canon_cubin_find_code(struct mpk_canon_sections *f, struct mpk_error *err)
{
	static const char text[] = ".text.";

	f->items = calloc(f->elf.section_count, sizeof *f->items);
	MPK_TRY_ALLOC(f->items, err);
	for (size_t i = 0; i < f->elf.section_count; i++) {
		struct mpk_canon_section *s = &f->items[i];

		MPK_TRY(mpk_cubin_elf_section(&f->elf, i, &s->head, err));
		MPK_TRY(mpk_canon_spend(&f->left, "cubin", s->head.name.len, err));
		s->base = s->head.name;
		if (!mpk_span_starts(s->head.name, text))
			continue;
		s->role = MPK_CANON_TEXT;
		s->node = (uint32_t)i;
		s->base = mpk_span_str(text);
		MPK_TRY_ALLOC(mpk_strmap_put(&f->code,
					     canon_cubin_behind(s->head.name, sizeof text - 1), i,
					     NULL) >= 0,
			      err);
	}
	return MPK_OK;
}

/* Section 0 is none, so that its number is free for what is the image's. */
static void give_roles(struct mpk_canon_sections *f)
{
	for (size_t i = 1; i < f->elf.section_count; i++) {
		struct mpk_canon_section *s = &f->items[i];
		bool moves =
			s->head.type == MPK_CUBIN_SHT_REL || s->head.type == MPK_CUBIN_SHT_RELA;
		size_t node = 0;

		if (s->role == MPK_CANON_TEXT || is_noise(s->head.name))
			continue;
		s->role = moves ? MPK_CANON_RELOCATIONS : MPK_CANON_COMMON;
		if (!moves && find_owner(f, s, &node))
			s->role = MPK_CANON_OF_TEXT;
		else if (!moves && is_variables(s->head.name))
			s->role = MPK_CANON_DATA;
		else if (mpk_span_is(s->head.name, ".nv.info"))
			s->role = MPK_CANON_INFO;
		s->node = (uint32_t)(s->role == MPK_CANON_DATA ? i : node);
	}
}

/* --- symbols ------------------------------------------------------------------------------------- */

static enum mpk_code find_symbols(struct mpk_canon_sections *f, struct mpk_error *err)
{
	for (size_t i = 0; i < f->elf.section_count; i++) {
		const struct mpk_cubin_section *s = &f->items[i].head;

		if (s->type != MPK_CUBIN_SHT_SYMTAB || s->link >= f->elf.section_count)
			continue;
		MPK_TRY(mpk_cubin_elf_data(&f->elf, s, &f->symbols, err));
		MPK_TRY(mpk_cubin_elf_data(&f->elf, &f->items[s->link].head, &f->strings, err));
		f->symbol_count = f->symbols.len / MPK_CUBIN_SYMBOL_BYTES;
		break;
	}
	return MPK_OK;
}

enum mpk_code mpk_canon_sections_read(struct mpk_canon_sections *f, struct mpk_error *err)
{
	MPK_TRY(canon_cubin_find_code(f, err));
	MPK_TRY(find_symbols(f, err));
	give_roles(f);
	return MPK_OK;
}

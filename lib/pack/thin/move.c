/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - where the containers of a library are moved to, and what of the file changes by that
 *
 * A container that nothing hinders moves to the end of the one before it, so that all that is free in a section is in
 * one hole at its end; one that must stay has the hole before it, as zeros.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/vec.h"
#include "thin/internal/sycl.h"

enum {
	WORD_BYTES = 8,
	SYM_VALUE_AT = 8,
	SYM_SIZE_AT = 16,
	SYM_BYTES = 24,
	ALIGN_MAX = 4096,
};

/* --- places ------------------------------------------------------------------------------------------ */

/* A container is aligned as it happened to be, up to what its section asks for. */
static uint64_t align_of(const struct mpk_thin_section *s, const struct mpk_thin_container *c)
{
	uint64_t own = c->address ? c->address & -c->address : ALIGN_MAX;
	uint64_t asked = s->header.sh_addralign;

	asked = asked > WORD_BYTES ? asked : WORD_BYTES;
	asked = asked < ALIGN_MAX && (asked & (asked - 1)) == 0 ? asked : ALIGN_MAX;
	return own < asked ? own : asked;
}

/* No container gets behind where it was: each is at most as long as before, and aligned as it was. */
static void place_containers(struct mpk_thin_section *s, struct mpk_thin_report *report)
{
	uint64_t at = s->header.sh_addr;

	for (size_t i = 0; i < s->container_count; i++) {
		struct mpk_thin_container *c = &s->containers[i];
		uint64_t align = align_of(s, c);

		c->moved = (at + align - 1) & ~(align - 1);
		if (c->pinned && c->moved != c->address) {
			report->pinned++;
			report->zeroed_bytes += c->address - c->moved;
			c->moved = c->address;
		}
		at = c->moved + c->content.len;
	}
	s->size = at - s->header.sh_addr;
}

/* --- new values ---------------------------------------------------------------------------------------- */

static uint64_t new_target(const struct mpk_thin_container *c, uint64_t target)
{
	return c->moved + (c->is_gone ? 0 : target - c->address);
}

/* @sycl    words of its tables are written by those who order these */
static enum mpk_code patch_reference(const struct mpk_elf *elf, const struct mpk_thin_sycl *sycl,
				     const struct mpk_thin_reference *r,
				     const struct mpk_thin_container *c,
				     struct mpk_thin_patches *out, struct mpk_error *err)
{
	uint64_t to = new_target(c, r->target), word, off;

	if (to == r->target)
		return MPK_OK;
	if (r->is_symbolic && c->is_gone)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"an image that is taken out is named by a symbol");
	if (r->is_symbolic)
		return MPK_OK; /* the symbol moves, by as much */
	if (r->addend_at)
		MPK_TRY(mpk_thin_patch_add(out, r->addend_at, to, WORD_BYTES, err));
	/* Some linkers store the value in the word, too. */
	if (!mpk_thin_sycl_table_of(sycl, r->address) &&
	    mpk_thin_read_word(elf, r->address, &word, &off) && word == r->target)
		MPK_TRY(mpk_thin_patch_add(out, off, to, WORD_BYTES, err));
	return MPK_OK;
}

static enum mpk_code patch_symbol(const struct mpk_symbol *symbol, uint64_t at,
				  const struct mpk_thin_container *c, struct mpk_thin_patches *out,
				  struct mpk_error *err)
{
	uint64_t delta = symbol->value - c->address, len = c->content.len, size = symbol->bytes;

	if (c->changed) {
		delta = delta < len ? delta : len;
		size = size < len - delta ? size : len - delta;
	}
	if (c->moved + delta != symbol->value)
		MPK_TRY(mpk_thin_patch_add(out, at + SYM_VALUE_AT, c->moved + delta, WORD_BYTES,
					   err));
	if (size != symbol->bytes)
		MPK_TRY(mpk_thin_patch_add(out, at + SYM_SIZE_AT, size, WORD_BYTES, err));
	return MPK_OK;
}

static enum mpk_code patch_table(const struct mpk_elf *elf, size_t section,
				 const struct mpk_thin_container *c, size_t count,
				 struct mpk_thin_patches *out, struct mpk_error *err)
{
	struct mpk_symbol symbol;
	struct mpk_symtab table;

	MPK_TRY(mpk_symtab_open(elf, section, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		size_t k;

		MPK_TRY(mpk_symtab_get(&table, i, &symbol, err));
		k = mpk_thin_is_address(&symbol) ? mpk_thin_container_at(c, count, symbol.value)
						 : count;
		if (k < count)
			MPK_TRY(patch_symbol(&symbol, table.off + i * SYM_BYTES, &c[k], out, err));
	}
	return MPK_OK;
}

struct moved {
	const struct mpk_thin_references *found;
	const struct mpk_thin_container *c;
};

static uint64_t moved_word(void *data, const struct mpk_thin_word *word)
{
	const struct moved *m = data;
	const struct mpk_thin_references *r = m->found;
	size_t i = mpk_first_from(r->items, r->count, sizeof *r->items,
				  offsetof(struct mpk_thin_reference, address), word->address);

	if (i == r->count || r->items[i].address != word->address)
		return word->target;
	return new_target(&m->c[r->items[i].container], r->items[i].target);
}

/* What they and symbols are to be when containers are where moved says. */
static enum mpk_code patch_references(const struct mpk_elf *elf, const struct mpk_thin_sycl *sycl,
				      const struct mpk_thin_references *r,
				      const struct mpk_thin_container *c, size_t count,
				      struct mpk_thin_patches *out, struct mpk_error *err)
{
	struct moved moved = { r, c };

	for (size_t i = 0; i < r->count; i++)
		MPK_TRY(patch_reference(elf, sycl, &r->items[i], &c[r->items[i].container], out,
					err));
	for (size_t i = 1; i < elf->section_count; i++) {
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(elf, i, &h, err));
		if (h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM)
			MPK_TRY(patch_table(elf, i, c, count, out, err));
	}
	return mpk_thin_sycl_patch(sycl, elf, moved_word, &moved, out, err);
}

enum mpk_code mpk_thin_move(const struct mpk_elf *elf, struct mpk_thin_section *sections,
			    size_t section_count, struct mpk_thin_container *c, size_t count,
			    const struct mpk_thin_sycl *sycl, struct mpk_thin_report *report,
			    struct mpk_thin_patches *patches, struct mpk_error *err)
{
	struct mpk_thin_references found = { 0 };
	enum mpk_code code = mpk_thin_references(elf, c, count, &found, err);

	if (code == MPK_OK) {
		for (size_t i = 0; i < section_count; i++)
			place_containers(&sections[i], report);
		code = patch_references(elf, sycl, &found, c, count, patches, err);
	}
	free(found.items);
	return code;
}

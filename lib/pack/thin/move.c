/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - places the containers of a library, and updates the addresses that point to them
 *
 * A container that may move goes to the end of the previous one, so that a section's free bytes are
 * one hole at its end. Before a container that must stay, the hole is filled with zeros. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "thin/internal/sycl.h"

#define IMAGE_SIZES ".tgtimg"

enum { WORD_BYTES = 8, ALIGN_MAX = 4096, COUNT_AT = 2, COUNT_BYTES = 2 };

struct moving {
	const struct mpk_elf *elf;
	const struct mpk_thin_container *c;
	size_t count;
	const struct mpk_thin_sycl *sycl;
	struct mpk_thin_references found;
	struct mpk_thin_patches *out;
	struct mpk_error *err;
};

/* --- places ------------------------------------------------------------------------------------------ */

/* A container never moves to a higher address, because each is at most as long and as aligned as
 * before. */
static void place_containers(struct mpk_thin_section *s, struct mpk_thin_report *report)
{
	uint64_t at = s->header.sh_addr;

	for (size_t i = 0; i < s->container_count; i++) {
		struct mpk_thin_container *c = &s->containers[i];

		/* A container keeps the alignment of its old address, up to that of its section. */
		uint64_t own = c->address ? c->address & -c->address : ALIGN_MAX;
		uint64_t asked = s->header.sh_addralign;

		asked = asked > WORD_BYTES ? asked : WORD_BYTES;
		asked = asked < ALIGN_MAX && (asked & (asked - 1)) == 0 ? asked : ALIGN_MAX;
		uint64_t align = own < asked ? own : asked;

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

/* Returns the table whose array has this address if it loses images; else NULL. */
static const struct mpk_thin_sycl_table *sycl_table_of(const struct mpk_thin_sycl *s,
						       uint64_t address)
{
	const struct mpk_thin_sycl_table *t;
	size_t low = 0, high = s->table_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->tables[mid].array <= address)
			low = mid + 1;
		else
			high = mid;
	}
	t = low ? &s->tables[low - 1] : NULL;
	return t && t->loses && address - t->array < t->stride * t->count ? t : NULL;
}

/* Words in SYCL's tables are written when the tables are reordered. */
static enum mpk_code patch_reference(const struct moving *m, const struct mpk_thin_reference *r)
{
	const struct mpk_thin_container *c = &m->c[r->container];
	uint64_t to = new_target(c, r->target), word, off;

	if (to == r->target)
		return MPK_OK;
	if (r->is_symbolic && c->is_gone)
		return mpk_fail(m->err, MPK_E_UNSUPPORTED,
				"an image that is taken out is named by a symbol");
	if (r->is_symbolic)
		return MPK_OK; /* the symbol moves by this amount */
	if (r->addend_at)
		MPK_TRY(mpk_thin_patch_add(m->out, r->addend_at, to, WORD_BYTES, m->err));
	/* Some linkers also store the value in the word itself. */
	if (!sycl_table_of(m->sycl, r->address) &&
	    mpk_thin_read_word(m->elf, r->address, &word, &off) && word == r->target)
		MPK_TRY(mpk_thin_patch_add(m->out, off, to, WORD_BYTES, m->err));
	return MPK_OK;
}

/* --- SYCL's tables without the images that are dropped -----------------------------------------------
 *
 * The runtime looks at as many structs of the array as the descriptor says. So those of images that are kept change
 * places with those that are dropped, which end up last, and the number becomes that of the former. A struct moves as
 * a whole: its numbers with its bytes, its pointers with their relocations, which get the address of the word that
 * holds the pointer now. No relocation is added or taken out, so it does not matter which pointers of an image are
 * null; only where one entry relocates many words (DT_RELR) structs that change places must have the same ones.
 * An image that is dropped begins and ends where the one after it does, and nobody asks.
 */

/* Returns the indexes of the kept images, followed by the removed ones; malloc'ed. */
static size_t *order_of(const struct mpk_thin_sycl *s, const struct mpk_thin_sycl_table *t,
			size_t *kept)
{
	size_t *order = calloc(t->count, sizeof *order), n = 0;

	for (size_t i = 0; order && i < t->count; i++)
		if (mpk_thin_sycl_keeps(s, t->first + i))
			order[n++] = i;
	*kept = n;
	for (size_t i = 0; order && i < t->count; i++)
		if (!mpk_thin_sycl_keeps(s, t->first + i))
			order[n++] = i;
	return order;
}

static bool is_shared(const struct mpk_thin_word *w)
{
	return w && !w->has_own;
}

/* Returns the new target of a word. */
static uint64_t moved_word(const struct moving *m, const struct mpk_thin_word *word)
{
	const struct mpk_thin_references *r = &m->found;
	size_t i = mpk_first_from(r->items, r->count, sizeof *r->items,
				  offsetof(struct mpk_thin_reference, address), word->address);

	if (i == r->count || r->items[i].address != word->address)
		return word->target;
	return new_target(&m->c[r->items[i].container], r->items[i].target);
}

/* The value of a word is stored in another word. */
static enum mpk_code move_relocations(const struct moving *m, uint64_t from, uint64_t to)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(m->sycl, from);
	const struct mpk_thin_word *end = m->sycl->words + m->sycl->word_count;

	if (is_shared(w) != is_shared(mpk_thin_sycl_word(m->sycl, to)))
		return mpk_fail(m->err, MPK_E_UNSUPPORTED,
				"SYCL's images that would change places have pointers in different "
				"fields, and their relocations are packed (DT_RELR)");
	for (; w && w < end && w->address == from; w++)
		if (w->has_own)
			MPK_TRY(mpk_thin_patch_add(m->out, w->off, to, WORD_BYTES, m->err));
	return MPK_OK;
}

static enum mpk_code move_word(const struct moving *m, uint64_t from, uint64_t to)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(m->sycl, from);
	uint64_t value, old, off;

	if (!mpk_thin_read_word(m->elf, from, &value, &off) ||
	    !mpk_thin_read_word(m->elf, to, &old, &off))
		return mpk_fail(m->err, MPK_E_CORRUPT, "SYCL's table of images is not loaded");
	/* Some linkers also store the value in the word itself. */
	if (w && w->target == value)
		value = moved_word(m, w);
	if (value != old)
		MPK_TRY(mpk_thin_patch_add(m->out, off, value, WORD_BYTES, m->err));
	return from == to ? MPK_OK : move_relocations(m, from, to);
}

static enum mpk_code move_images(const struct moving *m, const struct mpk_thin_sycl_table *t,
				 const size_t *order)
{
	for (size_t i = 0; i < t->count; i++)
		for (uint64_t at = 0; at < t->stride; at += WORD_BYTES)
			MPK_TRY(move_word(m, t->array + order[i] * t->stride + at,
					  t->array + i * t->stride + at));
	return MPK_OK;
}

static enum mpk_code patch_sycl_table(const struct moving *m, const struct mpk_thin_sycl_table *t)
{
	size_t kept, *order = order_of(m->sycl, t, &kept);
	enum mpk_code code = order ? move_images(m, t, order) : mpk_fail_nomem(m->err);
	struct mpk_span head;
	uint64_t off;

	free(order);
	MPK_TRY(code);
	if (!mpk_elf_at_address(m->elf, t->descriptor, &head, &off))
		return mpk_fail(m->err, MPK_E_CORRUPT, "SYCL's descriptor is not loaded");
	return mpk_thin_patch_add(m->out, off + COUNT_AT, kept, COUNT_BYTES, m->err);
}

static const struct mpk_thin_sycl_range *dropped_at(const struct mpk_thin_sycl *s, uint64_t begin)
{
	size_t i = mpk_first_from(s->ranges, s->range_count, sizeof *s->ranges,
				  offsetof(struct mpk_thin_sycl_range, begin), begin);

	return i < s->range_count && s->ranges[i].begin == begin && !s->ranges[i].kept
		       ? &s->ranges[i]
		       : NULL;
}

static enum mpk_code patch_all_sizes(const struct moving *m)
{
	uint64_t left = m->elf->bytes.len;

	for (size_t i = 1; i < m->elf->section_count; i++) {
		const char *name = mpk_elf_section_name(m->elf, i);
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(m->elf, i, &h, m->err));
		if (!name || strcmp(name, IMAGE_SIZES) != 0 || !(h.sh_flags & SHF_ALLOC) ||
		    h.sh_type == SHT_NOBITS || h.sh_size > left)
			continue;
		left -= h.sh_size; /* Overlapping sections would be read again and again. */
		/* Compilers leave a list for tools: address and size of each image. */
		for (uint64_t at = 0; at + 2 * WORD_BYTES <= h.sh_size; at += 2 * WORD_BYTES) {
			const struct mpk_thin_word *w = mpk_thin_sycl_word(m->sycl, h.sh_addr + at);
			const struct mpk_thin_sycl_range *r =
				w ? dropped_at(m->sycl, w->target) : NULL;
			uint64_t size, off;

			if (r &&
			    mpk_thin_read_word(m->elf, h.sh_addr + at + WORD_BYTES, &size, &off) &&
			    size == r->end - r->begin)
				MPK_TRY(mpk_thin_patch_add(m->out, off, 0, WORD_BYTES, m->err));
		}
	}
	return MPK_OK;
}

/* --- the whole ---------------------------------------------------------------------------------- */

static enum mpk_code patch_file(const struct moving *m)
{
	for (size_t i = 0; i < m->found.count; i++)
		MPK_TRY(patch_reference(m, &m->found.items[i]));
	MPK_TRY(mpk_thin_move_symbols(m->elf, m->c, m->count, m->out, m->err));
	/* Pointers to structs in the array are refused, because they would then point to other structs. A
	 * pointer to the first struct is accepted: it may also mean the end of the preceding bytes. */
	for (size_t i = 0; i < m->sycl->word_count; i++) {
		const struct mpk_thin_word *w = &m->sycl->words[i];
		const struct mpk_thin_sycl_table *t = sycl_table_of(m->sycl, w->target);

		if (t && w->target != t->array)
			return mpk_fail_offset(m->err, MPK_E_UNSUPPORTED, "file", w->off,
					       "something points into SYCL's table of images");
	}
	for (size_t i = 0; i < m->sycl->table_count; i++)
		if (m->sycl->tables[i].loses)
			MPK_TRY(patch_sycl_table(m, &m->sycl->tables[i]));
	return patch_all_sizes(m);
}

enum mpk_code mpk_thin_move(const struct mpk_elf *elf, struct mpk_thin_section *sections,
			    size_t section_count, struct mpk_thin_container *c, size_t count,
			    const struct mpk_thin_sycl *sycl, struct mpk_thin_report *report,
			    struct mpk_thin_patches *patches, struct mpk_error *err)
{
	struct moving m = {
		.elf = elf, .c = c, .count = count, .sycl = sycl, .out = patches, .err = err
	};
	enum mpk_code code = mpk_thin_references(elf, c, count, &m.found, err);

	if (code == MPK_OK) {
		for (size_t i = 0; i < section_count; i++)
			place_containers(&sections[i], report);
		code = patch_file(&m);
	}
	free(m.found.items);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sycl_table.c - SYCL's tables without the images that are dropped
 *
 * The runtime looks at as many structs of the array as the descriptor says. So those of images that are kept change
 * places with those that are dropped, which end up last, and the number becomes that of the former. A struct moves as
 * a whole: its numbers with its bytes, its pointers with their relocations, which get the address of the word that
 * holds the pointer now. No relocation is added or taken out, so it does not matter which pointers of an image are
 * null; only where one entry relocates many words (DT_RELR) structs that change places must have the same ones.
 * An image that is dropped begins and ends where the one after it does, and nobody asks.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "thin/internal/sycl.h"

#define IMAGE_SIZES ".tgtimg"

enum { WORD_BYTES = 8, COUNT_AT = 2, COUNT_BYTES = 2 };

struct patching {
	const struct mpk_thin_sycl *s;
	const struct mpk_elf *elf;
	uint64_t (*moved)(void *data, const struct mpk_thin_word *word);
	void *data;
	struct mpk_thin_patches *out;
	struct mpk_error *err;
};

/* Images that are kept, then those that are dropped; malloc'ed. */
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

/* What is stored in a word is stored in another one. */
static enum mpk_code move_relocations(const struct patching *p, uint64_t from, uint64_t to)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(p->s, from);
	const struct mpk_thin_word *end = p->s->words + p->s->word_count;

	if (is_shared(w) != is_shared(mpk_thin_sycl_word(p->s, to)))
		return mpk_fail(p->err, MPK_E_UNSUPPORTED,
				"SYCL's images that would change places have pointers in different "
				"fields, and their relocations are packed (DT_RELR)");
	for (; w && w < end && w->address == from; w++)
		if (w->has_own)
			MPK_TRY(mpk_thin_patch_add(p->out, w->off, to, WORD_BYTES, p->err));
	return MPK_OK;
}

static enum mpk_code move_word(const struct patching *p, uint64_t from, uint64_t to)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(p->s, from);
	uint64_t value, old, off;

	if (!mpk_thin_read_word(p->elf, from, &value, &off) ||
	    !mpk_thin_read_word(p->elf, to, &old, &off))
		return mpk_fail(p->err, MPK_E_CORRUPT, "SYCL's table of images is not loaded");
	/* Some linkers store the value in the word, too. */
	if (w && w->target == value)
		value = p->moved(p->data, w);
	if (value != old)
		MPK_TRY(mpk_thin_patch_add(p->out, off, value, WORD_BYTES, p->err));
	return from == to ? MPK_OK : move_relocations(p, from, to);
}

static enum mpk_code move_images(const struct patching *p, const struct mpk_thin_sycl_table *t,
				 const size_t *order)
{
	for (size_t i = 0; i < t->count; i++)
		for (uint64_t at = 0; at < t->stride; at += WORD_BYTES)
			MPK_TRY(move_word(p, t->array + order[i] * t->stride + at,
					  t->array + i * t->stride + at));
	return MPK_OK;
}

static enum mpk_code patch_sycl_table(const struct patching *p, const struct mpk_thin_sycl_table *t)
{
	size_t kept, *order = order_of(p->s, t, &kept);
	enum mpk_code code = order ? move_images(p, t, order) : mpk_fail_nomem(p->err);
	struct mpk_span head;
	uint64_t off;

	free(order);
	MPK_TRY(code);
	if (!mpk_elf_at_address(p->elf, t->descriptor, &head, &off))
		return mpk_fail(p->err, MPK_E_CORRUPT, "SYCL's descriptor is not loaded");
	return mpk_thin_patch_add(p->out, off + COUNT_AT, kept, COUNT_BYTES, p->err);
}

/* A pointer to a struct would point to another one; one to the first may also be the end of what is in front. */
static enum mpk_code check_array_pointers(const struct patching *p)
{
	for (size_t i = 0; i < p->s->word_count; i++) {
		const struct mpk_thin_word *w = &p->s->words[i];
		const struct mpk_thin_sycl_table *t = mpk_thin_sycl_table_of(p->s, w->target);

		if (t && w->target != t->array)
			return mpk_fail_offset(p->err, MPK_E_UNSUPPORTED, "file", w->off,
					       "something points into SYCL's table of images");
	}
	return MPK_OK;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static const struct mpk_thin_sycl_range *dropped_at(const struct mpk_thin_sycl *s, uint64_t begin)
{
	size_t i = mpk_first_from(s->ranges, s->range_count, sizeof *s->ranges,
				  offsetof(struct mpk_thin_sycl_range, begin), begin);

	return i < s->range_count && s->ranges[i].begin == begin && !s->ranges[i].kept
		       ? &s->ranges[i]
		       : NULL;
}

/* Compilers leave a list for tools: the address and the size of each image. */
static enum mpk_code patch_sizes(const struct patching *p, const GElf_Shdr *h)
{
	for (uint64_t at = 0; at + 2 * WORD_BYTES <= h->sh_size; at += 2 * WORD_BYTES) {
		const struct mpk_thin_word *w = mpk_thin_sycl_word(p->s, h->sh_addr + at);
		const struct mpk_thin_sycl_range *r = w ? dropped_at(p->s, w->target) : NULL;
		uint64_t size, off;

		if (r && mpk_thin_read_word(p->elf, h->sh_addr + at + WORD_BYTES, &size, &off) &&
		    size == r->end - r->begin)
			MPK_TRY(mpk_thin_patch_add(p->out, off, 0, WORD_BYTES, p->err));
	}
	return MPK_OK;
}

static enum mpk_code patch_all_sizes(const struct patching *p)
{
	uint64_t left = p->elf->bytes.len;

	for (size_t i = 1; i < p->elf->section_count; i++) {
		const char *name = mpk_elf_section_name(p->elf, i);
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(p->elf, i, &h, p->err));
		if (!name || strcmp(name, IMAGE_SIZES) != 0 || !(h.sh_flags & SHF_ALLOC) ||
		    h.sh_type == SHT_NOBITS || h.sh_size > left)
			continue;
		left -= h.sh_size; /* sections that overlap would be read again and again */
		MPK_TRY(patch_sizes(p, &h));
	}
	return MPK_OK;
}

/* --- the whole ---------------------------------------------------------------------------------- */

enum mpk_code mpk_thin_sycl_patch(const struct mpk_thin_sycl *s, const struct mpk_elf *elf,
				  uint64_t (*moved)(void *data, const struct mpk_thin_word *word),
				  void *data, struct mpk_thin_patches *out, struct mpk_error *err)
{
	const struct patching p = { s, elf, moved, data, out, err };

	MPK_TRY(check_array_pointers(&p));
	for (size_t i = 0; i < s->table_count; i++)
		if (s->tables[i].loses)
			MPK_TRY(patch_sycl_table(&p, &s->tables[i]));
	return patch_all_sizes(&p);
}

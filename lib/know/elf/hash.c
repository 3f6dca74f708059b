/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of glibc's do_lookup_x (elf/dl-lookup.c) and of what sets them up, with each address compared with what
 * is loaded. */
#include "elf/linking.h"

#include <string.h>

#include "elf/symbols.h"

static bool read_u32(const struct mpk_elf *e, uint64_t address, uint32_t *out)
{
	struct mpk_span ignored;
	uint64_t off;

	return mpk_elf_at_address(e, address, &ignored, &off) && mpk_elf_u32(e, off, out);
}

static bool read_word(const struct mpk_elf *e, uint64_t address, uint64_t *out)
{
	struct mpk_span ignored;
	uint64_t off;

	return mpk_elf_at_address(e, address, &ignored, &off) && mpk_elf_word(e, off, out);
}

void mpk_hash_open(const struct mpk_linking *l, const struct mpk_symtab *symbols,
		   struct mpk_hash *out)
{
	struct mpk_hash h = { .elf = l->elf, .symbols = symbols, .left = UINT64_C(1) << 24 };
	uint64_t at;

	h.exists = mpk_dynamic_find(l->dynamic, l->count, DT_GNU_HASH, &at) &&
		   read_u32(l->elf, at, &h.bucket_count) && read_u32(l->elf, at + 4, &h.first) &&
		   read_u32(l->elf, at + 8, &h.bloom_count) && read_u32(l->elf, at + 12, &h.shift);
	h.bloom = h.exists ? at + 16 : 0;
	h.buckets = h.bloom + mpk_elf_word_bytes(l->elf) * (uint64_t)h.bloom_count;
	h.chains = h.buckets + 4 * (uint64_t)h.bucket_count;
	h.stops_loading = h.exists && (h.bloom_count & (h.bloom_count - 1));
	*out = h;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool hash_is_named(const struct mpk_hash *h, uint32_t index, const char *name)
{
	struct mpk_symbol s;

	return index < h->symbols->count && mpk_symtab_get(h->symbols, index, &s, NULL) == MPK_OK &&
	       s.defined && strcmp(s.name, name) == 0;
}

static enum mpk_hash_found hash_follow(struct mpk_hash *h, uint32_t index, uint32_t hash,
				       const char *name)
{
	uint32_t link;

	do {
		if (!h->left)
			return MPK_HASH_FOUND;
		h->left--;
		if (!read_u32(h->elf, h->chains + 4 * ((uint64_t)index - h->first), &link))
			return MPK_HASH_STRAYS;
		if ((link | 1) == (hash | 1) && hash_is_named(h, index, name))
			return MPK_HASH_FOUND;
		index++;
	} while (!(link & 1));
	return MPK_HASH_LOST;
}

enum mpk_hash_found mpk_hash_find(struct mpk_hash *h, const char *name)
{
	uint32_t hash = hash_of(name), bits = 8 * (uint32_t)mpk_elf_word_bytes(h->elf), index;
	uint64_t word;

	if (!h->exists)
		return MPK_HASH_FOUND;
	if (!h->bucket_count)
		return MPK_HASH_LOST;
	if (!read_word(h->elf, h->bloom + bits / 8 * (uint64_t)(hash / bits & (h->bloom_count - 1)),
		       &word))
		return MPK_HASH_STRAYS;
	if (!(word >> hash % bits & 1) || !(word >> (hash >> (h->shift & 31)) % bits & 1))
		return MPK_HASH_LOST;
	if (!read_u32(h->elf, h->buckets + 4 * (uint64_t)(hash % h->bucket_count), &index))
		return MPK_HASH_STRAYS;
	return index ? hash_follow(h, index, hash, name) : MPK_HASH_LOST;
}

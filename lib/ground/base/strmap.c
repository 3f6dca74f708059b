/* SPDX-License-Identifier: Apache-2.0 */
/* strmap.c - a hash table with open addressing, at most half full; and the nearest of a list of
 * words */
#include "base/strmap.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/vec.h"

struct mpk_strmap_slot {
	struct mpk_span key; /* data NULL: free */
	size_t value;
};

/* Names come from files, and an attacker who knew the hash could make all of them collide. So the
 * hash is seeded with 16 random bytes from the kernel (AT_RANDOM). Output does not depend on the
 * seed, because slots are never listed in order. */
uint64_t mpk_strmap_hash(struct mpk_span key)
{
	static _Atomic uint64_t seed;
	uint64_t s = atomic_load_explicit(&seed, memory_order_relaxed);
	const void *random;

	if (!s) {
		random = (const void *)getauxval(AT_RANDOM);
		s = random ? XXH3_64bits(random, 16) | 1 : 1;
		atomic_store_explicit(&seed, s, memory_order_relaxed);
	}
	return XXH3_64bits_withSeed(key.data, key.len, s);
}

/* Returns  the slot of the key, or the free slot for it. There is always a free slot,
 *          since a map is at most half full. */
static struct mpk_strmap_slot *probe(struct mpk_strmap_slot *slots, size_t cap, struct mpk_span key)
{
	size_t i = (size_t)mpk_strmap_hash(key) & (cap - 1);

	while (slots[i].key.data && !mpk_span_equal(slots[i].key, key))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

/* Moves all values to a table of twice the size. On failure the old table stays. */
static bool grow(struct mpk_strmap *map)
{
	size_t cap = map->cap ? map->cap * 2 : 16;
	struct mpk_strmap_slot *slots = calloc(cap, sizeof *slots);

	if (!slots) {
		mpk_memory_failed();
		return false;
	}
	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].key.data)
			*probe(slots, cap, map->slots[i].key) = map->slots[i];
	free(map->slots);
	map->slots = slots;
	map->cap = cap;
	return true;
}

static struct mpk_span keyed(struct mpk_span key)
{
	/* An empty span may have no address, but a slot needs one. */
	return key.data ? key : mpk_span_str("");
}

int mpk_strmap_put(struct mpk_strmap *map, struct mpk_span key, size_t value, size_t *found)
{
	if (map->count * 2 >= map->cap && !grow(map))
		return -1;

	struct mpk_strmap_slot *slot = probe(map->slots, map->cap, keyed(key));
	bool fresh = !slot->key.data;
	if (fresh) {
		slot->key = keyed(key);
		slot->value = value;
		map->count++;
	}
	if (found)
		*found = slot->value;
	return fresh;
}

bool mpk_strmap_find(const struct mpk_strmap *map, struct mpk_span key, size_t *value)
{
	if (!map->cap)
		return false;

	const struct mpk_strmap_slot *slot = probe(map->slots, map->cap, keyed(key));
	if (!slot->key.data)
		return false;
	if (value)
		*value = slot->value;
	return true;
}

void mpk_strmap_fini(struct mpk_strmap *map)
{
	free(map->slots);
	memset(map, 0, sizeof *map);
}

/* A letter in the wrong case is a small mistake: for "OpenCL", "opencl" is nearer than any other
 * word. */
enum { WORD_MAX = 64, CASE = 1, EDIT = 8 };

static size_t letter_cost(uint8_t a, uint8_t b)
{
	if (a == b)
		return 0;
	return tolower(a) == tolower(b) ? CASE : EDIT;
}

/* Optimal string alignment distance; words longer than WORD_MAX are never close. */
static size_t distance(struct mpk_span a, struct mpk_span b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	if (a.len > WORD_MAX || b.len > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++) {
		before[j] = 0;
		last[j] = j * EDIT;
	}
	for (size_t i = 1; i <= a.len; i++) {
		row[0] = i * EDIT;
		for (size_t j = 1; j <= b.len; j++) {
			size_t best = last[j - 1] + letter_cost(a.data[i - 1], b.data[j - 1]);

			if (last[j] + EDIT < best)
				best = last[j] + EDIT;
			if (row[j - 1] + EDIT < best)
				best = row[j - 1] + EDIT;
			if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
			    a.data[i - 2] == b.data[j - 1] && before[j - 2] + EDIT < best)
				best = before[j - 2] + EDIT;
			row[j] = best;
		}
		size_t *spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[b.len];
}

/* A third of the letters may be wrong, at least one. A difference in case costs less than a
 * letter, so that it decides between two equally near words. */
size_t mpk_closest(struct mpk_span word, const struct mpk_span *names, size_t count)
{
	size_t limit = (word.len / 3 ? word.len / 3 : 1) * EDIT + EDIT - 1;
	size_t best = count, best_distance = limit + 1;

	for (size_t i = 0; i < count; i++) {
		size_t d = distance(word, names[i]);

		if (d < best_distance) {
			best = i;
			best_distance = d;
		}
	}
	return best;
}

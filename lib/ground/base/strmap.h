/* SPDX-License-Identifier: Apache-2.0 */
/* strmap.h - names to numbers: duplicate checks, look-ups, "did you mean" */
#ifndef MPK_BASE_STRMAP_H
#define MPK_BASE_STRMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/span.h"

struct mpk_strmap_slot;

/* Zero-initialise, use, mpk_strmap_fini. Keys are borrowed. */
struct mpk_strmap {
	struct mpk_strmap_slot *slots;
	size_t count, cap;
};

/* mpk_strmap_put - insert key -> value unless the key exists
 * @found   receives the value of the key afterwards, which is the old one if the key
 *          existed; may be NULL
 * Returns  1: inserted; 0: the key existed; -1: out of memory (*found untouched) */
int mpk_strmap_put(struct mpk_strmap *map, struct mpk_span key, size_t value,
		   size_t *found) MPK_MUST_CHECK;

/* mpk_strmap_find - true and the value, or false
 * @value   or NULL */
bool mpk_strmap_find(const struct mpk_strmap *map, struct mpk_span key, size_t *value);

void mpk_strmap_fini(struct mpk_strmap *map);

/* mpk_strmap_hash - the hash of this map, for other tables. It is seeded for each process, so that
 * no file can make its names collide
 * @key     its data is not NULL, even if it is empty */
uint64_t mpk_strmap_hash(struct mpk_span key);

/* mpk_closest - find the name that the user probably meant
 * Returns  an index into names, or count when none is near. Near means: the edit
 *          distance with transpositions is at most a third of the length, at least 1; a
 *          letter in the wrong case counts an eighth */
size_t mpk_closest(struct mpk_span word, const struct mpk_span *names, size_t count);

#endif

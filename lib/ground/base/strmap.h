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

/* mpk_strmap_put - key -> value unless key is there already
 * @found   receives the value that key has afterwards: the old one if there was one; or NULL
 * Returns  1 inserted, 0 was there already, -1 out of memory (*found untouched) */
int mpk_strmap_put(struct mpk_strmap *map, struct mpk_span key, size_t value,
		   size_t *found) MPK_MUST_CHECK;

/* mpk_strmap_find - true and the value, or false
 * @value   or NULL */
bool mpk_strmap_find(const struct mpk_strmap *map, struct mpk_span key, size_t *value);

void mpk_strmap_fini(struct mpk_strmap *map);

/* mpk_strmap_hash - what slots are found by, for tables of another form; another in each process, so that
 * no file can make its names collide
 * @key     has an address, also when it is empty */
uint64_t mpk_strmap_hash(struct mpk_span key);

/* mpk_closest - which of the names the user probably meant
 * Returns  an index into names, or count when none is near (edit distance with
 *          transpositions at most a third of the length, at least 1; letters in the other
 *          case count an eighth) */
size_t mpk_closest(struct mpk_span word, const struct mpk_span *names, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - grows plain arrays (pointer, count, capacity); sorting and searching them; and whether
 * memory was ever out */
#ifndef MPK_BASE_VEC_H
#define MPK_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"

/* mpk_vec_reserve - make room for need elements of size bytes in a malloc'ed array
 * @data    address of the array pointer (any object pointer type); NULL when empty
 * @cap     its capacity in elements; updated, as is *data
 * Returns  false when memory is out or the size overflows; the array is then unchanged */
bool mpk_vec_reserve(void *data, size_t *cap, size_t need, size_t size) MPK_MUST_CHECK;

/* MPK_VEC_ROOM - make room for one more element of a malloc'ed array of count elements
 * The arguments are evaluated several times.
 * Returns  false when memory is out */
#define MPK_VEC_ROOM(items, count, cap)                                                            \
	mpk_vec_reserve(&(items), &(cap), (count) + 1, sizeof *(items))

/* Readers try formats in turn, and a missing signature is no error, so a failed allocation could
 * look like a valid answer. Therefore the failure is noted here, and each piece of work checks the
 * note at its end, as it does for changed files (mpk_mappings_check, io/mapping.h). */

/* mpk_memory_failed - note that an allocation failed; callable from any thread */
void mpk_memory_failed(void);

/* mpk_memory_check - whether every allocation of this process succeeded so far
 * Returns  MPK_OK; MPK_E_NOMEM, from the first failure on */
enum mpk_code mpk_memory_check(struct mpk_error *err) MPK_MUST_CHECK;

/* --- sorting --- */

/* MPK_ORDER_BY - define a comparison function `name` for qsort and bsearch: ascending by a numeric
 * member. MPK_ORDER_BY2, MPK_ORDER_BY3: equal numbers are ordered by the next member */
#define MPK_ORDER_BY(name, type, member)                                                           \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
                                                                                                   \
		return (x->member > y->member) - (x->member < y->member);                          \
	}
#define MPK_ORDER_BY2(name, type, first, second)                                                   \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
                                                                                                   \
		if (x->first != y->first)                                                          \
			return x->first < y->first ? -1 : 1;                                       \
		return (x->second > y->second) - (x->second < y->second);                          \
	}
#define MPK_ORDER_BY3(name, type, first, second, third)                                            \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
                                                                                                   \
		if (x->first != y->first)                                                          \
			return x->first < y->first ? -1 : 1;                                       \
		if (x->second != y->second)                                                        \
			return x->second < y->second ? -1 : 1;                                     \
		return (x->third > y->third) - (x->third < y->third);                              \
	}

/* --- looking up in a sorted array ---
 *
 * A key may be there several times, or not at all. */

/* MPK_FIND_FIRST - set `at` to the first of count elements that does not come before what is looked for; to count if
 * all come before. By halving: `comes_before`, an expression of the index i, is true for elements up to one, and
 * false from there on. */
#define MPK_FIND_FIRST(at, count, i, comes_before)                                                 \
	do {                                                                                       \
		size_t low_ = 0, high_ = (count);                                                  \
                                                                                                   \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
                                                                                                   \
			if (comes_before)                                                          \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		(at) = low_;                                                                       \
	} while (0)

/* mpk_lower_bound - the index of the first item that is not below key
 * @items   count items of size bytes, sorted by compare
 * Returns  count when all are below key */
static inline size_t mpk_lower_bound(const void *items, size_t count, size_t size, const void *key,
				     int (*compare)(const void *a, const void *b))
{
	size_t at;

	MPK_FIND_FIRST(at, count, i, compare((const uint8_t *)items + i * size, key) < 0);
	return at;
}

/* mpk_first_from - the index of the first item whose uint64_t at byte off is not below key; items
 * are sorted by that number */
static inline size_t mpk_first_from(const void *items, size_t count, size_t size, size_t off,
				    uint64_t key)
{
	const uint8_t *bytes = items;
	uint64_t number;
	size_t at;

	MPK_FIND_FIRST(at, count, i,
		       (memcpy(&number, bytes + i * size + off, sizeof number), number < key));
	return at;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - looking up in a sorted array what may stand there several times, or not itself */
#ifndef MPK_BASE_SEARCH_H
#define MPK_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* mpk_lower_bound - the first of count items of size bytes that does not come before key
 * @items   sorted by compare, the function that qsort() had
 * Returns  its index; count when all come before key */
static inline size_t mpk_lower_bound(const void *items, size_t count, size_t size, const void *key,
				     int (*compare)(const void *a, const void *b))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare((const uint8_t *)items + middle * size, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif

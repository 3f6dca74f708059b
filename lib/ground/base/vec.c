/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of arrays by doubling. Pointers of any type are moved by memcpy, as a void ** to
 * them would break the aliasing rules of C. */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

bool mpk_vec_reserve(void *data, size_t *cap, size_t need, size_t size)
{
	size_t grown = *cap ? *cap : 8, bytes;
	void *old, *fresh;

	/* the usual case: nothing is to be done */
	if (need <= *cap)
		return true;
	while (grown < need)
		if (__builtin_mul_overflow(grown, (size_t)2, &grown))
			return false;
	/* a count from a file may ask for more than there are addresses */
	if (__builtin_mul_overflow(grown, size, &bytes))
		return false;
	memcpy(&old, data, sizeof old);
	fresh = realloc(old, bytes);
	if (!fresh) {
		mpk_memory_failed();
		return false;
	}
	memcpy(data, &fresh, sizeof fresh);
	*cap = grown;
	return true;
}

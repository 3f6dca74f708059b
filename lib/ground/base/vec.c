/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

bool mpk_vec_reserve(void *data, size_t *cap, size_t need, size_t size)
{
	size_t grown = *cap ? *cap : 8, bytes;
	void *old, *fresh;

	if (need <= *cap)
		return true;
	while (grown < need)
		if (__builtin_mul_overflow(grown, (size_t)2, &grown))
			return false;
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

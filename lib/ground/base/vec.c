/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of arrays by doubling, and whether memory was out at any time. Readers try one format after the other, and an
 * allocation that fails in one of them would look like the answer that it does not fit. So the failure is noted here,
 * and whoever gives an output its name asks first. */
#include "base/vec.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Relaxed, as it is a flag that only ever becomes true. */
static atomic_bool failed;

void mpk_memory_failed(void)
{
	atomic_store_explicit(&failed, true, memory_order_relaxed);
}

enum mpk_code mpk_memory_check(struct mpk_error *err)
{
	return atomic_load_explicit(&failed, memory_order_relaxed) ? mpk_fail_nomem(err) : MPK_OK;
}

/* Pointers of any type are moved by memcpy, as a void ** to them would break the aliasing rules of C. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - integers of 1 to 8 bytes in this machine's byte order
 *
 * For data shared with kernels and callers: tensors, arguments. The lowest byte comes first on a
 * little-endian machine and last on a big-endian one, so copying the first bytes of a wider
 * integer is right on little-endian machines only. For bytes of files use base/cursor.h. */
#ifndef MPK_BASE_NATIVE_H
#define MPK_BASE_NATIVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MPK_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Returns  the offset in a 64-bit integer of its low bytes. */
static inline size_t mpk_native_low(size_t bytes)
{
	return MPK_BIG_ENDIAN ? sizeof(uint64_t) - bytes : 0;
}

/* mpk_native_load - load an unsigned integer of 1 to 8 bytes; any alignment */
static inline uint64_t mpk_native_load(const void *at, size_t bytes)
{
	uint64_t value = 0;

	memcpy((uint8_t *)&value + mpk_native_low(bytes), at, bytes);
	return value;
}

/* mpk_native_store - store the lowest 1 to 8 bytes of an integer; any alignment */
static inline void mpk_native_store(void *at, uint64_t value, size_t bytes)
{
	memcpy(at, (const uint8_t *)&value + mpk_native_low(bytes), bytes);
}

/* mpk_native_swap - reverse the bytes of each number, in place
 * @unit    bytes in a number; len is a multiple of it */
static inline void mpk_native_swap(uint8_t *data, size_t len, size_t unit)
{
	for (size_t at = 0; unit > 1 && at + unit <= len; at += unit) {
		for (size_t i = 0; i < unit / 2; i++) {
			uint8_t byte = data[at + i];

			data[at + i] = data[at + unit - 1 - i];
			data[at + unit - 1 - i] = byte;
		}
	}
}

/* mpk_native_from_little - convert numbers between little-endian (files) and this machine's byte
 * order, in place; works both ways */
static inline void mpk_native_from_little(uint8_t *data, size_t len, size_t unit)
{
	if (MPK_BIG_ENDIAN)
		mpk_native_swap(data, len, unit);
}

#endif

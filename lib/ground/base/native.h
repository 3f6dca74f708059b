/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - integers of 1 to 8 bytes as this machine keeps them in memory
 *
 * For what kernels and callers share with us: tensors, arguments. Their lowest byte comes first
 * on a little-endian machine and last on a big-endian one, so that copying the first bytes of a
 * wider integer is right on one of them only. Bytes of files are read by base/cursor.h.
 */
#ifndef MPK_BASE_NATIVE_H
#define MPK_BASE_NATIVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MPK_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Where the low bytes of a 64-bit integer begin in it. */
static inline size_t mpk_native_low(size_t bytes)
{
	return MPK_BIG_ENDIAN ? sizeof(uint64_t) - bytes : 0;
}

/* mpk_native_load - the unsigned integer of so many bytes, 1 to 8, at any address */
static inline uint64_t mpk_native_load(const void *at, size_t bytes)
{
	uint64_t value = 0;

	memcpy((uint8_t *)&value + mpk_native_low(bytes), at, bytes);
	return value;
}

/* mpk_native_store - the lowest bytes of an integer, 1 to 8 of them, to any address */
static inline void mpk_native_store(void *at, uint64_t value, size_t bytes)
{
	memcpy(at, (const uint8_t *)&value + mpk_native_low(bytes), bytes);
}

/* mpk_native_swap - turn the bytes of each number around, in place
 * @unit    bytes of a number; len is a multiple of it */
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

/* mpk_native_from_little - numbers of a file, which are little-endian, as this machine has them, or
 * the other way round */
static inline void mpk_native_from_little(uint8_t *data, size_t len, size_t unit)
{
	if (MPK_BIG_ENDIAN)
		mpk_native_swap(data, len, unit);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.h - the one way untrusted bytes are read
 *
 * Every read is checked against the end; every count against the bytes that are left,
 * before anything is allocated for it. All integers are little-endian and unaligned
 * (formats of the module blob never pad). A failed read leaves position and
 * out-parameter untouched and reports MPK_E_CORRUPT with the offset and the name of
 * the field that was being read.
 */
#ifndef MPK_BASE_CURSOR_H
#define MPK_BASE_CURSOR_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct mpk_cursor {
	struct mpk_span bytes;
	size_t pos;        /* bytes consumed; never beyond bytes.len */
	uint64_t base;     /* offset of bytes.data[0] in the space that errors count in */
	const char *space; /* the name of that space: "blob", "file", "payload" */
};

static inline struct mpk_cursor mpk_cursor_of(struct mpk_span bytes, uint64_t base,
					      const char *space)
{
	return (struct mpk_cursor){ .bytes = bytes, .base = base, .space = space };
}

static inline size_t mpk_cursor_left(const struct mpk_cursor *c)
{
	return c->bytes.len - c->pos;
}

/* The offset of the next byte in the space that errors count in. */
static inline uint64_t mpk_cursor_offset(const struct mpk_cursor *c)
{
	return c->base + c->pos;
}

/* mpk_read_* - read the next little-endian integer; @what names the field in the error message
 * Returns  MPK_OK; MPK_E_CORRUPT, the only error of all reads below */
enum mpk_code mpk_read_u8(struct mpk_cursor *c, const char *what, uint8_t *out,
			  struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_read_u16(struct mpk_cursor *c, const char *what, uint16_t *out,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_read_u32(struct mpk_cursor *c, const char *what, uint32_t *out,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_read_u64(struct mpk_cursor *c, const char *what, uint64_t *out,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_read_i32(struct mpk_cursor *c, const char *what, int32_t *out,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_read_i64(struct mpk_cursor *c, const char *what, int64_t *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_read_bytes - the next n bytes as a view */
enum mpk_code mpk_read_bytes(struct mpk_cursor *c, const char *what, uint64_t n,
			     struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_read_str - u64 length and that many bytes, as a view of the bytes */
enum mpk_code mpk_read_str(struct mpk_cursor *c, const char *what, struct mpk_span *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_read_count - a u64 element count that the bytes left can hold
 * @each    the least number of bytes one element takes, > 0 */
enum mpk_code mpk_read_count(struct mpk_cursor *c, const char *what, uint64_t each, size_t *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_read_uleb, mpk_read_sleb - an unsigned or a signed number in LEB128, as DWARF and WebAssembly define it
 * (DWARF 5, 7.6), of at most ten bytes; a signed number is returned as its two's complement in 64 bits
 * mpk_read_uleb_count - an unsigned LEB128 count of elements that take at least one byte each and fit in the bytes left */
enum mpk_code mpk_read_uleb(struct mpk_cursor *c, const char *what, uint64_t *out,
			    struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_read_sleb(struct mpk_cursor *c, const char *what, uint64_t *out,
			    struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_read_uleb_count(struct mpk_cursor *c, const char *what, size_t *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_load_* - unaligned little-endian loads; the caller has checked the bounds */
static inline uint16_t mpk_load_u16(const uint8_t *p)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): n > 0 entries have bytes: a product tells */
	return (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

static inline uint32_t mpk_load_u32(const uint8_t *p)
{
	return (uint32_t)mpk_load_u16(p) | (uint32_t)mpk_load_u16(p + 2) << 16;
}

static inline uint64_t mpk_load_u64(const uint8_t *p)
{
	return (uint64_t)mpk_load_u32(p) | (uint64_t)mpk_load_u32(p + 4) << 32;
}

#endif

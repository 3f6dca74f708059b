/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.c - bounded reads; every read goes through take() */
#include "base/cursor.h"

#include <inttypes.h>

static enum mpk_code cursor_take(struct mpk_cursor *c, const char *what, uint64_t n,
				 const uint8_t **out, struct mpk_error *err)
{
	if (n > mpk_cursor_left(c))
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "%s: %" PRIu64 " bytes wanted, %zu left", what, n,
				       mpk_cursor_left(c));
	*out = c->bytes.data + c->pos;
	c->pos += (size_t)n;
	return MPK_OK;
}

enum mpk_code mpk_read_u8(struct mpk_cursor *c, const char *what, uint8_t *out,
			  struct mpk_error *err)
{
	const uint8_t *p;

	MPK_TRY(cursor_take(c, what, 1, &p, err));
	*out = *p;
	return MPK_OK;
}

enum mpk_code mpk_read_u16(struct mpk_cursor *c, const char *what, uint16_t *out,
			   struct mpk_error *err)
{
	const uint8_t *p;

	MPK_TRY(cursor_take(c, what, 2, &p, err));
	*out = mpk_load_u16(p);
	return MPK_OK;
}

enum mpk_code mpk_read_u32(struct mpk_cursor *c, const char *what, uint32_t *out,
			   struct mpk_error *err)
{
	const uint8_t *p;

	MPK_TRY(cursor_take(c, what, 4, &p, err));
	*out = mpk_load_u32(p);
	return MPK_OK;
}

enum mpk_code mpk_read_u64(struct mpk_cursor *c, const char *what, uint64_t *out,
			   struct mpk_error *err)
{
	const uint8_t *p;

	MPK_TRY(cursor_take(c, what, 8, &p, err));
	*out = mpk_load_u64(p);
	return MPK_OK;
}

enum mpk_code mpk_read_i32(struct mpk_cursor *c, const char *what, int32_t *out,
			   struct mpk_error *err)
{
	uint32_t bits;

	MPK_TRY(mpk_read_u32(c, what, &bits, err));
	memcpy(out, &bits, sizeof bits);
	return MPK_OK;
}

enum mpk_code mpk_read_i64(struct mpk_cursor *c, const char *what, int64_t *out,
			   struct mpk_error *err)
{
	uint64_t bits;

	MPK_TRY(mpk_read_u64(c, what, &bits, err));
	memcpy(out, &bits, sizeof bits);
	return MPK_OK;
}

enum mpk_code mpk_read_bytes(struct mpk_cursor *c, const char *what, uint64_t n,
			     struct mpk_span *out, struct mpk_error *err)
{
	const uint8_t *p;

	MPK_TRY(cursor_take(c, what, n, &p, err));
	*out = mpk_span_of(p, (size_t)n);
	return MPK_OK;
}

enum mpk_code mpk_read_str(struct mpk_cursor *c, const char *what, struct mpk_span *out,
			   struct mpk_error *err)
{
	struct mpk_cursor at = *c;
	uint64_t n;

	MPK_TRY(mpk_read_u64(&at, what, &n, err));
	MPK_TRY(mpk_read_bytes(&at, what, n, out, err));
	*c = at;
	return MPK_OK;
}

enum mpk_code mpk_read_count(struct mpk_cursor *c, const char *what, uint64_t each, size_t *out,
			     struct mpk_error *err)
{
	struct mpk_cursor at = *c;
	uint64_t n;

	MPK_TRY(mpk_read_u64(&at, what, &n, err));
	if (n > mpk_cursor_left(&at) / each)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "%s: count %" PRIu64 " does not fit in the %zu bytes left",
				       what, n, mpk_cursor_left(&at));
	*out = (size_t)n;
	*c = at;
	return MPK_OK;
}

/* The low seven bits of each byte, the lowest first; the top bit says that another byte follows. */
static enum mpk_code read_leb(struct mpk_cursor *c, const char *what, bool is_signed, uint64_t *out,
			      struct mpk_error *err)
{
	struct mpk_cursor at = *c;
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		MPK_TRY(mpk_read_u8(&at, what, &byte, err));
		if (shift > 63 || (shift == 63 && !is_signed && byte > 1))
			return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
					       "%s: the number has more than 64 bits", what);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= UINT64_MAX << shift;
	*out = value;
	*c = at;
	return MPK_OK;
}

enum mpk_code mpk_read_uleb(struct mpk_cursor *c, const char *what, uint64_t *out,
			    struct mpk_error *err)
{
	return read_leb(c, what, false, out, err);
}

enum mpk_code mpk_read_sleb(struct mpk_cursor *c, const char *what, uint64_t *out,
			    struct mpk_error *err)
{
	return read_leb(c, what, true, out, err);
}

enum mpk_code mpk_read_uleb_count(struct mpk_cursor *c, const char *what, size_t *out,
				  struct mpk_error *err)
{
	struct mpk_cursor at = *c;
	uint64_t n;

	MPK_TRY(mpk_read_uleb(&at, what, &n, err));
	if (n > mpk_cursor_left(&at))
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "%s: count %" PRIu64 " does not fit in the %zu bytes left",
				       what, n, mpk_cursor_left(&at));
	*out = (size_t)n;
	*c = at;
	return MPK_OK;
}

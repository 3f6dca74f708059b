/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - MessagePack, value by value, without recursion (msgpack.org, spec.md)
 *
 * A reader that returns one value at a time needs no memory and cannot be made to nest deeply. The
 * reader of a map or list reads or skips its items. An item takes at least one byte, so a count
 * larger than the bytes left is refused at once. */
#include "msgpack/msgpack.h"

#include "base/compiler.h"

/* The meaning of a first byte: the type, and how many bytes of a number or a length follow. */
struct head {
	enum mpk_msgpack_type type;
	uint8_t bytes;     /* bytes of the number or length; 0: value has it */
	bool is_signed;    /* the number may be negative */
	uint8_t ext_bytes; /* EXT: bytes of its type, before the data */
	uint32_t value;
};

/* For 0xc0 - 0xdf in order; 0xc1 is never used and invalid (FORMAT.md 1). */
static const struct head heads[] = {
	{ MPK_MSGPACK_NIL, 0, false, 0, 0 },   { MPK_MSGPACK_NIL, 0, false, 0, 0 },
	{ MPK_MSGPACK_BOOL, 0, false, 0, 0 },  { MPK_MSGPACK_BOOL, 0, false, 0, 1 },
	{ MPK_MSGPACK_BIN, 1, false, 0, 0 },   { MPK_MSGPACK_BIN, 2, false, 0, 0 },
	{ MPK_MSGPACK_BIN, 4, false, 0, 0 },   { MPK_MSGPACK_EXT, 1, false, 1, 0 },
	{ MPK_MSGPACK_EXT, 2, false, 1, 0 },   { MPK_MSGPACK_EXT, 4, false, 1, 0 },
	{ MPK_MSGPACK_FLOAT, 4, false, 0, 0 }, { MPK_MSGPACK_FLOAT, 8, false, 0, 0 },
	{ MPK_MSGPACK_UINT, 1, false, 0, 0 },  { MPK_MSGPACK_UINT, 2, false, 0, 0 },
	{ MPK_MSGPACK_UINT, 4, false, 0, 0 },  { MPK_MSGPACK_UINT, 8, false, 0, 0 },
	{ MPK_MSGPACK_UINT, 1, true, 0, 0 },   { MPK_MSGPACK_UINT, 2, true, 0, 0 },
	{ MPK_MSGPACK_UINT, 4, true, 0, 0 },   { MPK_MSGPACK_UINT, 8, true, 0, 0 },
	{ MPK_MSGPACK_EXT, 0, false, 1, 1 },   { MPK_MSGPACK_EXT, 0, false, 1, 2 },
	{ MPK_MSGPACK_EXT, 0, false, 1, 4 },   { MPK_MSGPACK_EXT, 0, false, 1, 8 },
	{ MPK_MSGPACK_EXT, 0, false, 1, 16 },  { MPK_MSGPACK_STR, 1, false, 0, 0 },
	{ MPK_MSGPACK_STR, 2, false, 0, 0 },   { MPK_MSGPACK_STR, 4, false, 0, 0 },
	{ MPK_MSGPACK_ARRAY, 2, false, 0, 0 }, { MPK_MSGPACK_ARRAY, 4, false, 0, 0 },
	{ MPK_MSGPACK_MAP, 2, false, 0, 0 },   { MPK_MSGPACK_MAP, 4, false, 0, 0 },
};

/* Small values and lengths are in the first byte; the table has the others. */
static struct head head_of(uint8_t first)
{
	if (first < 0x80)
		return (struct head){ .type = MPK_MSGPACK_UINT, .value = first };
	if (first < 0x90)
		return (struct head){ .type = MPK_MSGPACK_MAP, .value = first & 0xfU };
	if (first < 0xa0)
		return (struct head){ .type = MPK_MSGPACK_ARRAY, .value = first & 0xfU };
	if (first < 0xc0)
		return (struct head){ .type = MPK_MSGPACK_STR, .value = first & 0x1fU };
	if (first < 0xe0)
		return heads[first - 0xc0];
	return (struct head){ .type = MPK_MSGPACK_INT, .value = first };
}

/* MessagePack is big-endian. */
static uint64_t msgpack_load(struct mpk_span s)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.len; i++)
		v = v << 8 | s.data[i];
	return v;
}

/* Negative numbers of any width are extended to 64 bits. */
static void set_number(const struct head *h, uint64_t v, struct mpk_msgpack *out)
{
	unsigned unused = h->bytes ? 64 - 8U * h->bytes : 56;

	out->number = v;
	if (h->type != MPK_MSGPACK_INT && !(h->is_signed && v >> (63 - unused) & 1))
		return;
	out->type = MPK_MSGPACK_INT;
	out->number = unused ? v | ~UINT64_C(0) << (64 - unused) : v;
}

/* The cursor compares lengths with the bytes left; counts are compared here. */
static enum mpk_code msgpack_read_value(struct mpk_cursor *c, struct mpk_msgpack *out,
					struct mpk_error *err)
{
	struct mpk_msgpack m = { 0 };
	struct mpk_span length;
	struct head h;
	uint8_t first;
	uint64_t v;

	MPK_TRY(mpk_read_u8(c, "msgpack: a value", &first, err));
	if (first == 0xc1)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c) - 1,
				       "msgpack: 0xc1 begins no value");
	h = head_of(first);
	MPK_TRY(mpk_read_bytes(c, "msgpack: a length or number", h.bytes, &length, err));
	v = h.bytes ? msgpack_load(length) : h.value;
	m.type = h.type;
	if (h.type == MPK_MSGPACK_STR || h.type == MPK_MSGPACK_BIN || h.type == MPK_MSGPACK_EXT) {
		MPK_TRY(mpk_read_bytes(c, "msgpack: a string", v + h.ext_bytes, &m.bytes, err));
	} else if (h.type == MPK_MSGPACK_ARRAY || h.type == MPK_MSGPACK_MAP) {
		if (v * (h.type == MPK_MSGPACK_MAP ? 2 : 1) > mpk_cursor_left(c))
			return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
					       "msgpack: a list is longer than what is left");
		m.count = (uint32_t)v;
	} else {
		set_number(&h, v, &m);
	}
	*out = m;
	return MPK_OK;
}

/* The cursor moves only after the value was read whole. */
enum mpk_code mpk_msgpack_next(struct mpk_cursor *c, struct mpk_msgpack *out, struct mpk_error *err)
{
	struct mpk_cursor at = *c;

	MPK_TRY(msgpack_read_value(&at, out, err));
	*c = at;
	return MPK_OK;
}

enum mpk_code mpk_msgpack_skip(struct mpk_cursor *c, struct mpk_error *err)
{
	struct mpk_msgpack m;

	/* ends however large the counts are, because each value takes at least a byte */
	for (uint64_t left = 1; left; left--) {
		MPK_TRY(mpk_msgpack_next(c, &m, err));
		left += m.type == MPK_MSGPACK_MAP     ? (uint64_t)m.count * 2
			: m.type == MPK_MSGPACK_ARRAY ? m.count
						      : 0;
	}
	return MPK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.c - a decoder of deflate that reads each code by one look-up in a table
 *
 * A table has an entry for each value of its longest code, at most 32,768, so that no code takes
 * two look-ups; it is made again for each block. The entry gives the number of bits of the code;
 * bits beyond the end of the stream are not a code. Codes must be complete, except for a single
 * code of one bit, as in zlib. */
#include "deflate/inflate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "deflate/deflate.h"

enum {
	BITS_MAX = 15,
	LITERALS = 288,
	DISTANCES = 30,
	LENGTHS = 19, /* codes for lengths of codes */
	END = 256,
};

/* Bits of the stream, low bits first. */
struct bits {
	const uint8_t *at, *end;
	uint64_t next;
	unsigned count; /* number of bits in next */
};

struct table {
	unsigned bits;                   /* length of the longest code; 0: none */
	uint16_t entries[1 << BITS_MAX]; /* symbol << 4 | bits; 0: not a code */
};

struct inflating {
	struct bits in;
	uint8_t *out;
	size_t at, len;
	struct table literals, distances;
};

static void refill(struct bits *b)
{
	while (b->count <= 56 && b->at < b->end) {
		b->next |= (uint64_t)*b->at++ << b->count;
		b->count += 8;
	}
}

static bool take(struct bits *b, unsigned count, unsigned *out)
{
	if (b->count < count)
		refill(b);
	if (b->count < count)
		return false;
	*out = (unsigned)(b->next & ((UINT64_C(1) << count) - 1));
	b->next >>= count;
	b->count -= count;
	return true;
}

static bool symbol(struct bits *b, const struct table *t, unsigned *out)
{
	unsigned entry;

	if (b->count < BITS_MAX)
		refill(b);
	entry = t->bits ? t->entries[b->next & ((1U << t->bits) - 1)] : 0;
	if (!entry || (entry & 15) > b->count)
		return false;
	b->next >>= entry & 15;
	b->count -= entry & 15;
	*out = entry >> 4;
	return true;
}

/* Codes of one length are consecutive, after the shorter ones (RFC 1951, 3.2.2); the stream has
 * their first bit first. */
static bool table_make(struct table *t, const uint8_t *lengths, unsigned count)
{
	unsigned of[BITS_MAX + 1] = { 0 }, next[BITS_MAX + 1] = { 0 }, used = 0;
	int left = 1;

	t->bits = 0;
	for (unsigned i = 0; i < count; i++)
		of[lengths[i]]++;
	of[0] = 0;
	for (unsigned n = 1; n <= BITS_MAX; n++) {
		left = 2 * left - (int)of[n];
		if (left < 0)
			return false;
		if (of[n])
			t->bits = n;
		used += of[n];
		next[n] = (next[n - 1] + of[n - 1]) << 1;
	}
	if (left && (used > 1 || t->bits > 1))
		return false;
	memset(t->entries, 0, sizeof t->entries[0] << t->bits);
	for (unsigned i = 0; i < count; i++) {
		unsigned n = lengths[i], code, turned = 0;

		if (!n)
			continue;
		code = next[n]++;
		for (unsigned k = 0; k < n; k++)
			turned |= (code >> k & 1) << (n - 1 - k);
		for (; turned < 1U << t->bits; turned += 1U << n)
			t->entries[turned] = (uint16_t)(i << 4 | n);
	}
	return true;
}

/* --- blocks ------------------------------------------------------------------------------------- */

static bool stored_block(struct inflating *s)
{
	unsigned count, inverse, ignored;

	(void)take(&s->in, s->in.count % 8, &ignored);
	if (!take(&s->in, 16, &count) || !take(&s->in, 16, &inverse) ||
	    (count ^ inverse) != 0xffff || count > s->len - s->at)
		return false;
	for (unsigned i = 0; i < count; i++) {
		unsigned byte;

		if (!take(&s->in, 8, &byte))
			return false;
		s->out[s->at++] = (uint8_t)byte;
	}
	return true;
}

static bool fixed_codes(struct inflating *s)
{
	uint8_t lengths[LITERALS];

	for (unsigned i = 0; i < LITERALS; i++)
		lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	if (!table_make(&s->literals, lengths, LITERALS))
		return false;
	memset(lengths, 5, 32); /* two of them are unused */
	return table_make(&s->distances, lengths, 32);
}

/* Reads lengths of codes, which are coded themselves and may repeat. */
static bool dynamic_codes(struct inflating *s)
{
	static const uint8_t order[LENGTHS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						11, 4,  12, 3, 13, 2, 14, 1, 15 };
	uint8_t lengths[320] = { 0 };
	unsigned literals, distances, count, at = 0;

	if (!take(&s->in, 5, &literals) || !take(&s->in, 5, &distances) || !take(&s->in, 4, &count))
		return false;
	literals += 257;
	distances += 1;
	if (literals > 286 || distances > DISTANCES)
		return false;
	for (unsigned i = 0; i < count + 4; i++) {
		unsigned n;

		if (!take(&s->in, 3, &n))
			return false;
		lengths[order[i]] = (uint8_t)n;
	}
	if (!table_make(&s->literals, lengths, LENGTHS))
		return false;
	memset(lengths, 0, sizeof lengths);
	while (at < literals + distances) {
		static const struct {
			uint8_t bits, least;
		} repeats[] = { { 2, 3 }, { 3, 3 }, { 7, 11 } };
		unsigned n, times;

		if (!symbol(&s->in, &s->literals, &n))
			return false;
		if (n < 16) {
			lengths[at++] = (uint8_t)n;
			continue;
		}
		n -= 16;
		if (!take(&s->in, repeats[n].bits, &times) || (n == 0 && !at))
			return false;
		times += repeats[n].least;
		if (times > literals + distances - at)
			return false;
		memset(lengths + at, n == 0 ? lengths[at - 1] : 0, times);
		at += times;
	}
	return lengths[END] && table_make(&s->literals, lengths, literals) &&
	       table_make(&s->distances, lengths + literals, distances);
}

static bool copy(struct inflating *s, unsigned length_code)
{
	static const uint16_t lengths[] = { 3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
					    15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
					    67, 83, 99, 115, 131, 163, 195, 227, 258 };
	static const uint16_t distances[DISTANCES] = { 1,    2,    3,    4,     5,     7,
						       9,    13,   17,   25,    33,    49,
						       65,   97,   129,  193,   257,   385,
						       513,  769,  1025, 1537,  2049,  3073,
						       4097, 6145, 8193, 12289, 16385, 24577 };
	unsigned code, more, distance, i = length_code - END - 1;
	size_t length;

	if (i >= MPK_ARRAY_COUNT(lengths))
		return false;
	if (!take(&s->in, i < 8 || i == 28 ? 0 : (i - 4) / 4, &more))
		return false;
	length = lengths[i] + more;
	if (!symbol(&s->in, &s->distances, &code) || code >= DISTANCES ||
	    !take(&s->in, code < 4 ? 0 : code / 2 - 1, &more))
		return false;
	distance = distances[code] + more;
	if (distance > s->at || length > s->len - s->at)
		return false;
	/* a copy may overlap the bytes that it writes */
	for (const uint8_t *from = s->out + s->at - distance; length; length--)
		s->out[s->at++] = *from++;
	return true;
}

static bool coded_block(struct inflating *s)
{
	for (;;) {
		unsigned code;

		if (!symbol(&s->in, &s->literals, &code))
			return false;
		if (code == END)
			return true;
		if (code > END) {
			if (!copy(s, code))
				return false;
			continue;
		}
		if (s->at == s->len)
			return false;
		s->out[s->at++] = (uint8_t)code;
	}
}

static bool blocks(struct inflating *s)
{
	unsigned is_last, kind;

	do {
		if (!take(&s->in, 1, &is_last) || !take(&s->in, 2, &kind) || kind == 3)
			return false;
		if (kind == 0 ? !stored_block(s)
			      : !(kind == 1 ? fixed_codes(s) : dynamic_codes(s)) || !coded_block(s))
			return false;
	} while (!is_last);
	return s->at == s->len && s->in.at == s->in.end && s->in.count < 8;
}

enum mpk_code mpk_inflate(struct mpk_span packed, uint8_t *out, size_t len, struct mpk_error *err)
{
	struct inflating *s = malloc(sizeof *s);
	bool is_whole;

	MPK_TRY_ALLOC(s, err);
	s->in = (struct bits){ packed.data, packed.data, 0, 0 };
	if (packed.len)
		s->in.end += packed.len;
	s->out = out;
	s->at = 0;
	s->len = len;
	is_whole = blocks(s);
	free(s);
	return is_whole ? MPK_OK
			: mpk_fail(err, MPK_E_CORRUPT,
				   "the compressed bytes do not unpack to %zu bytes", len);
}

/* --- the functions of the header ---------------------------------------------------------------- */

uint64_t mpk_deflate_limit(uint64_t packed)
{
	const uint64_t least = UINT64_C(64) << 20;
	uint64_t most;

	return __builtin_mul_overflow(packed, 128, &most) ||
			       __builtin_add_overflow(most, least, &most)
		       ? UINT64_MAX
		       : most;
}

uint32_t mpk_inflate_sum(struct mpk_span bytes)
{
	uint32_t table[256], sum = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int k = 0; k < 8; k++)
			v = v >> 1 ^ (v & 1 ? UINT32_C(0xedb88320) : 0);
		table[i] = v;
	}
	for (size_t i = 0; i < bytes.len; i++)
		sum = sum >> 8 ^ table[(sum ^ bytes.data[i]) & 255];
	return ~sum;
}

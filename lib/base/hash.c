#include "base/hash.h"

#include <string.h>

#include "base/cursor.h"

/* The constants and rounds are those of the published XXH64 specification. */
static const uint64_t P1 = 0x9e3779b185ebca87, P2 = 0xc2b2ae3d27d4eb4f, P3 = 0x165667b19e3779f9,
		      P4 = 0x85ebca77c2b2ae63, P5 = 0x27d4eb2f165667c5;

static uint64_t rotate(uint64_t v, unsigned bits)
{
	return v << bits | v >> (64 - bits);
}

static uint64_t mix(uint64_t lane, uint64_t input)
{
	return rotate(lane + input * P2, 31) * P1;
}

/* The lanes in variables, which stay in registers: bytes that are read could be h's own. */
static void stripes(struct mpk_hash *h, const uint8_t *p, size_t count)
{
	uint64_t a = h->lanes[0], b = h->lanes[1], c = h->lanes[2], d = h->lanes[3];

	for (; count; count--, p += 32) {
		a = mix(a, mpk_load_u64(p));
		b = mix(b, mpk_load_u64(p + 8));
		c = mix(c, mpk_load_u64(p + 16));
		d = mix(d, mpk_load_u64(p + 24));
	}
	h->lanes[0] = a;
	h->lanes[1] = b;
	h->lanes[2] = c;
	h->lanes[3] = d;
}

void mpk_hash_init(struct mpk_hash *h, uint64_t seed)
{
	*h = (struct mpk_hash){ .lanes = { seed + P1 + P2, seed + P2, seed, seed - P1 },
				.seed = seed };
}

void mpk_hash_add(struct mpk_hash *h, struct mpk_span bytes)
{
	size_t held = (size_t)(h->total % 32);

	if (!bytes.len)
		return; /* an empty span may have no address */
	h->total += bytes.len;
	if (held) {
		size_t n = bytes.len < 32 - held ? bytes.len : 32 - held;

		memcpy(h->pending + held, bytes.data, n);
		bytes = mpk_span_of(bytes.data + n, bytes.len - n);
		if (held + n < 32)
			return;
		stripes(h, h->pending, 1);
	}
	size_t whole = bytes.len / 32 * 32;
	stripes(h, bytes.data, whole / 32);
	if (bytes.len > whole)
		memcpy(h->pending, bytes.data + whole, bytes.len - whole);
}

static uint64_t merge(const struct mpk_hash *h)
{
	const uint64_t *v = h->lanes;
	uint64_t acc = rotate(v[0], 1) + rotate(v[1], 7) + rotate(v[2], 12) + rotate(v[3], 18);

	for (unsigned i = 0; i < 4; i++)
		acc = (acc ^ mix(0, v[i])) * P1 + P4;
	return acc;
}

uint64_t mpk_hash_get(const struct mpk_hash *h)
{
	uint64_t acc = (h->total >= 32 ? merge(h) : h->seed + P5) + h->total;
	size_t left = (size_t)(h->total % 32), i = 0;

	for (; left - i >= 8; i += 8)
		acc = rotate(acc ^ mix(0, mpk_load_u64(h->pending + i)), 27) * P1 + P4;
	for (; left - i >= 4; i += 4)
		acc = rotate(acc ^ mpk_load_u32(h->pending + i) * P1, 23) * P2 + P3;
	for (; i < left; i++)
		acc = rotate(acc ^ h->pending[i] * P5, 11) * P1;
	acc = (acc ^ acc >> 33) * P2;
	acc = (acc ^ acc >> 29) * P3;
	return acc ^ acc >> 32;
}

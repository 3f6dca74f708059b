/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - SHA-256 and MD5 in a browser: implements the functions of OpenSSL's libcrypto that
 * lib/ground/io/digest.c calls
 *
 * A browser has its own SHA-256, but only for whole buffers and with an asynchronous result. Here
 * files are read in pieces, and no code can wait. Both digests follow their standards, FIPS 180-4
 * and RFC 1321. They share the blocks of 64 bytes and the padding. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

struct kind {
	size_t bytes;
	bool is_big_endian;
	uint32_t start[8];
	void (*block)(uint32_t *state, const uint8_t *bytes);
};

struct context {
	const struct kind *kind;
	uint32_t state[8];
	uint64_t len;
	uint8_t rest[BLOCK];
};

static uint32_t rotated(uint32_t x, unsigned right)
{
	return x >> right | x << (32 - right);
}

/* Returns the first 32 bits of the fraction of the root of the n-th prime. Roots are computed as
 * integers, so that no rounding error is possible. */
static const uint32_t *cubes(void)
{
	static uint32_t k[64];
	int count = 0;

	for (unsigned p = 2; !k[63]; p++) {
		unsigned d = 2;

		while (d * d <= p && p % d != 0)
			d++;
		if (d * d <= p)
			continue;
		/* the greatest r with r^3 <= p * 2^96: r has the integer part and 32 bits of the fraction */
		uint64_t r = 0;

		for (int bit = 34; bit >= 0; bit--) {
			uint64_t next = r | UINT64_C(1) << bit;

			if ((__uint128_t)next * next <= ((__uint128_t)p << 96) / next)
				r = next;
		}
		k[count++] = (uint32_t)r;
	}
	return k;
}

static void sha256_block(uint32_t *state, const uint8_t *bytes)
{
	const uint32_t *k = cubes();
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
		       (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, state, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t one = v[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
			       ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
		uint32_t two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
			       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += one;
		v[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

static void md5_block(uint32_t *state, const uint8_t *bytes)
{
	static const uint8_t turns[4][4] = {
		{ 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
	};
	static uint32_t sines[64];
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

	for (int i = 0; !sines[63] && i < 64; i++)
		sines[i] = (uint32_t)(fabs(sin(i + 1)) * 4294967296.0);
	for (int i = 0; i < 64; i++) {
		static const uint8_t steps[] = { 1, 5, 3, 7 }, begins[] = { 0, 1, 5, 0 };
		int round = i / 16, at = (i * steps[round] + begins[round]) % 16;
		uint32_t f = round == 0   ? (b & c) | (~b & d)
			     : round == 1 ? (d & b) | (~d & c)
			     : round == 2 ? b ^ c ^ d
					  : c ^ (b | ~d);
		const uint8_t *p = bytes + 4 * at;

		f += a + sines[i] +
		     ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		      (uint32_t)p[3] << 24);
		a = d;
		d = c;
		c = b;
		b += rotated(f, 32u - turns[round][i % 4]);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

static const struct kind kind_sha256 = { 32,
					 true,
					 { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 },
					 sha256_block };
static const struct kind kind_md5 = {
	16, false, { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 }, md5_block
};

/* --- with the names and types of libcrypto -------------------------------- */

static void *context_new(void)
{
	return calloc(1, sizeof(struct context));
}

static void context_free(void *context)
{
	free(context);
}

static const void *type_sha256(void)
{
	return &kind_sha256;
}

static const void *type_md5(void)
{
	return &kind_md5;
}

static int digest_init(void *context, const void *type, void *engine)
{
	struct context *c = context;

	(void)engine;
	*c = (struct context){ .kind = type };
	memcpy(c->state, c->kind->start, sizeof c->state);
	return 1;
}

static int digest_update(void *context, const void *data, size_t len)
{
	struct context *c = context;
	const uint8_t *p = data;

	while (len) {
		size_t had = (size_t)(c->len % BLOCK), n = BLOCK - had < len ? BLOCK - had : len;

		if (n == BLOCK) {
			c->kind->block(c->state, p);
		} else {
			memcpy(c->rest + had, p, n);
			if (had + n == BLOCK)
				c->kind->block(c->state, c->rest);
		}
		c->len += n;
		p += n;
		len -= n;
	}
	return 1;
}

static int digest_final(void *context, unsigned char *out, unsigned *len)
{
	static const uint8_t padding[BLOCK] = { 0x80 };
	struct context *c = context;
	uint64_t bits = c->len * 8;
	size_t had = (size_t)(c->len % BLOCK);
	uint8_t tail[8];

	for (int i = 0; i < 8; i++)
		tail[i] = (uint8_t)(bits >> 8 * (c->kind->is_big_endian ? 7 - i : i));
	(void)digest_update(c, padding, had < 56 ? 56 - had : 120 - had);
	(void)digest_update(c, tail, sizeof tail);
	for (size_t i = 0; i < c->kind->bytes; i++)
		out[i] = (uint8_t)(c->state[i / 4] >>
				   8 * (c->kind->is_big_endian ? 3 - i % 4 : i % 4));
	if (len)
		*len = (unsigned)c->kind->bytes;
	return 1;
}

/* The only library that dlopen finds. */
static char libcrypto;

void *dlopen(const char *name, int flags)
{
	(void)flags;
	return name && strcmp(name, "libcrypto.so.3") == 0 ? &libcrypto : NULL;
}

void *dlsym(void *library, const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} symbols[] = {
		{ "EVP_MD_CTX_new", (void *)context_new },
		{ "EVP_MD_CTX_free", (void *)context_free },
		{ "EVP_sha256", (void *)type_sha256 },
		{ "EVP_md5", (void *)type_md5 },
		{ "EVP_DigestInit_ex", (void *)digest_init },
		{ "EVP_DigestUpdate", (void *)digest_update },
		{ "EVP_DigestFinal_ex", (void *)digest_final },
	};

	for (size_t i = 0; library == &libcrypto && i < sizeof symbols / sizeof *symbols; i++)
		if (strcmp(symbols[i].name, name) == 0)
			return symbols[i].function;
	return NULL;
}

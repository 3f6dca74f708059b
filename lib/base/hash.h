/* hash.h - XXH64: fast, well mixed, not cryptographic; for build ids and duplicates
 *
 * Never a proof of anything against an adversary. Streaming; the digest depends on the
 * bytes alone, not on how they were cut.
 */
#ifndef MPK_BASE_HASH_H
#define MPK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct mpk_hash {
	uint64_t lanes[4];
	uint64_t seed, total;
	uint8_t pending[32];  /* total % 32 bytes of an unfinished stripe */
};

/* mpk_hash_init, mpk_hash_add - begin; take in more bytes, in pieces of any size */
void mpk_hash_init(struct mpk_hash *h, uint64_t seed);
void mpk_hash_add(struct mpk_hash *h, struct mpk_span bytes);

/* mpk_hash_get - the digest of what was added so far; adding may go on */
uint64_t mpk_hash_get(const struct mpk_hash *h);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - a digest of fields: numbers, bytes, names (FORMAT.md 1) */
#ifndef MPK_KNOW_CANON_HASH_H
#define MPK_KNOW_CANON_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "io/digest.h"

/* A digest in progress. Zero-initialise; mpk_canon_begin; then mpk_canon_end, or after a failure
 * mpk_canon_hash_fini. */
struct mpk_canon_hash {
	struct mpk_digest digest;
	enum mpk_code code; /* of the first failure; MPK_OK: none */
	size_t used;        /* bytes in buffer, which collects short fields */
	uint8_t buffer[512];
};

/* mpk_canon_begin - begin a digest; its first field is what is digested, such as "kernel"
 * mpk_canon_u64 - add a number: eight bytes, the least significant first
 * mpk_canon_bytes - add the number of bytes, then the bytes
 * mpk_canon_symbol - add the length of a name after mpk_canon_name, then that name
 * mpk_canon_raw - add bytes without their number
 * A failure is remembered and returned by mpk_canon_end. */
void mpk_canon_begin(struct mpk_canon_hash *h, const char *what);
void mpk_canon_u64(struct mpk_canon_hash *h, uint64_t number);
void mpk_canon_bytes(struct mpk_canon_hash *h, struct mpk_span bytes);
void mpk_canon_symbol(struct mpk_canon_hash *h, struct mpk_span name);
void mpk_canon_raw(struct mpk_canon_hash *h, struct mpk_span bytes);

/* mpk_canon_end - finish the digest, and free it
 * Returns  MPK_OK; the first failure: MPK_E_LOAD, MPK_E_INTERNAL, MPK_E_NOMEM */
enum mpk_code mpk_canon_end(struct mpk_canon_hash *h, uint8_t out[MPK_DIGEST_BYTES],
			    struct mpk_error *err) MPK_MUST_CHECK;
void mpk_canon_hash_fini(struct mpk_canon_hash *h);

#endif

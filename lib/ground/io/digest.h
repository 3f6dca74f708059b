/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - digests of bytes: XXH128 against accidents, SHA-256 against attackers
 *
 * XXH128 runs at the speed of memory. It detects damage, but an adversary can make collisions.
 * SHA-256 resists them, and other tools and hubs publish it; it has a tenth of the speed. It comes
 * from OpenSSL's libcrypto, which is loaded at first use, so programs run without libcrypto until
 * a SHA-256 is wanted. */
#ifndef MPK_IO_DIGEST_H
#define MPK_IO_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "io/copy.h"

enum mpk_digest_kind {
	MPK_DIGEST_XXH128,     /* XXH3, 128 bits, seed 0; most significant byte first */
	MPK_DIGEST_SHA256,     /* FIPS 180-4 */
	MPK_DIGEST_KIND_COUNT, /* number of kinds that users can choose */
	/* RFC 1321; only to compare files with digests that others recorded */
	MPK_DIGEST_MD5,
};

/* Bytes of the longest digest, and of its text with a NUL. */
enum { MPK_DIGEST_BYTES = 32, MPK_DIGEST_TEXT = 65, MPK_XXH128_BYTES = 16 };

/* A digest in progress. Zero-initialise; mpk_digest_fini also after failures. */
struct mpk_digest {
	enum mpk_digest_kind kind;
	void *state;
};

/* mpk_digest_name - "xxh128", "sha256": as the programs xxh128sum and sha256sum are called
 * mpk_digest_bytes - how long its digests are: 16, 32 */
const char *mpk_digest_name(enum mpk_digest_kind kind);
size_t mpk_digest_bytes(enum mpk_digest_kind kind);

/* mpk_digest_prepare - load the libraries of a kind before a sandbox makes that impossible. A
 * failure is reported when the digest is used. */
void mpk_digest_prepare(enum mpk_digest_kind kind);

/* mpk_digest_init - begin
 * Returns  MPK_OK; MPK_E_LOAD (SHA-256 or MD5, and libcrypto is not installed: the text says
 *          what to install; or it does not compute MD5); MPK_E_NOMEM. Not thread-safe at the first call of a process. */
enum mpk_code mpk_digest_init(struct mpk_digest *d, enum mpk_digest_kind kind,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_update - add bytes, any number of times
 * Returns  MPK_OK; MPK_E_INTERNAL (libcrypto refused) */
enum mpk_code mpk_digest_update(struct mpk_digest *d, struct mpk_span bytes,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_add_rope - add all bytes of a rope, file ranges read through windows
 * @tap     sees the same bytes, piece by piece; may be NULL
 * Returns  MPK_OK; MPK_E_INTERNAL; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_digest_add_rope(struct mpk_digest *d, const struct mpk_rope *rope,
				  const struct mpk_tap *tap, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_final - the digest of all bytes added; nothing may be added afterwards
 * @out     its first mpk_digest_bytes(kind) bytes are set
 * Returns  MPK_OK; MPK_E_INTERNAL */
enum mpk_code mpk_digest_final(struct mpk_digest *d, uint8_t out[MPK_DIGEST_BYTES],
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_fini - free it; safe to call twice */
void mpk_digest_fini(struct mpk_digest *d);

/* mpk_digest_rope - the digest of a rope, as mpk_digest_add_rope
 * Returns  MPK_OK; MPK_E_LOAD, MPK_E_NOMEM, MPK_E_INTERNAL, MPK_E_IO as above */
enum mpk_code mpk_digest_rope(enum mpk_digest_kind kind, const struct mpk_rope *rope,
			      const struct mpk_tap *tap, uint8_t out[MPK_DIGEST_BYTES],
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_span - the digest of bytes in memory
 * @out     mpk_digest_bytes(kind) bytes
 * Returns  MPK_OK; MPK_E_LOAD, MPK_E_NOMEM, MPK_E_INTERNAL as above */
enum mpk_code mpk_digest_span(enum mpk_digest_kind kind, struct mpk_span bytes, uint8_t *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_print - lower-case hexadecimal digits and a NUL
 * @bytes   16 or 32
 * Returns  out */
const char *mpk_digest_print(const uint8_t *digest, size_t bytes, char out[MPK_DIGEST_TEXT]);

/* --- OpenSSL's libcrypto, loaded when it is first needed
 *
 * Programs start in a millisecond and work without it; what needs cryptography says what to
 * install where it is missing. Its functions are declared by those who call them: the types are
 * opaque in OpenSSL's own headers, too, and the interface of OpenSSL 3 is kept by its soname. --- */

/* mpk_libcrypto_load - look up functions of libcrypto by name
 * The library stays loaded, because it may be needed again at any time.
 * @what    the feature that needs it, for the message: "SHA-256"
 * @table   a struct of count function pointers, filled in the order of names; untouched
 *          on failure
 * Returns  MPK_OK; MPK_E_LOAD: it is not installed, or lacks a name. Not thread-safe at
 *          the first call of a process. */
enum mpk_code mpk_libcrypto_load(const char *what, const char *const *names, size_t count,
				 void *table, struct mpk_error *err) MPK_MUST_CHECK;

#endif

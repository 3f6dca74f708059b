/* digest.h - SHA-256, through OpenSSL's libcrypto loaded at first use
 *
 * Programs start without libcrypto and run without it until a digest is wanted.
 */
#ifndef MPK_TEXT_DIGEST_H
#define MPK_TEXT_DIGEST_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum { MPK_DIGEST_BYTES = 32, MPK_DIGEST_TEXT = 65 };

/* A digest in progress. Zero-initialise; mpk_digest_fini also after failures. */
struct mpk_digest {
	void *ctx;
};

/* mpk_digest_init - begin
 * Returns  MPK_OK; MPK_E_LOAD (libcrypto is not installed: the text says what to
 *          install); MPK_E_NOMEM. Not thread-safe at the first call of a process. */
enum mpk_code mpk_digest_init(struct mpk_digest *d, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_update - add bytes, any number of times
 * Returns  MPK_OK; MPK_E_INTERNAL (libcrypto refused) */
enum mpk_code mpk_digest_update(struct mpk_digest *d, struct mpk_span bytes,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_final - the digest of all bytes added; nothing may be added afterwards
 * Returns  MPK_OK; MPK_E_INTERNAL */
enum mpk_code mpk_digest_final(struct mpk_digest *d, uint8_t out[MPK_DIGEST_BYTES],
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_fini - free it; safe to call twice */
void mpk_digest_fini(struct mpk_digest *d);

/* mpk_digest_of - the digest of a view
 * Returns  MPK_OK; MPK_E_LOAD, MPK_E_NOMEM, MPK_E_INTERNAL as above */
enum mpk_code mpk_digest_of(struct mpk_span bytes, uint8_t out[MPK_DIGEST_BYTES],
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_digest_print - 64 lower-case hexadecimal digits and a NUL, as sha256sum prints
 * Returns  out */
const char *mpk_digest_print(const uint8_t digest[MPK_DIGEST_BYTES],
			     char out[MPK_DIGEST_TEXT]);

#endif

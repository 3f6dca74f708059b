/* SPDX-License-Identifier: Apache-2.0 */
/* ed25519.h - signatures of RFC 8032, made and checked by OpenSSL's libcrypto
 *
 * libcrypto is the library that computes SHA-256 here already (io/digest.h); its interface is
 * kept by its soname, and it is loaded when a signature is made or checked, never before.
 */
#ifndef MPK_TRUST_INTERNAL_ED25519_H
#define MPK_TRUST_INTERNAL_ED25519_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum { MPK_ED25519_KEY_BYTES = 32, MPK_ED25519_BYTES = 64 };

/* A public key. */
struct mpk_public_key {
	uint8_t bytes[MPK_ED25519_KEY_BYTES];
};

/* A private key, and the public one that belongs to it. Wipe it as soon as it has done its work. */
struct mpk_secret_key {
	uint8_t seed[MPK_ED25519_KEY_BYTES];
	struct mpk_public_key public_key;
};

/* mpk_secret_key_wipe - overwrite a private key; for MPK_CLEANUP */
void mpk_secret_key_wipe(struct mpk_secret_key *key);

/* mpk_ed25519_prepare - load what the functions below need, for a process that may open no files
 * later
 * Returns  MPK_OK; MPK_E_LOAD: there is no libcrypto, the text says what to install */
enum mpk_code mpk_ed25519_prepare(struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ed25519_public - the public key of key->seed, into key->public_key
 * mpk_ed25519_sign - sign a message; the same key and message give the same signature
 * mpk_ed25519_verify - whether a signature is of this message and key
 * mpk_ed25519_pem - the seed of a private key in PEM (PKCS #8), as `openssl genpkey` writes it, or the key of a
 *          public one (SubjectPublicKeyInfo)
 * Returns  MPK_OK; MPK_E_DIFFERENT (verify): it is not; MPK_E_SYNTAX (pem): not such a key, with what
 *          it is where that is known; MPK_E_LOAD; MPK_E_NOMEM; MPK_E_INTERNAL: libcrypto refused */
enum mpk_code mpk_ed25519_public(struct mpk_secret_key *key, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_ed25519_sign(const struct mpk_secret_key *key, struct mpk_span message,
			       uint8_t out[MPK_ED25519_BYTES],
			       struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_ed25519_verify(const struct mpk_public_key *key, struct mpk_span message,
				 const uint8_t signature[MPK_ED25519_BYTES],
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_ed25519_pem(struct mpk_span text, bool is_secret,
			      uint8_t out[MPK_ED25519_KEY_BYTES],
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif

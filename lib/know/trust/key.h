/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - signatures of RFC 8032, made and checked by OpenSSL's libcrypto, and the files in which people have their keys
 *
 * libcrypto is the library that computes SHA-256 here already (io/digest.h); its interface is
 * kept by its soname, and it is loaded when a signature is made or checked, never before.
 *
 * Private: PEM (PKCS #8) as `openssl genpkey -algorithm ed25519` writes it, and OpenSSH's format as
 * `ssh-keygen -t ed25519` does. Public: PEM (SubjectPublicKeyInfo), one key or several after each
 * other, and lines "ssh-ed25519 AAAA... comment". Encrypted private keys are refused: this program asks
 * for no passphrase and knows no agent. No message holds any part of a private key.
 */
#ifndef MPK_TRUST_KEY_H
#define MPK_TRUST_KEY_H

#include <stdbool.h>
#include <stddef.h>
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

/* The longest file of keys, bytes; the most public keys in one. */
enum { MPK_KEY_FILE_MAX = 64 * 1024, MPK_KEYS_MAX = 64 };

struct mpk_public_keys {
	struct mpk_public_key items[MPK_KEYS_MAX];
	size_t count;
};

/* mpk_secret_key_parse - a private key
 * mpk_public_keys_parse - one public key or several
 * Returns  MPK_OK; MPK_E_SYNTAX: it is none, with what it is where that is known; MPK_E_UNSUPPORTED:
 *          encrypted, or more than MPK_KEYS_MAX; MPK_E_LOAD: no libcrypto; MPK_E_NOMEM;
 *          MPK_E_INTERNAL */
enum mpk_code mpk_secret_key_parse(struct mpk_span text, struct mpk_secret_key *out,
				   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_public_keys_parse(struct mpk_span text, struct mpk_public_keys *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_secret_key_read, mpk_public_keys_read - the same of a file, which may be a pipe, so that a secret
 * store need not write it to a disk. What was read of a private key is wiped.
 * Returns  as above; MPK_E_IO; all with the name of the file */
enum mpk_code mpk_secret_key_read(const char *path, struct mpk_secret_key *out,
				  struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_public_keys_read(const char *path, struct mpk_public_keys *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif

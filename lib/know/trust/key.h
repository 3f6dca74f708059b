/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - the files in which people have Ed25519 keys
 *
 * Private: PEM (PKCS #8) as `openssl genpkey -algorithm ed25519` writes it, and OpenSSH's format as
 * `ssh-keygen -t ed25519` does. Public: PEM (SubjectPublicKeyInfo), one key or several after each
 * other, and lines "ssh-ed25519 AAAA... comment". Encrypted private keys are refused: this program asks
 * for no passphrase and knows no agent. No message holds any part of a private key.
 */
#ifndef MPK_TRUST_KEY_H
#define MPK_TRUST_KEY_H

#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "trust/internal/ed25519.h"

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

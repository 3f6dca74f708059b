/* SPDX-License-Identifier: Apache-2.0 */
/* sshsig.h - what is signed, and the texts in which OpenSSH has keys and signatures
 *
 * A library's signature is one of OpenSSH's (its PROTOCOL.sshsig), in the namespace below: what the key
 * signs begins with the magic of such signatures and with the namespace, so that none of these bytes
 * can be a message of TLS, git or another program that the same key signs for. `ssh-keygen -Y verify`
 * checks it without this program, and so does `openssl pkeyutl -verify -rawin`.
 */
#ifndef MPK_TRUST_SSHSIG_H
#define MPK_TRUST_SSHSIG_H

#include "base/error.h"
#include "base/strbuf.h"
#include "io/digest.h"
#include "trust/internal/ed25519.h"

/* The namespace, whose end is the version of what is signed. */
#define MPK_SSHSIG_NAMESPACE "mpack-library-v1"

/* Length of the message, and of an Ed25519 key as OpenSSH encodes it. */
enum { MPK_SSHSIG_MESSAGE_BYTES = 6 + 4 + 16 + 4 + 4 + 6 + 4 + 32, MPK_SSH_KEY_BYTES = 51 };

/* mpk_sshsig_message - the bytes that are signed
 * @sha256  of the file with its signature zeroed */
void mpk_sshsig_message(const uint8_t sha256[MPK_DIGEST_BYTES],
			uint8_t out[MPK_SSHSIG_MESSAGE_BYTES]);

/* mpk_sshsig_put - append the signature as `ssh-keygen -Y verify` reads it, in its armour */
void mpk_sshsig_put(const struct mpk_public_key *key, const uint8_t signature[MPK_ED25519_BYTES],
		    struct mpk_strbuf *out);

/* mpk_ssh_key_put - append "ssh-ed25519 AAAAC3Nz...", as lines of authorized_keys have it */
void mpk_ssh_key_put(const struct mpk_public_key *key, struct mpk_strbuf *out);

/* mpk_ssh_key_digest - SHA-256 of the encoded key, which is its fingerprint
 * Returns  MPK_OK; MPK_E_LOAD, MPK_E_NOMEM, MPK_E_INTERNAL as mpk_digest_init */
enum mpk_code mpk_ssh_key_digest(const struct mpk_public_key *key, uint8_t out[MPK_DIGEST_BYTES],
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ssh_fingerprint_put - append "SHA256:" and the digest, as `ssh-keygen -l` prints it */
void mpk_ssh_fingerprint_put(const uint8_t digest[MPK_DIGEST_BYTES], struct mpk_strbuf *out);

#endif

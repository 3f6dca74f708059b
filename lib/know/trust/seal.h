/* SPDX-License-Identifier: Apache-2.0 */
/* seal.h - a finished library gets its provenance and its signature, and a signature is checked
 *
 * What is signed is the whole file with the 64 bytes of the signature as zeros: host code, blob, headers,
 * symbols, the provenance and the signer's key, everything. Whatever changes a byte, be it strip,
 * patchelf or an attacker, breaks it.
 */
#ifndef MPK_TRUST_SEAL_H
#define MPK_TRUST_SEAL_H

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "io/copy.h"
#include "io/digest.h"
#include "trust/key.h"
#include "trust/origin.h"

/* What a file gets. */
struct mpk_seal_job {
	const char *provenance;           /* JSON; NULL: none is added, one that is there stays */
	const struct mpk_secret_key *key; /* NULL: it is not signed */
};

/* mpk_seal_file - add both to a file, in place
 * A signature that is there is replaced. The same file, provenance and key give the same bytes.
 * @fd      a regular file, open for reading and writing; its content is undefined after a failure
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: no ELF library or object, or one of unusual form; MPK_E_CORRUPT;
 *          MPK_E_RANGE; MPK_E_LOAD: no libcrypto; MPK_E_IO; MPK_E_NOMEM; MPK_E_INTERNAL */
enum mpk_code mpk_seal_file(int fd, const struct mpk_seal_job *job,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_seal_check - whether one of these keys signed the file as it is
 * Returns  MPK_OK; MPK_E_DIFFERENT: not signed, signed by another key, changed since, with the reason
 *          and the offset in file; MPK_E_LOAD; MPK_E_NOMEM; MPK_E_INTERNAL */
enum mpk_code mpk_seal_check(const struct mpk_elf *file, const struct mpk_public_keys *keys,
			     const struct mpk_tap *tap, struct mpk_error *err) MPK_MUST_CHECK;

/* --- what is signed, and the texts in which OpenSSH has keys and signatures -------------------
 *
 * A library's signature is one of OpenSSH's (its PROTOCOL.sshsig), in the namespace below: what the key
 * signs begins with the magic of such signatures and with the namespace, so that none of these bytes
 * can be a message of TLS, git or another program that the same key signs for. `ssh-keygen -Y verify`
 * checks it without this program, and so does `openssl pkeyutl -verify -rawin`. */

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

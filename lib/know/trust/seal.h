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
#include "io/copy.h"
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

#endif

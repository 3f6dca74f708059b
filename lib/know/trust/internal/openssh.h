/* SPDX-License-Identifier: Apache-2.0 */
/* openssh.h - OpenSSH's own formats of keys, which libcrypto does not read (internal) */
#ifndef MPK_TRUST_INTERNAL_OPENSSH_H
#define MPK_TRUST_INTERNAL_OPENSSH_H

#include "base/error.h"
#include "base/span.h"
#include "trust/internal/ed25519.h"

#define MPK_OPENSSH_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define MPK_OPENSSH_END "-----END OPENSSH PRIVATE KEY-----"

/* mpk_openssh_secret - the private key in a text with the lines above
 * Returns  MPK_OK; MPK_E_SYNTAX; MPK_E_UNSUPPORTED: encrypted; MPK_E_NOMEM */
enum mpk_code mpk_openssh_secret(struct mpk_span text, struct mpk_secret_key *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_openssh_public - the key of a line "ssh-ed25519 AAAA..."; what follows is a comment
 * Returns  MPK_OK; MPK_E_SYNTAX */
enum mpk_code mpk_openssh_public(struct mpk_span line, struct mpk_public_key *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif

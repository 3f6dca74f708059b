/* SPDX-License-Identifier: Apache-2.0 */
#include "trust/sshsig.h"

#include <string.h>

#include "text/base64.h"

static const char algorithm[] = "ssh-ed25519";

enum { ARMOR_COLUMNS = 70, SSHSIG_BYTES = 300 };

_Static_assert(MPK_SSH_KEY_BYTES == 4 + sizeof algorithm - 1 + 4 + MPK_ED25519_KEY_BYTES,
	       "two strings");
_Static_assert(sizeof MPK_SSHSIG_NAMESPACE - 1 == 16, "MPK_SSHSIG_MESSAGE_BYTES counts on it");

/* OpenSSH's string: its length, most significant byte first, and its bytes. Returns its end. */
static uint8_t *put_string(uint8_t *at, const void *bytes, size_t len)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(len >> (24 - 8 * i));
	memcpy(at + 4, bytes, len);
	return at + 4 + len;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	return put_string(at, text, strlen(text));
}

void mpk_sshsig_message(const uint8_t sha256[MPK_DIGEST_BYTES],
			uint8_t out[MPK_SSHSIG_MESSAGE_BYTES])
{
	uint8_t *at = out + 6;

	memcpy(out, "SSHSIG", 6);
	at = put_text(at, MPK_SSHSIG_NAMESPACE);
	at = put_text(at, ""); /* reserved */
	at = put_text(at, "sha256");
	(void)put_string(at, sha256, MPK_DIGEST_BYTES);
}

void mpk_ssh_key_encode(const struct mpk_public_key *key, uint8_t out[MPK_SSH_KEY_BYTES])
{
	(void)put_string(put_text(out, algorithm), key->bytes, sizeof key->bytes);
}

void mpk_sshsig_put(const struct mpk_public_key *key, const uint8_t signature[MPK_ED25519_BYTES],
		    struct mpk_strbuf *out)
{
	uint8_t bytes[SSHSIG_BYTES] = "SSHSIG\0\0\0\1", encoded[MPK_SSH_KEY_BYTES],
		*at = bytes + 10;
	uint8_t inner[4 + sizeof algorithm - 1 + 4 + MPK_ED25519_BYTES];
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_ssh_key_encode(key, encoded);
	(void)put_string(put_text(inner, algorithm), signature, MPK_ED25519_BYTES);
	at = put_string(at, encoded, sizeof encoded);
	at = put_text(at, MPK_SSHSIG_NAMESPACE);
	at = put_text(at, "");
	at = put_text(at, "sha256");
	at = put_string(at, inner, sizeof inner);
	mpk_base64_put(&text, mpk_span_of(bytes, (size_t)(at - bytes)));
	out->failed |= text.failed;
	mpk_strbuf_puts(out, "-----BEGIN SSH SIGNATURE-----\n");
	for (size_t i = 0; i < text.len; i += ARMOR_COLUMNS) {
		size_t left = text.len - i;

		mpk_strbuf_put(out, text.data + i, left < ARMOR_COLUMNS ? left : ARMOR_COLUMNS);
		mpk_strbuf_putc(out, '\n');
	}
	mpk_strbuf_puts(out, "-----END SSH SIGNATURE-----\n");
}

void mpk_ssh_key_put(const struct mpk_public_key *key, struct mpk_strbuf *out)
{
	uint8_t encoded[MPK_SSH_KEY_BYTES];

	mpk_ssh_key_encode(key, encoded);
	mpk_strbuf_printf(out, "%s ", algorithm);
	mpk_base64_put(out, mpk_span_of(encoded, sizeof encoded));
}

enum mpk_code mpk_ssh_key_digest(const struct mpk_public_key *key, uint8_t out[MPK_DIGEST_BYTES],
				 struct mpk_error *err)
{
	uint8_t encoded[MPK_SSH_KEY_BYTES];

	mpk_ssh_key_encode(key, encoded);
	return mpk_digest_span(MPK_DIGEST_SHA256, mpk_span_of(encoded, sizeof encoded), out, err);
}

/* ssh-keygen leaves the padding out. */
void mpk_ssh_fingerprint_put(const uint8_t digest[MPK_DIGEST_BYTES], struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_base64_put(&text, mpk_span_of(digest, MPK_DIGEST_BYTES));
	out->failed |= text.failed;
	mpk_strbuf_puts(out, "SHA256:");
	mpk_strbuf_put(out, mpk_strbuf_text(&text), strcspn(mpk_strbuf_text(&text), "="));
}

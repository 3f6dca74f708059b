/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSH's PROTOCOL.key: strings with their lengths in front, most significant byte first. */
#include "trust/internal/openssh.h"

#include <stdlib.h>
#include <string.h>

#include "text/base64.h"

static const char magic[] = "openssh-key-v1"; /* with its NUL */
static const char algorithm[] = "ssh-ed25519";

enum { PRIVATE_BYTES = 2 * MPK_ED25519_KEY_BYTES };

static bool take_u32(struct mpk_span *rest, uint32_t *out)
{
	if (rest->len < 4)
		return false;
	*out = (uint32_t)rest->data[0] << 24 | (uint32_t)rest->data[1] << 16 |
	       (uint32_t)rest->data[2] << 8 | rest->data[3];
	*rest = mpk_span_of(rest->data + 4, rest->len - 4);
	return true;
}

static bool take_string(struct mpk_span *rest, struct mpk_span *out)
{
	uint32_t len;

	if (!take_u32(rest, &len) || !mpk_span_sub(*rest, 0, len, out))
		return false;
	*rest = mpk_span_of(rest->data + len, rest->len - len);
	return true;
}

/* The next string, which has to be this text. */
static bool take_text(struct mpk_span *rest, const char *text)
{
	struct mpk_span s;

	return take_string(rest, &s) && mpk_span_is(s, text);
}

static enum mpk_code malformed(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_SYNTAX,
			"no private key that OpenSSH writes: it is cut short or damaged");
}

/* The part that a passphrase would encrypt: two equal numbers, the keys, a comment, and 1 2 3 ... */
static enum mpk_code take_secret(struct mpk_span rest, struct mpk_secret_key *out,
				 struct mpk_error *err)
{
	struct mpk_span public_key, secret, comment;
	uint32_t first, second;

	if (!take_u32(&rest, &first) || !take_u32(&rest, &second) || first != second)
		return malformed(err);
	if (!take_text(&rest, algorithm))
		return mpk_fail(
			err, MPK_E_SYNTAX,
			"a private key of OpenSSH that is not Ed25519; signatures here are: ssh-keygen -t ed25519");
	if (!take_string(&rest, &public_key) || public_key.len != MPK_ED25519_KEY_BYTES ||
	    !take_string(&rest, &secret) || secret.len != PRIVATE_BYTES ||
	    !take_string(&rest, &comment))
		return malformed(err);
	for (size_t i = 0; i < rest.len; i++)
		if (rest.data[i] != (uint8_t)(i + 1))
			return malformed(err);
	if (memcmp(secret.data + MPK_ED25519_KEY_BYTES, public_key.data, public_key.len) != 0)
		return malformed(err);
	memcpy(out->seed, secret.data, sizeof out->seed);
	memcpy(out->public_key.bytes, public_key.data, sizeof out->public_key.bytes);
	return MPK_OK;
}

static enum mpk_code take_key(struct mpk_span rest, struct mpk_secret_key *out,
			      struct mpk_error *err)
{
	struct mpk_span cipher, kdf, options, public_key, secret;
	uint32_t count;

	if (rest.len < sizeof magic || memcmp(rest.data, magic, sizeof magic) != 0)
		return malformed(err);
	rest = mpk_span_of(rest.data + sizeof magic, rest.len - sizeof magic);
	if (!take_string(&rest, &cipher) || !take_string(&rest, &kdf) ||
	    !take_string(&rest, &options) || !take_u32(&rest, &count) || count != 1 ||
	    !take_string(&rest, &public_key) || !take_string(&rest, &secret) || rest.len)
		return malformed(err);
	if (!mpk_span_is(cipher, "none") || !mpk_span_is(kdf, "none"))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the private key is encrypted, and mpack asks for no passphrase; give it a copy without one: ssh-keygen -p -N '' -f COPY");
	return take_secret(secret, out, err);
}

enum mpk_code mpk_openssh_secret(struct mpk_span text, struct mpk_secret_key *out,
				 struct mpk_error *err)
{
	const uint8_t *begin =
		memmem(text.data, text.len, MPK_OPENSSH_BEGIN, strlen(MPK_OPENSSH_BEGIN));
	const uint8_t *end = memmem(text.data, text.len, MPK_OPENSSH_END, strlen(MPK_OPENSSH_END));
	MPK_CLEANUP(mpk_secret_key_wipe) struct mpk_secret_key key = { 0 };
	size_t len = 0;

	if (!begin || !end || end < begin + strlen(MPK_OPENSSH_BEGIN))
		return malformed(err);
	begin += strlen(MPK_OPENSSH_BEGIN);
	uint8_t *bytes = malloc(text.len);
	MPK_TRY_ALLOC(bytes, err);
	enum mpk_code code =
		mpk_base64_read(mpk_span_of(begin, (size_t)(end - begin)), bytes, text.len, &len)
			? take_key(mpk_span_of(bytes, len), &key, err)
			: malformed(err);
	explicit_bzero(bytes, text.len);
	free(bytes);
	if (code == MPK_OK)
		*out = key;
	return code;
}

enum mpk_code mpk_openssh_public(struct mpk_span line, struct mpk_public_key *out,
				 struct mpk_error *err)
{
	size_t word = strlen(algorithm), end, len = 0;
	uint8_t bytes[128];
	struct mpk_span rest, key;

	while (word < line.len && (line.data[word] == ' ' || line.data[word] == '\t'))
		word++;
	for (end = word; end < line.len && line.data[end] != ' ' && line.data[end] != '\t';)
		end++;
	if (!mpk_span_starts(line, algorithm) || word == strlen(algorithm) ||
	    !mpk_base64_read(mpk_span_of(line.data + word, end - word), bytes, sizeof bytes, &len))
		return mpk_fail(err, MPK_E_SYNTAX,
				"no line \"ssh-ed25519 AAAA...\", as a public key of Ed25519 has");
	rest = mpk_span_of(bytes, len);
	if (!take_text(&rest, algorithm) || !take_string(&rest, &key) ||
	    key.len != sizeof out->bytes || rest.len)
		return mpk_fail(err, MPK_E_SYNTAX, "the key behind \"ssh-ed25519\" is damaged");
	memcpy(out->bytes, key.data, sizeof out->bytes);
	return MPK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file has is told by the lines that enclose it; what is between them by libcrypto and
 * openssh.c. */
#include "trust/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trust/internal/openssh.h"

/* --- private --------------------------------------------------------------------- */

static bool is_public(struct mpk_span text)
{
	return mpk_span_has(text, "-----BEGIN PUBLIC KEY-----") || mpk_span_starts(text, "ssh-") ||
	       mpk_span_starts(text, "ecdsa-");
}

static enum mpk_code parse_secret(struct mpk_span text, struct mpk_secret_key *out,
				  struct mpk_error *err)
{
	if (mpk_span_has(text, "BEGIN ENCRYPTED") || mpk_span_has(text, ",ENCRYPTED"))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the private key is encrypted, and mpack asks for no passphrase; give it a copy without one, through a pipe if it is not to be written: <(openssl pkey -in KEY)");
	if (mpk_span_has(text, MPK_OPENSSH_BEGIN))
		return mpk_openssh_secret(text, out, err);
	if (is_public(text))
		return mpk_fail(err, MPK_E_SYNTAX, "a public key; the private one signs");
	if (mpk_span_has(text, "-----BEGIN "))
		return mpk_ed25519_pem(text, out, err);
	return mpk_fail(
		err, MPK_E_SYNTAX,
		"no private key in PEM or OpenSSH's format; make one: openssl genpkey -algorithm ed25519, or ssh-keygen -t ed25519");
}

/* A file whose two halves do not belong together would give signatures that nobody can verify. */
static enum mpk_code check_halves(const struct mpk_secret_key *key, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_secret_key_wipe) struct mpk_secret_key again = *key;

	MPK_TRY(mpk_ed25519_public(&again, err));
	if (memcmp(&again.public_key, &key->public_key, sizeof key->public_key) == 0)
		return MPK_OK;
	return mpk_fail(err, MPK_E_SYNTAX, "the public key in it is not that of the private one");
}

enum mpk_code mpk_secret_key_parse(struct mpk_span text, struct mpk_secret_key *out,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_secret_key_wipe) struct mpk_secret_key key = { 0 };

	MPK_TRY(parse_secret(text, &key, err));
	MPK_TRY(check_halves(&key, err));
	*out = key;
	return MPK_OK;
}

/* --- public ---------------------------------------------------------------------- */

static enum mpk_code add(struct mpk_public_keys *keys, const struct mpk_public_key *key,
			 struct mpk_error *err)
{
	if (keys->count == MPK_KEYS_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "more than %d keys", MPK_KEYS_MAX);
	keys->items[keys->count++] = *key;
	return MPK_OK;
}

static enum mpk_code add_pems(struct mpk_span text, struct mpk_public_keys *keys,
			      struct mpk_error *err)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ";
	struct mpk_public_key key;

	for (;;) {
		const uint8_t *at = memmem(text.data, text.len, begin, strlen(begin));

		if (!at)
			return MPK_OK;
		text = mpk_span_of(at, text.len - (size_t)(at - text.data));
		const uint8_t *stop = memmem(text.data, text.len, end, strlen(end));
		const uint8_t *line =
			stop ? memchr(stop, '\n', text.len - (size_t)(stop - at)) : NULL;
		size_t len = line ? (size_t)(line - at) + 1 : text.len;

		MPK_TRY(mpk_ed25519_public_pem(mpk_span_of(at, len), &key, err));
		MPK_TRY(add(keys, &key, err));
		text = mpk_span_of(text.data + len, text.len - len);
	}
}

static enum mpk_code add_lines(struct mpk_span text, struct mpk_public_keys *keys,
			       struct mpk_error *err)
{
	struct mpk_public_key key;
	uint32_t number = 0;

	while (text.len) {
		const uint8_t *feed = memchr(text.data, '\n', text.len);
		size_t len = feed ? (size_t)(feed - text.data) : text.len;
		struct mpk_span line = mpk_span_of(text.data, len);

		number++;
		text = mpk_span_of(text.data + len + (feed != NULL),
				   text.len - len - (feed != NULL));
		while (line.len &&
		       (line.data[line.len - 1] == '\r' || line.data[line.len - 1] == ' '))
			line.len--;
		if (!line.len || line.data[0] == '#')
			continue;
		enum mpk_code code = mpk_openssh_public(line, &key, err);
		if (code != MPK_OK) {
			if (err) {
				err->at.line = number;
				err->at.column = 1;
			}
			return code;
		}
		MPK_TRY(add(keys, &key, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_public_keys_parse(struct mpk_span text, struct mpk_public_keys *out,
				    struct mpk_error *err)
{
	struct mpk_public_keys keys = { .count = 0 };
	bool is_pem = mpk_span_has(text, "-----BEGIN ");

	if (mpk_span_has(text, "PRIVATE KEY-----"))
		return mpk_fail(err, MPK_E_SYNTAX,
				"a private key; what verifies needs the public one alone");
	MPK_TRY((is_pem ? add_pems : add_lines)(text, &keys, err));
	if (!keys.count)
		return mpk_fail(err, MPK_E_SYNTAX,
				"no public key in PEM and no line \"ssh-ed25519 AAAA...\"");
	*out = keys;
	return MPK_OK;
}

/* --- files ----------------------------------------------------------------------- */

static enum mpk_code read_into(int fd, uint8_t *buffer, size_t *len, struct mpk_error *err)
{
	*len = 0;
	for (;;) {
		ssize_t n = read(fd, buffer + *len, MPK_KEY_FILE_MAX + 1 - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read");
		if (n == 0)
			return MPK_OK;
		*len += (size_t)n;
		if (*len > MPK_KEY_FILE_MAX)
			return mpk_fail(err, MPK_E_SYNTAX, "larger than any file of keys");
	}
}

/* The text of a key file: not a mapping, whose memory could not be wiped. Zero-initialise. */
struct key_text {
	uint8_t *data; /* MPK_KEY_FILE_MAX + 1 bytes, or NULL */
	size_t len;
};

/* Public keys are wiped, too: a private one may have been given by mistake. */
static void key_text_wipe(struct key_text *t)
{
	if (t->data)
		explicit_bzero(t->data, MPK_KEY_FILE_MAX + 1);
	free(t->data);
}

static enum mpk_code key_text_read(const char *path, struct key_text *out, struct mpk_error *err)
{
	int fd;

	out->data = malloc(MPK_KEY_FILE_MAX + 1);
	MPK_TRY_ALLOC(out->data, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot open");
	enum mpk_code code = read_into(fd, out->data, &out->len, err);
	(void)close(fd);
	return code;
}

enum mpk_code mpk_secret_key_read(const char *path, struct mpk_secret_key *out,
				  struct mpk_error *err)
{
	MPK_CLEANUP(key_text_wipe) struct key_text text = { 0 };
	enum mpk_code code = key_text_read(path, &text, err);

	if (code == MPK_OK)
		code = mpk_secret_key_parse(mpk_span_of(text.data, text.len), out, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

enum mpk_code mpk_public_keys_read(const char *path, struct mpk_public_keys *out,
				   struct mpk_error *err)
{
	MPK_CLEANUP(key_text_wipe) struct key_text text = { 0 };
	enum mpk_code code = key_text_read(path, &text, err);

	if (code == MPK_OK)
		code = mpk_public_keys_parse(mpk_span_of(text.data, text.len), out, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* key.c - secret and public keys from files: PEM, and OpenSSH's own forms
 *
 * The lines that enclose a key say which form it has. PEM is read by libcrypto, but for the two usual forms of a secret key.
 * OpenSSH's forms are read here: they are a few strings with their lengths (PROTOCOL.key), and a secret key with a
 * password is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/span.h"
#include "io/digest.h"
#include "text/markup.h"
#include "trust/key.h"

/* --- Ed25519 signatures and PEM keys, by libcrypto.
 *
 * libcrypto is opened on first use (io/digest.h): most runs of mpack sign nothing, and a machine
 * without it can do all the rest. The functions that are used are declared here and not included,
 * so that building needs no headers of OpenSSL. Everything that OpenSSL allocates is freed before
 * the function returns, on every path.
 */

/* The part of OpenSSL 3's interface that is used (openssl/evp.h, pem.h, bio.h). */
struct crypto {
	void *(*key_of_seed)(int type, void *engine, const unsigned char *raw, size_t len);
	void *(*key_of_public)(int type, void *engine, const unsigned char *raw, size_t len);
	int (*raw_seed)(const void *key, unsigned char *raw, size_t *len);
	int (*raw_public)(const void *key, unsigned char *raw, size_t *len);
	int (*is_a)(const void *key, const char *name);
	const char *(*type_name)(const void *key);
	void (*key_free)(void *key);
	void *(*ctx_new)(void);
	void (*ctx_free)(void *ctx);
	int (*sign_init)(void *ctx, void **pctx, const void *md, void *engine, void *key);
	int (*sign)(void *ctx, unsigned char *sig, size_t *len, const unsigned char *m, size_t n);
	int (*verify_init)(void *ctx, void **pctx, const void *md, void *engine, void *key);
	int (*verify)(void *ctx, const unsigned char *sig, size_t len, const unsigned char *m,
		      size_t n);
	void *(*bio_of)(const void *data, int len);
	int (*bio_free)(void *bio);
	void *(*pem_private)(void *bio, void **key, void *password, void *data);
	void *(*pem_public)(void *bio, void **key, void *password, void *data);
	void (*clear_errors)(void);
};

static const char *const names[] = {
	"EVP_PKEY_new_raw_private_key",
	"EVP_PKEY_new_raw_public_key",
	"EVP_PKEY_get_raw_private_key",
	"EVP_PKEY_get_raw_public_key",
	"EVP_PKEY_is_a",
	"EVP_PKEY_get0_type_name",
	"EVP_PKEY_free",
	"EVP_MD_CTX_new",
	"EVP_MD_CTX_free",
	"EVP_DigestSignInit",
	"EVP_DigestSign",
	"EVP_DigestVerifyInit",
	"EVP_DigestVerify",
	"BIO_new_mem_buf",
	"BIO_free",
	"PEM_read_bio_PrivateKey",
	"PEM_read_bio_PUBKEY",
	"ERR_clear_error",
};

/* The addresses are stored into the struct as into an array, in the order of the names. */
_Static_assert(sizeof(struct crypto) == sizeof names / sizeof *names * sizeof(void *),
	       "one name for each function");

enum { ED25519 = 1087 /* EVP_PKEY_ED25519 */ };

/* Once for the process. A failure is not remembered: the next call says why again. */
static const struct crypto *ed25519_load(struct mpk_error *err)
{
	static struct crypto crypto;
	static bool loaded;

	if (!loaded)
		loaded = mpk_libcrypto_load("a signature", names, MPK_ARRAY_COUNT(names), &crypto,
					    err) == MPK_OK;
	return loaded ? &crypto : NULL;
}

/* explicit_bzero is not optimised away, as a memset before the end of the key's life would be. */
void mpk_secret_key_wipe(struct mpk_secret_key *key)
{
	explicit_bzero(key, sizeof *key);
}

/* libcrypto refused what should always work; its own errors say nothing to a user. */
static enum mpk_code broken(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_INTERNAL, "libcrypto failed at a signature");
}

/* The public half follows from the seed (RFC 8032, 5.1.5), so a secret key file needs not be
 * trusted to have the right one. */
enum mpk_code mpk_ed25519_public(struct mpk_secret_key *key, struct mpk_error *err)
{
	const struct crypto *c = ed25519_load(err);
	size_t len = MPK_ED25519_KEY_BYTES;
	void *made;

	if (!c)
		return MPK_E_LOAD;
	made = c->key_of_seed(ED25519, NULL, key->seed, sizeof key->seed);
	bool done = made && c->raw_public(made, key->public_key.bytes, &len) == 1 &&
		    len == MPK_ED25519_KEY_BYTES;
	c->key_free(made);
	return done ? MPK_OK : broken(err);
}

/* Ed25519 hashes the message itself and takes no digest: hence the NULLs for one. */
enum mpk_code mpk_ed25519_sign(const struct mpk_secret_key *key, struct mpk_span message,
			       uint8_t out[MPK_ED25519_BYTES], struct mpk_error *err)
{
	const struct crypto *c = ed25519_load(err);
	size_t len = MPK_ED25519_BYTES;

	if (!c)
		return MPK_E_LOAD;
	void *made = c->key_of_seed(ED25519, NULL, key->seed, sizeof key->seed);
	void *ctx = c->ctx_new();
	bool done = made && ctx && c->sign_init(ctx, NULL, NULL, NULL, made) == 1 &&
		    c->sign(ctx, out, &len, message.data, message.len) == 1 &&
		    len == MPK_ED25519_BYTES;
	c->ctx_free(ctx);
	c->key_free(made);
	return done ? MPK_OK : broken(err);
}

/* Two kinds of failure: a key that libcrypto refuses is an internal error, a signature that does
 * not verify is the answer. */
enum mpk_code mpk_ed25519_verify(const struct mpk_public_key *key, struct mpk_span message,
				 const uint8_t signature[MPK_ED25519_BYTES], struct mpk_error *err)
{
	const struct crypto *c = ed25519_load(err);

	if (!c)
		return MPK_E_LOAD;
	void *made = c->key_of_public(ED25519, NULL, key->bytes, sizeof key->bytes);
	void *ctx = c->ctx_new();
	bool ready = made && ctx && c->verify_init(ctx, NULL, NULL, NULL, made) == 1;
	bool valid = ready &&
		     c->verify(ctx, signature, MPK_ED25519_BYTES, message.data, message.len) == 1;

	c->clear_errors();
	c->ctx_free(ctx);
	c->key_free(made);
	if (!ready)
		return broken(err);
	return valid ? MPK_OK : mpk_fail(err, MPK_E_DIFFERENT, "the signature is not of this key");
}

/* In place of the prompt that OpenSSL would write to the terminal. */
static int no_password(char *buf, int size, int writing, void *data)
{
	(void)buf, (void)size, (void)writing, (void)data;
	return -1;
}

static enum mpk_code check_type(const struct crypto *c, const void *key, struct mpk_error *err)
{
	const char *name = key ? c->type_name(key) : NULL;

	if (!key)
		return mpk_fail(err, MPK_E_SYNTAX,
				"the PEM text in it is no key that OpenSSL reads");
	if (c->is_a(key, "ED25519") == 1)
		return MPK_OK;
	return mpk_fail(err, MPK_E_SYNTAX, "a key for %s; signatures here are Ed25519",
			name ? name : "something else");
}

#define MPK_PEM_BEGIN "-----BEGIN PRIVATE KEY-----"
#define MPK_PEM_END "-----END PRIVATE KEY-----"

/* The seed in the two forms of RFC 8410, section 7: without the public key and with it. libcrypto leaves lines of the text in
 * memory that it has freed, which a process that is forked later has, too; so it gets only what is in neither form.
 * Returns  whether the text has one of them */
static bool read_pkcs8(struct mpk_span text, uint8_t seed[MPK_ED25519_KEY_BYTES])
{
	static const uint8_t alone[] = { 0x30, 0x2e, 2,    1,    0, 0x30, 5, 6,
					 3,    0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20 };
	static const uint8_t both[] = { 0x30, 0x51, 2,    1,    1, 0x30, 5, 6,
					3,    0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20 };
	enum {
		HEAD = sizeof alone,
		ALONE = HEAD + MPK_ED25519_KEY_BYTES,
		BOTH = ALONE + 3 + MPK_ED25519_KEY_BYTES
	};
	const uint8_t *begin = memmem(text.data, text.len, MPK_PEM_BEGIN, strlen(MPK_PEM_BEGIN));
	const uint8_t *end = memmem(text.data, text.len, MPK_PEM_END, strlen(MPK_PEM_END));
	uint8_t bytes[BOTH];
	size_t len = 0;
	bool is_one;

	if (!begin || !end || end < begin + strlen(MPK_PEM_BEGIN))
		return false;
	begin += strlen(MPK_PEM_BEGIN);
	is_one = mpk_base64_read(mpk_span_of(begin, (size_t)(end - begin)), bytes, sizeof bytes,
				 &len) &&
		 ((len == ALONE && memcmp(bytes, alone, HEAD) == 0) ||
		  (len == BOTH && memcmp(bytes, both, HEAD) == 0 &&
		   memcmp(bytes + ALONE, "\x81\x21\0", 3) == 0));
	if (is_one)
		memcpy(seed, bytes + HEAD, MPK_ED25519_KEY_BYTES);
	explicit_bzero(bytes, sizeof bytes);
	return is_one;
}

static enum mpk_code ed25519_pem(struct mpk_span text, bool is_secret,
				 uint8_t out[MPK_ED25519_KEY_BYTES], struct mpk_error *err)
{
	const struct crypto *c = ed25519_load(err);
	int (*ask)(char *, int, int, void *) = no_password;
	size_t len = MPK_ED25519_KEY_BYTES;
	void *password;

	if (!c)
		return MPK_E_LOAD;
	if (is_secret && read_pkcs8(text, out))
		return MPK_OK;
	memcpy(&password, &ask, sizeof password);
	void *bio = text.len <= INT_MAX ? c->bio_of(text.data, (int)text.len) : NULL;
	MPK_TRY_ALLOC(bio, err);
	void *key = (is_secret ? c->pem_private : c->pem_public)(bio, NULL, password, NULL);
	enum mpk_code code = check_type(c, key, err);

	if (code == MPK_OK && ((is_secret ? c->raw_seed : c->raw_public)(key, out, &len) != 1 ||
			       len != MPK_ED25519_KEY_BYTES))
		code = broken(err);
	c->clear_errors();
	c->key_free(key);
	(void)c->bio_free(bio);
	return code;
}

enum mpk_code mpk_ed25519_prepare(struct mpk_error *err)
{
	static const uint8_t signature[MPK_ED25519_BYTES];
	static const struct mpk_public_key key;

	if (!ed25519_load(err))
		return MPK_E_LOAD;
	/* OpenSSL reads its configuration and fetches its algorithms when one is first used */
	(void)!mpk_ed25519_verify(&key, mpk_span_str("x"), signature, NULL);
	return MPK_OK;
}

#define MPK_OPENSSH_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define MPK_OPENSSH_END "-----END OPENSSH PRIVATE KEY-----"

/* OpenSSH's PROTOCOL.key: strings with their lengths in front, most significant byte first. */

static const char magic[] = "openssh-key-v1"; /* with its NUL */
static const char algorithm[] = "ssh-ed25519";

enum { PRIVATE_BYTES = 2 * MPK_ED25519_KEY_BYTES };

static bool take_u32(struct mpk_span *rest, uint32_t *out)
{
	if (rest->len < 4)
		return false;
	*out = (uint32_t)rest->data[0] << 24 | (uint32_t)rest->data[1] << 16 |
	       (uint32_t)rest->data[2] << 8 | rest->data[3];
	*rest = mpk_span_from(*rest, 4);
	return true;
}

static bool take_string(struct mpk_span *rest, struct mpk_span *out)
{
	uint32_t len;

	if (!take_u32(rest, &len) || !mpk_span_sub(*rest, 0, len, out))
		return false;
	*rest = mpk_span_from(*rest, len);
	return true;
}

/* The next string, which has to be this text. */
static bool trust_key_take_text(struct mpk_span *rest, const char *text)
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
	if (!trust_key_take_text(&rest, algorithm))
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

/* The private key in a text with the lines above
 * Returns  MPK_OK; MPK_E_SYNTAX; MPK_E_UNSUPPORTED: encrypted; MPK_E_NOMEM */
static enum mpk_code openssh_secret(struct mpk_span text, struct mpk_secret_key *out,
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

/* The key of a line "ssh-ed25519 AAAA..."; what follows is a comment */
static enum mpk_code openssh_public(struct mpk_span line, struct mpk_public_key *out,
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
	if (!trust_key_take_text(&rest, algorithm) || !take_string(&rest, &key) ||
	    key.len != sizeof out->bytes || rest.len)
		return mpk_fail(err, MPK_E_SYNTAX, "the key behind \"ssh-ed25519\" is damaged");
	memcpy(out->bytes, key.data, sizeof out->bytes);
	return MPK_OK;
}

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
		return openssh_secret(text, out, err);
	if (is_public(text))
		return mpk_fail(err, MPK_E_SYNTAX, "a public key; the private one signs");
	if (mpk_span_has(text, "-----BEGIN ")) {
		MPK_CLEANUP(mpk_secret_key_wipe) struct mpk_secret_key key = { 0 };

		MPK_TRY(ed25519_pem(text, true, key.seed, err));
		MPK_TRY(mpk_ed25519_public(&key, err));
		*out = key;
		return MPK_OK;
	}
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

static enum mpk_code trust_key_add(struct mpk_public_keys *keys, const struct mpk_public_key *key,
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

		MPK_TRY(ed25519_pem(mpk_span_of(at, len), false, key.bytes, err));
		MPK_TRY(trust_key_add(keys, &key, err));
		text = mpk_span_from(text, len);
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
		enum mpk_code code = openssh_public(line, &key, err);
		if (code != MPK_OK) {
			if (err) {
				err->at.line = number;
				err->at.column = 1;
			}
			return code;
		}
		MPK_TRY(trust_key_add(keys, &key, err));
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

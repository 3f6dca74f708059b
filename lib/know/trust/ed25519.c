/* SPDX-License-Identifier: Apache-2.0 */
/* ed25519.c - Ed25519 signatures and PEM keys, by libcrypto
 *
 * libcrypto is opened on first use (io/digest.h): most runs of mpack sign nothing, and a machine
 * without it can do all the rest. The functions that are used are declared here and not included,
 * so that building needs no headers of OpenSSL. Everything that OpenSSL allocates is freed before
 * the function returns, on every path.
 */
#include "trust/key.h"

#include <limits.h>
#include <string.h>

#include "io/digest.h"

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

enum mpk_code mpk_ed25519_pem(struct mpk_span text, bool is_secret,
			      uint8_t out[MPK_ED25519_KEY_BYTES], struct mpk_error *err)
{
	const struct crypto *c = ed25519_load(err);
	int (*ask)(char *, int, int, void *) = no_password;
	size_t len = MPK_ED25519_KEY_BYTES;
	void *password;

	if (!c)
		return MPK_E_LOAD;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - digests of bytes, ropes and files
 *
 * XXH128 is inlined from the library's header, so that a program that hashes nothing does not load
 * it. SHA-256 is left to libcrypto, which has code for every processor; it is loaded when it is first
 * asked for. */
#define XXH_INLINE_ALL
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "io/digest.h"
#include "io/reader.h"

/* The functions that compute one kind of digest. */
struct digest_ops {
	const char *name;
	size_t bytes;
	enum mpk_code (*init)(void **state, struct mpk_error *err);
	enum mpk_code (*update)(void *state, struct mpk_span bytes, struct mpk_error *err);
	enum mpk_code (*final)(void *state, uint8_t *out, struct mpk_error *err);
	void (*fini)(void *state);
};

/* --- XXH128 ----------------------------------------------------------------------- */

static enum mpk_code xxh128_init(void **state, struct mpk_error *err)
{
	XXH3_state_t *s = XXH3_createState();

	MPK_TRY_ALLOC(s, err);
	(void)XXH3_128bits_reset(s);
	*state = s;
	return MPK_OK;
}

static enum mpk_code xxh128_update(void *state, struct mpk_span bytes, struct mpk_error *err)
{
	(void)err;
	if (bytes.len) /* An empty view may have no address. */
		(void)XXH3_128bits_update(state, bytes.data, bytes.len);
	return MPK_OK;
}

static enum mpk_code xxh128_final(void *state, uint8_t *out, struct mpk_error *err)
{
	XXH128_canonical_t digest;

	(void)err;
	XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state));
	memcpy(out, digest.digest, sizeof digest.digest);
	return MPK_OK;
}

static void xxh128_fini(void *state)
{
	(void)XXH3_freeState(state);
}

static const struct digest_ops xxh128 = { "xxh128",     sizeof(XXH128_canonical_t),
					  xxh128_init,  xxh128_update,
					  xxh128_final, xxh128_fini };

/* --- SHA-256 and MD5 ---------------------------------------------------------------------- */

/* The functions of OpenSSL 3's EVP interface that are used (openssl/evp.h). Its types are opaque
 * there, too. */
struct evp {
	void *(*ctx_new)(void);
	void (*ctx_free)(void *ctx);
	const void *(*sha256)(void);
	const void *(*md5)(void);
	int (*init)(void *ctx, const void *type, void *engine);
	int (*update)(void *ctx, const void *data, size_t len);
	int (*final)(void *ctx, unsigned char *out, unsigned *len);
};

static const char *const evp_names[] = {
	"EVP_MD_CTX_new",    "EVP_MD_CTX_free",  "EVP_sha256",         "EVP_md5",
	"EVP_DigestInit_ex", "EVP_DigestUpdate", "EVP_DigestFinal_ex",
};

_Static_assert(sizeof(struct evp) == sizeof evp_names / sizeof *evp_names * sizeof(void *),
	       "one name for each function");

/* --- libcrypto: all symbols are looked up before any is used, so that a library without one of them is refused as a
 * whole ------------------------------------------------------------------------------------- */

enum mpk_code mpk_libcrypto_load(const char *what, const char *const *names, size_t count,
				 void *table, struct mpk_error *err)
{
	/* the library's name for the ABI of OpenSSL 3 */
	void *lib = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return mpk_fail(
			err, MPK_E_LOAD,
			"%s needs OpenSSL's libcrypto.so.3, which cannot be loaded; install OpenSSL 3 (Debian: apt install libssl3)",
			what);
	for (size_t i = 0; i < count; i++) {
		if (dlsym(lib, names[i]))
			continue;
		dlclose(lib);
		return mpk_fail(err, MPK_E_LOAD, "libcrypto.so.3 has no %s", names[i]);
	}
	for (size_t i = 0; i < count; i++) {
		/* copied as bytes, since ISO C has no conversion between object and
		 * function pointers */
		void *symbol = dlsym(lib, names[i]);

		memcpy((char *)table + i * sizeof symbol, &symbol, sizeof symbol);
	}
	return MPK_OK;
}

/* Loaded by the first mpk_digest_init; all later calls, also those of a hashing thread,
 * only read the table. */
static const struct evp *load_evp(struct mpk_error *err)
{
	static struct evp evp;
	static bool loaded;

	if (!loaded)
		loaded = mpk_libcrypto_load("SHA-256 or MD5", evp_names, MPK_ARRAY_COUNT(evp_names),
					    &evp, err) == MPK_OK;
	return loaded ? &evp : NULL;
}

static enum mpk_code evp_broken(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_INTERNAL, "libcrypto failed to compute a digest");
}

/* @type    from the table. A system in FIPS 140 mode has no MD5. */
static enum mpk_code evp_init(const struct evp *evp, const void *type, void **state,
			      struct mpk_error *err)
{
	void *ctx = evp->ctx_new();

	MPK_TRY_ALLOC(ctx, err);
	if (!type || evp->init(ctx, type, NULL) != 1) {
		evp->ctx_free(ctx);
		return mpk_fail(err, MPK_E_LOAD, "libcrypto does not compute this digest here");
	}
	*state = ctx;
	return MPK_OK;
}

static enum mpk_code sha256_init(void **state, struct mpk_error *err)
{
	const struct evp *evp = load_evp(err);

	return evp ? evp_init(evp, evp->sha256(), state, err) : MPK_E_LOAD;
}

static enum mpk_code md5_init(void **state, struct mpk_error *err)
{
	const struct evp *evp = load_evp(err);

	return evp ? evp_init(evp, evp->md5(), state, err) : MPK_E_LOAD;
}

static enum mpk_code evp_update(void *state, struct mpk_span bytes, struct mpk_error *err)
{
	return load_evp(NULL)->update(state, bytes.data, bytes.len) == 1 ? MPK_OK : evp_broken(err);
}

static enum mpk_code evp_final(void *state, uint8_t *out, struct mpk_error *err)
{
	return load_evp(NULL)->final(state, out, NULL) == 1 ? MPK_OK : evp_broken(err);
}

static void evp_fini(void *state)
{
	load_evp(NULL)->ctx_free(state);
}

static const struct digest_ops sha256 = {
	"sha256", 32, sha256_init, evp_update, evp_final, evp_fini
};
static const struct digest_ops md5 = { "md5", 16, md5_init, evp_update, evp_final, evp_fini };

/* --- digests ---------------------------------------------------------------------- */

static const struct digest_ops *ops_of(enum mpk_digest_kind kind)
{
	if (kind == MPK_DIGEST_MD5)
		return &md5;
	return kind == MPK_DIGEST_SHA256 ? &sha256 : &xxh128;
}

const char *mpk_digest_name(enum mpk_digest_kind kind)
{
	return ops_of(kind)->name;
}

size_t mpk_digest_bytes(enum mpk_digest_kind kind)
{
	return ops_of(kind)->bytes;
}

enum mpk_code mpk_digest_init(struct mpk_digest *d, enum mpk_digest_kind kind,
			      struct mpk_error *err)
{
	d->kind = kind;
	return ops_of(kind)->init(&d->state, err);
}

void mpk_digest_prepare(enum mpk_digest_kind kind)
{
	struct mpk_digest d = { 0 };

	(void)!mpk_digest_init(&d, kind, NULL);
	mpk_digest_fini(&d);
}

enum mpk_code mpk_digest_update(struct mpk_digest *d, struct mpk_span bytes, struct mpk_error *err)
{
	return ops_of(d->kind)->update(d->state, bytes, err);
}

enum mpk_code mpk_digest_final(struct mpk_digest *d, uint8_t out[MPK_DIGEST_BYTES],
			       struct mpk_error *err)
{
	return ops_of(d->kind)->final(d->state, out, err);
}

void mpk_digest_fini(struct mpk_digest *d)
{
	if (d->state)
		ops_of(d->kind)->fini(d->state);
	d->state = NULL;
}

/* Reads piece by piece: a rope of gigabytes is never in memory as a whole. */
static enum mpk_code digest_add_all(struct mpk_digest *d, struct mpk_reader *r,
				    const struct mpk_tap *tap, struct mpk_error *err)
{
	struct mpk_span some = { 0 };

	do {
		MPK_TRY(mpk_reader_next(r, &some, err));
		MPK_TRY(mpk_digest_update(d, some, err));
		if (tap)
			tap->see(tap->data, some);
	} while (some.len);
	return MPK_OK;
}

enum mpk_code mpk_digest_add_rope(struct mpk_digest *d, const struct mpk_rope *rope,
				  const struct mpk_tap *tap, struct mpk_error *err)
{
	/* A reader's buffer is too large for a stack. */
	struct mpk_reader *r = malloc(sizeof *r);

	MPK_TRY_ALLOC(r, err);
	mpk_reader_init(r, rope);
	enum mpk_code code = digest_add_all(d, r, tap, err);
	mpk_reader_fini(r);
	free(r);
	return code;
}

enum mpk_code mpk_digest_rope(enum mpk_digest_kind kind, const struct mpk_rope *rope,
			      const struct mpk_tap *tap, uint8_t out[MPK_DIGEST_BYTES],
			      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { .state = NULL };

	MPK_TRY(mpk_digest_init(&d, kind, err));
	MPK_TRY(mpk_digest_add_rope(&d, rope, tap, err));
	return mpk_digest_final(&d, out, err);
}

enum mpk_code mpk_digest_span(enum mpk_digest_kind kind, struct mpk_span bytes, uint8_t *out,
			      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { .state = NULL };
	uint8_t whole[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_digest_init(&d, kind, err));
	MPK_TRY(mpk_digest_update(&d, bytes, err));
	MPK_TRY(mpk_digest_final(&d, whole, err));
	memcpy(out, whole, mpk_digest_bytes(kind));
	return MPK_OK;
}

const char *mpk_digest_print(const uint8_t *digest, size_t bytes, char out[MPK_DIGEST_TEXT])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < bytes; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[2 * bytes] = '\0';
	return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/internal/digest_kinds.h"
#include "io/libcrypto.h"

/* The part of OpenSSL 3's EVP interface that is used (openssl/evp.h). The types are
 * opaque there, too. */
struct evp {
	void *(*ctx_new)(void);
	void (*ctx_free)(void *ctx);
	const void *(*sha256)(void);
	int (*init)(void *ctx, const void *type, void *engine);
	int (*update)(void *ctx, const void *data, size_t len);
	int (*final)(void *ctx, unsigned char *out, unsigned *len);
};

static const char *const names[] = {
	"EVP_MD_CTX_new",    "EVP_MD_CTX_free",  "EVP_sha256",
	"EVP_DigestInit_ex", "EVP_DigestUpdate", "EVP_DigestFinal_ex",
};

_Static_assert(sizeof(struct evp) == sizeof names / sizeof *names * sizeof(void *),
	       "one name for each function");

static const struct evp *load(struct mpk_error *err)
{
	static struct evp evp;
	static bool loaded;

	if (!loaded)
		loaded = mpk_libcrypto_load("SHA-256", names, MPK_ARRAY_COUNT(names), &evp, err) ==
			 MPK_OK;
	return loaded ? &evp : NULL;
}

static enum mpk_code broken(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_INTERNAL, "libcrypto failed to compute a SHA-256");
}

static enum mpk_code init(void **state, struct mpk_error *err)
{
	const struct evp *evp = load(err);
	void *ctx;

	if (!evp)
		return MPK_E_LOAD;
	ctx = evp->ctx_new();
	MPK_TRY_ALLOC(ctx, err);
	if (evp->init(ctx, evp->sha256(), NULL) != 1) {
		evp->ctx_free(ctx);
		return broken(err);
	}
	*state = ctx;
	return MPK_OK;
}

static enum mpk_code update(void *state, struct mpk_span bytes, struct mpk_error *err)
{
	return load(NULL)->update(state, bytes.data, bytes.len) == 1 ? MPK_OK : broken(err);
}

static enum mpk_code final(void *state, uint8_t *out, struct mpk_error *err)
{
	return load(NULL)->final(state, out, NULL) == 1 ? MPK_OK : broken(err);
}

static void fini(void *state)
{
	load(NULL)->ctx_free(state);
}

const struct mpk_digest_ops mpk_digest_sha256 = { "sha256", 32, init, update, final, fini };

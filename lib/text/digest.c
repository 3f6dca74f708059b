#include "text/digest.h"

#include <dlfcn.h>
#include <string.h>

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
	"EVP_MD_CTX_new", "EVP_MD_CTX_free", "EVP_sha256",
	"EVP_DigestInit_ex", "EVP_DigestUpdate", "EVP_DigestFinal_ex",
};

_Static_assert(sizeof(struct evp) == sizeof names / sizeof *names * sizeof(void *),
	       "one name for each function");

/* The library stays loaded: there is no moment at which nobody will want it again. */
static const struct evp *load(struct mpk_error *err)
{
	static struct evp evp;
	static bool loaded;
	void *symbols[MPK_ARRAY_COUNT(names)];
	void *lib;

	if (loaded)
		return &evp;
	lib = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		(void)mpk_fail(err, MPK_E_LOAD,
			       "SHA-256 needs OpenSSL's libcrypto.so.3, which cannot be loaded; "
			       "install OpenSSL 3 (Debian: apt install libssl3)");
		return NULL;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++) {
		symbols[i] = dlsym(lib, names[i]);
		if (!symbols[i]) {
			(void)mpk_fail(err, MPK_E_LOAD, "libcrypto.so.3 has no %s", names[i]);
			dlclose(lib);
			return NULL;
		}
	}
	memcpy(&evp, symbols, sizeof evp);
	loaded = true;
	return &evp;
}

static enum mpk_code broken(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_INTERNAL, "libcrypto failed to compute a SHA-256");
}

enum mpk_code mpk_digest_init(struct mpk_digest *d, struct mpk_error *err)
{
	const struct evp *evp = load(err);
	void *ctx;

	if (!evp)
		return MPK_E_LOAD;
	ctx = evp->ctx_new();
	if (!ctx)
		return mpk_fail_nomem(err);
	if (evp->init(ctx, evp->sha256(), NULL) != 1) {
		evp->ctx_free(ctx);
		return broken(err);
	}
	d->ctx = ctx;
	return MPK_OK;
}

enum mpk_code mpk_digest_update(struct mpk_digest *d, struct mpk_span bytes,
				struct mpk_error *err)
{
	return load(NULL)->update(d->ctx, bytes.data, bytes.len) == 1 ? MPK_OK : broken(err);
}

enum mpk_code mpk_digest_final(struct mpk_digest *d, uint8_t out[MPK_DIGEST_BYTES],
			       struct mpk_error *err)
{
	return load(NULL)->final(d->ctx, out, NULL) == 1 ? MPK_OK : broken(err);
}

void mpk_digest_fini(struct mpk_digest *d)
{
	if (d->ctx)
		load(NULL)->ctx_free(d->ctx);
	d->ctx = NULL;
}

enum mpk_code mpk_digest_of(struct mpk_span bytes, uint8_t out[MPK_DIGEST_BYTES],
			    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { 0 };

	MPK_TRY(mpk_digest_init(&d, err));
	MPK_TRY(mpk_digest_update(&d, bytes, err));
	return mpk_digest_final(&d, out, err);
}

const char *mpk_digest_print(const uint8_t digest[MPK_DIGEST_BYTES], char out[MPK_DIGEST_TEXT])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < MPK_DIGEST_BYTES; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[MPK_DIGEST_TEXT - 1] = '\0';
	return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined from the library's header: a program that hashes nothing does not load it. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/internal/digest_kinds.h"

static enum mpk_code init(void **state, struct mpk_error *err)
{
	XXH3_state_t *s = XXH3_createState();

	MPK_TRY_ALLOC(s, err);
	(void)XXH3_128bits_reset(s);
	*state = s;
	return MPK_OK;
}

static enum mpk_code update(void *state, struct mpk_span bytes, struct mpk_error *err)
{
	(void)err;
	if (bytes.len) /* an empty view may have no address */
		(void)XXH3_128bits_update(state, bytes.data, bytes.len);
	return MPK_OK;
}

static enum mpk_code final(void *state, uint8_t *out, struct mpk_error *err)
{
	XXH128_canonical_t digest;

	(void)err;
	XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state));
	memcpy(out, digest.digest, sizeof digest.digest);
	return MPK_OK;
}

static void fini(void *state)
{
	(void)XXH3_freeState(state);
}

const struct mpk_digest_ops mpk_digest_xxh128 = { "xxh128", sizeof(XXH128_canonical_t),
						  init,     update,
						  final,    fini };

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/digest.h"

#include <stdlib.h>
#include <string.h>

#include "io/internal/digest_kinds.h"
#include "io/reader.h"

static const struct mpk_digest_ops *ops_of(enum mpk_digest_kind kind)
{
	return kind == MPK_DIGEST_SHA256 ? &mpk_digest_sha256 : &mpk_digest_xxh128;
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

static enum mpk_code add_all(struct mpk_digest *d, struct mpk_reader *r, const struct mpk_tap *tap,
			     struct mpk_error *err)
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
	struct mpk_reader *r = malloc(sizeof *r);

	MPK_TRY_ALLOC(r, err);
	mpk_reader_init(r, rope);
	enum mpk_code code = add_all(d, r, tap, err);
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

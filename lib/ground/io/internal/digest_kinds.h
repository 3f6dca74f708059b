/* SPDX-License-Identifier: Apache-2.0 */
/* digest_kinds.h - what each kind of digest is made with (internal) */
#ifndef MPK_IO_INTERNAL_DIGEST_KINDS_H
#define MPK_IO_INTERNAL_DIGEST_KINDS_H

#include "base/error.h"
#include "base/span.h"

struct mpk_digest_ops {
	const char *name;
	size_t bytes;
	enum mpk_code (*init)(void **state, struct mpk_error *err);
	enum mpk_code (*update)(void *state, struct mpk_span bytes, struct mpk_error *err);
	enum mpk_code (*final)(void *state, uint8_t *out, struct mpk_error *err);
	void (*fini)(void *state);
};

extern const struct mpk_digest_ops mpk_digest_xxh128, mpk_digest_sha256;

#endif

/* mkind.h - what a manifest may say about a module of each kind that is packed from parts
 *
 * Kinds without a row are packed from bytes: `payload`.
 */
#ifndef MPK_MANIFEST_MKIND_H
#define MPK_MANIFEST_MKIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

#define MPK_KIND_HOST "host"

enum { MPK_MKIND_FORMATS = 5, MPK_MKIND_KEYS = 4 };

struct mpk_mkind_key {
	const char *name;
	bool required;
};

struct mpk_mkind {
	const char *name;                          /* what `kind` says */
	const char *key;                           /* what the blob says */
	bool device;                               /* takes data, format and [[module.function]] */
	const char *formats[MPK_MKIND_FORMATS];    /* device: what `format` may say; NULL ends */
	struct mpk_mkind_key keys[MPK_MKIND_KEYS]; /* others: keys of their own; NULL ends */
};

/* mpk_mkind_find - the row for a kind, or NULL */
const struct mpk_mkind *mpk_mkind_find(struct mpk_span name);

/* mpk_mkind_at - the i-th row, NULL past the end */
const struct mpk_mkind *mpk_mkind_at(size_t i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - what a manifest may say about a module of each kind that is packed from parts
 *
 * Kinds without a row are packed from bytes: `payload`.
 */
#ifndef MPK_MANIFEST_KIND_H
#define MPK_MANIFEST_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

#define MPK_KIND_HOST "host"

enum { MPK_MANIFEST_KIND_FORMATS = 5, MPK_MANIFEST_KIND_KEYS = 4 };

struct mpk_manifest_kind_key {
	const char *name;
	bool required;
};

struct mpk_manifest_kind {
	const char *name; /* what `kind` says */
	const char *key;  /* what the blob says */
	bool device;      /* takes data, format and [[module.function]] */
	const char
		*formats[MPK_MANIFEST_KIND_FORMATS]; /* device: what `format` may say; NULL ends */
	struct mpk_manifest_kind_key
		keys[MPK_MANIFEST_KIND_KEYS]; /* others: keys of their own; NULL ends */
};

/* mpk_manifest_kind_find - the row for a kind, or NULL */
const struct mpk_manifest_kind *mpk_manifest_kind_find(struct mpk_span name);

/* mpk_manifest_kind_at - the i-th row, NULL past the end */
const struct mpk_manifest_kind *mpk_manifest_kind_at(size_t i);

#endif

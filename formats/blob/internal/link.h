/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - the import tree as stored, and the child lists made from it (blob/ only) */
#ifndef MPK_BLOB_INTERNAL_LINK_H
#define MPK_BLOB_INTERNAL_LINK_H

#include "base/cursor.h"
#include "blob/blob.h"

/* The legacy item that holds the tree; it takes no module index. */
#define MPK_KIND_TREE "_import_tree"

/* Two vec<u64>, unchecked. */
struct mpk_links {
	struct mpk_span rows, child;  /* the elements, 8 bytes each */
	uint64_t rows_off, child_off; /* offsets of the elements, for messages */
};

/* mpk_links_read - both vectors, as views; nothing is checked but that they fit
 * Returns  MPK_OK; MPK_E_CORRUPT, and c stays where it was */
enum mpk_code mpk_links_read(struct mpk_cursor *c, struct mpk_links *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_links_apply - check the vectors against tree->count and set every child list
 * A truncated tree has fewer nodes than rows: children that are missing are left out.
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_links_apply(const struct mpk_links *links, struct mpk_arena *arena,
			      struct mpk_tree *tree, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* legacy.h - reading the item list of TVM 0.2 - 0.21 (blob/ only) */
#ifndef MPK_BLOB_INTERNAL_LEGACY_H
#define MPK_BLOB_INTERNAL_LEGACY_H

#include "base/cursor.h"
#include "blob/blob.h"
#include "blob/internal/link.h"

struct mpk_legacy {
	struct mpk_cursor c; /* over the whole blob, so that positions are blob offsets */
	struct mpk_arena *arena;
	struct mpk_tree *tree; /* gen is set; nodes are added */
	size_t items, done;    /* items the header announces, items read */
	struct mpk_links links;
	bool has_links;
};

/* mpk_legacy_read - items from the cursor on; fills tree except nbytes
 * Returns  as mpk_blob_read */
enum mpk_code mpk_legacy_read(struct mpk_legacy *r, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_legacy_recover - find the end of the payload at the cursor, whose kind is unknown
 * @node    kind and payload_off are set; payload and opaque are filled in
 * Moves the cursor behind the payload. When modules follow that cannot be told apart,
 * the tree becomes truncated and the cursor stands before the import tree or at the end. */
void mpk_legacy_recover(struct mpk_legacy *r, struct mpk_node *node);

#endif

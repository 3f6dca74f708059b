/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - composite fields that several payloads have
 *
 * str, vec and map of the module blob: blob/FORMAT.md 1. */
#ifndef MPK_FORMATS_WIRE_H
#define MPK_FORMATS_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

/* A vec<str>: views in the order of the bytes. */
struct mpk_strs {
	const struct mpk_span *items;
	size_t count;
};

/* mpk_read_strs - read a u64 count and that many str
 * @out     views of the cursor's bytes, the array in arena
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_read_strs(struct mpk_cursor *c, const char *what, struct mpk_arena *arena,
			    struct mpk_strs *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_read_words - read a u64 count and that many elements of `each` bytes, as one view
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_read_words(struct mpk_cursor *c, const char *what, size_t each,
			     struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_rope_put_strs - append what mpk_read_strs reads */
void mpk_rope_put_strs(struct mpk_rope *r, struct mpk_strs strs);

/* mpk_rope_put_words - append what mpk_read_words reads; words are borrowed until r is written */
void mpk_rope_put_words(struct mpk_rope *r, struct mpk_span words, size_t each);

/* mpk_rope_put_blob - append a u64 length and the bytes, which are borrowed until r is written */
void mpk_rope_put_blob(struct mpk_rope *r, struct mpk_span s);

/* mpk_item_follows - whether a payload may end at c: no bytes are left, or (unbounded: in the
 * legacy container, which stores no length of a payload) the kind of a module follows */
bool mpk_item_follows(const struct mpk_cursor *c, bool unbounded);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* rope.h - bytes to be written, as a list of pieces that are not copied together
 *
 * A piece is bytes in memory or a range of an open file. The total length is known
 * before anything is written; a gigabyte of weights costs one piece. Small values are
 * collected in the arena. A failed allocation or an overflow of the total is
 * remembered: append freely, then check mpk_rope_status once.
 */
#ifndef MPK_BASE_ROPE_H
#define MPK_BASE_ROPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_piece {
	const uint8_t *data; /* bytes in memory, borrowed; NULL: a file range */
	int fd;              /* file range: an open descriptor, borrowed; else -1 */
	uint64_t off;        /* file range: where it begins, bytes */
	uint64_t len;        /* bytes; never 0 */
};

/* Initialise with mpk_rope_of(arena); pieces and small values live in that arena. */
struct mpk_rope {
	struct mpk_arena *arena;
	struct mpk_piece *pieces;
	size_t count, cap;
	uint64_t len; /* total bytes */
	/* where the next small value goes; directly after the last piece if that is small; NULL:
	 * no block yet */
	uint8_t *tail;
	size_t tail_left; /* bytes free at tail */
	bool failed;
};

static inline struct mpk_rope mpk_rope_of(struct mpk_arena *arena)
{
	return (struct mpk_rope){ .arena = arena };
}

/* mpk_rope_put_* - little-endian integers */
void mpk_rope_put_u8(struct mpk_rope *r, uint8_t v);
void mpk_rope_put_u16(struct mpk_rope *r, uint16_t v);
void mpk_rope_put_u32(struct mpk_rope *r, uint32_t v);
void mpk_rope_put_u64(struct mpk_rope *r, uint64_t v);

/* mpk_rope_put_bytes - a copy of the bytes (for small things that will not live on) */
void mpk_rope_put_bytes(struct mpk_rope *r, struct mpk_span s);

/* mpk_rope_put_str - u64 length and a copy of the bytes */
void mpk_rope_put_str(struct mpk_rope *r, struct mpk_span s);

/* mpk_rope_put_view - the bytes themselves; borrowed until the rope is written */
void mpk_rope_put_view(struct mpk_rope *r, struct mpk_span s);

/* mpk_rope_put_file - len bytes of an open file from off; fd borrowed until written */
void mpk_rope_put_file(struct mpk_rope *r, int fd, uint64_t off, uint64_t len);

/* mpk_rope_put_rope - all pieces of another rope (which must live as long as r) */
void mpk_rope_put_rope(struct mpk_rope *r, const struct mpk_rope *other);

/* mpk_rope_status - MPK_OK; MPK_E_NOMEM when any append failed */
enum mpk_code mpk_rope_status(const struct mpk_rope *r, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_rope_equals - whether the content equals these bytes; false also when the rope has a file
 * range, which is not read */
bool mpk_rope_equals(const struct mpk_rope *r, struct mpk_span bytes);

/* mpk_rope_flat - the whole content as one view, in the rope's arena
 * For ropes without file ranges (tests, small payloads).
 * Returns  MPK_OK; MPK_E_NOMEM; MPK_E_INTERNAL when there is a file range */
enum mpk_code mpk_rope_flat(const struct mpk_rope *r, struct mpk_span *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif

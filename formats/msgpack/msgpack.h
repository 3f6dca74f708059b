/* SPDX-License-Identifier: Apache-2.0 */
/* msgpack.h - MessagePack, one value after the other (FORMAT.md)
 *
 * No tree is built: the reader of a map reads its size, then its keys and values in turn, and skips
 * unknown ones. So a file decides neither how much memory is allocated nor how deep calls nest. */
#ifndef MPK_FORMATS_MSGPACK_MSGPACK_H
#define MPK_FORMATS_MSGPACK_MSGPACK_H

#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/span.h"

enum mpk_msgpack_type {
	MPK_MSGPACK_NIL,
	MPK_MSGPACK_BOOL,
	MPK_MSGPACK_UINT,
	MPK_MSGPACK_INT, /* negative */
	MPK_MSGPACK_FLOAT,
	MPK_MSGPACK_STR,
	MPK_MSGPACK_BIN,
	MPK_MSGPACK_EXT, /* with time stamps */
	MPK_MSGPACK_ARRAY,
	MPK_MSGPACK_MAP,
};

struct mpk_msgpack {
	enum mpk_msgpack_type type;
	uint64_t number;       /* BOOL, UINT; INT: two's complement; FLOAT: its bits as stored */
	struct mpk_span bytes; /* STR, BIN, EXT: a view of the input */
	uint32_t count;        /* ARRAY: elements that follow; MAP: pairs that follow */
};

/* mpk_msgpack_next - read the next value; for an array or a map only its head
 * Returns  MPK_OK; MPK_E_CORRUPT: cut off, an invalid first byte, more elements than bytes left.
 *          Then the cursor has not moved. */
enum mpk_code mpk_msgpack_next(struct mpk_cursor *c, struct mpk_msgpack *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_msgpack_skip - skip the next value with everything in it; linear in its bytes, whatever its
 * depth
 * Returns  as mpk_msgpack_next; on failure the cursor may be within the value */
enum mpk_code mpk_msgpack_skip(struct mpk_cursor *c, struct mpk_error *err) MPK_MUST_CHECK;

#endif

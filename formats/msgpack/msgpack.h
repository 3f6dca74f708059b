/* SPDX-License-Identifier: Apache-2.0 */
/* msgpack.h - MessagePack, one value after the other (FORMAT.md)
 *
 * Nothing is built from the bytes: whoever reads a map asks for its size, then for its keys and
 * values in turn, and skips what it does not know. So a file decides neither how much memory is
 * taken nor how deep the stack gets.
 */
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
	MPK_MSGPACK_EXT, /* also time stamps */
	MPK_MSGPACK_ARRAY,
	MPK_MSGPACK_MAP,
};

struct mpk_msgpack {
	enum mpk_msgpack_type type;
	uint64_t number;       /* BOOL, UINT; INT: two's complement; FLOAT: its bits as stored */
	struct mpk_span bytes; /* STR, BIN, EXT: a view of what is read */
	uint32_t count;        /* ARRAY: elements that follow; MAP: pairs that follow */
};

/* mpk_msgpack_next - the next value; of an array or a map its head alone
 * Returns  MPK_OK; MPK_E_CORRUPT: cut off, a byte that begins no value, more elements than there
 *          are bytes for. The cursor is then where it was. */
enum mpk_code mpk_msgpack_next(struct mpk_cursor *c, struct mpk_msgpack *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_msgpack_skip - the next value with all that is in it; linear in its bytes, whatever its depth
 * Returns  as mpk_msgpack_next; the cursor may then be within the value */
enum mpk_code mpk_msgpack_skip(struct mpk_cursor *c, struct mpk_error *err) MPK_MUST_CHECK;

#endif

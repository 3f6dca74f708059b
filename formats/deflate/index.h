/* SPDX-License-Identifier: Apache-2.0 */
/* index.h - parts of a deflate stream, without all of its content in memory
 *
 * A deflate stream can only be decoded from its beginning. So it is decoded once, which also checks it, and the
 * state of the decoder is kept at regular intervals of the content, some 40 KiB each: a part is made again by
 * decoding from the last state in front of it.
 */
#ifndef MPK_FORMATS_DEFLATE_INDEX_H
#define MPK_FORMATS_DEFLATE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "deflate/deflate.h"

struct mpk_deflate_index;

/* Receives the content once, in order, in pieces of at most MPK_DEFLATE_SINK_BYTES. A piece is gone after the call. */
struct mpk_deflate_sink {
	void (*put)(void *arg, uint64_t off, struct mpk_span piece);
	void *arg;
};

enum { MPK_DEFLATE_SINK_BYTES = 256 * 1024 };

/* mpk_deflate_index_build - decode and check a bare deflate stream
 * @bytes     the stream, borrowed as long as the index is used; nothing may follow it
 * @limit     refuse more bytes of content than this
 * @interval  bytes of content between two states
 * @reader    or NULL; its function must be async-signal-safe if mpk_deflate_index_read has to be
 * @arena     receives the index; it has to stay as long
 * Returns    as mpk_deflate_read, with the same errors */
enum mpk_code mpk_deflate_index_build(struct mpk_span bytes, uint64_t limit, size_t interval,
				      const struct mpk_deflate_reader *reader,
				      const struct mpk_deflate_sink *sink, struct mpk_arena *arena,
				      struct mpk_deflate_index **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_deflate_index_bytes - how long the content is */
uint64_t mpk_deflate_index_bytes(const struct mpk_deflate_index *x);

/* mpk_deflate_index_read - make a part of the content again
 * Takes no memory and no lock: a signal handler may call it.
 * @from    a multiple of the interval, or where the last call ended
 * @into    receives len bytes
 * Returns  false: there is no such part, or the stream has changed since */
bool mpk_deflate_index_read(struct mpk_deflate_index *x, uint64_t from, uint8_t *into, size_t len);

#endif

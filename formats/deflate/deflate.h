/* SPDX-License-Identifier: Apache-2.0 */
/* deflate.h - compressed bytes, through zlib: gzip files and zip members (FORMAT.md)
 *
 * Decoding runs twice: once to learn (and bound) the length, once into memory of exactly
 * that size. A length field in the input is believed only as far as such data usually unpack.
 */
#ifndef MPK_FORMATS_DEFLATE_DEFLATE_H
#define MPK_FORMATS_DEFLATE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* mpk_deflate_limit - what so many packed bytes may unpack to: 64 MiB and 128 times as much
 * The format reaches 1032 times; objects and weights stay below 20. */
uint64_t mpk_deflate_limit(uint64_t packed);

/* mpk_gzip_is - whether the bytes begin as a gzip file of deflated data does */
bool mpk_gzip_is(struct mpk_span bytes);

/* mpk_gzip_read - the content of a gzip file
 * @bytes   the whole file; several gzip members one after the other give their
 *          contents together, zeros after the last are padding
 * @limit   refuse more bytes than this
 * @arena   receives the content
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file" (not gzip, broken or cut off
 *          data, wrong checksum); MPK_E_UNSUPPORTED (more than limit); MPK_E_NOMEM.
 * Format   FORMAT.md 1 (RFC 1952) */
enum mpk_code mpk_gzip_read(struct mpk_span bytes, uint64_t limit, struct mpk_arena *arena,
			    struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* Told of each piece of the packed bytes that will not be read again; NULL: nobody is. */
struct mpk_deflate_reader {
	void (*done)(void *arg, struct mpk_span bytes);
	void *arg;
};

/* mpk_deflate_read - the content of one bare deflate stream (a member of a zip file)
 * @bytes   the stream; nothing may follow it
 * @limit, @arena  as above; a limit of at most 20 times the stream is taken for what it unpacks to, and
 *          decoding runs once
 * @reader  or NULL
 * Returns  as above; a checksum is the caller's to check
 * Format   FORMAT.md 2 (RFC 1951) */
enum mpk_code mpk_deflate_read(struct mpk_span bytes, uint64_t limit,
			       const struct mpk_deflate_reader *reader, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_deflate_head - the first bytes of what a bare deflate stream unpacks to; no more of it is decoded
 * Returns  how many there are, at most cap; less than there are, or 0, where the stream is broken or memory is out */
size_t mpk_deflate_head(struct mpk_span bytes, uint8_t *into, size_t cap);

/* --- parts of a deflate stream, without all of its content in memory --------------------------------
 *
 * A deflate stream can only be decoded from its beginning. So it is decoded once, which also checks it, and the
 * state of the decoder is kept at regular intervals of the content, some 40 KiB each: a part is made again by
 * decoding from the last state in front of it. */

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

/* mpk_deflate_index_read - make a part of the content again
 * Takes no memory and no lock: a signal handler may call it.
 * @from    a multiple of the interval, or where the last call ended
 * @into    receives len bytes
 * Returns  false: there is no such part, or the stream has changed since */
bool mpk_deflate_index_read(struct mpk_deflate_index *x, uint64_t from, uint8_t *into, size_t len);

#endif

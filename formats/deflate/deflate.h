/* SPDX-License-Identifier: Apache-2.0 */
/* deflate.h - decompression by zlib: gzip files and zip members (FORMAT.md)
 *
 * Data is decoded twice: first to find the length, within a limit, then into memory of exactly that
 * size. A length field in the input is trusted only as far as such data usually decompresses. */
#ifndef MPK_FORMATS_DEFLATE_DEFLATE_H
#define MPK_FORMATS_DEFLATE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* mpk_deflate_limit - the most bytes to which packed bytes may decompress: 64 MiB plus 128 times as
 * many
 * The format allows 1032 times as many; objects and weights stay below 20 times. */
uint64_t mpk_deflate_limit(uint64_t packed);

/* mpk_gzip_is - whether the bytes begin with the header of a gzip file */
bool mpk_gzip_is(struct mpk_span bytes);

/* mpk_gzip_read - decompress a gzip file
 * @bytes   the whole file; the contents of several gzip members are joined, and zeros after the
 *          last are padding
 * @limit   most bytes of content
 * @arena   receives the content
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file" (not gzip, broken or cut off data, wrong
 *          checksum); MPK_E_UNSUPPORTED (more than limit); MPK_E_NOMEM.
 * Format   FORMAT.md 1 (RFC 1952) */
enum mpk_code mpk_gzip_read(struct mpk_span bytes, uint64_t limit, struct mpk_arena *arena,
			    struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* Called with each part of the compressed bytes that will not be read again; may be NULL. */
struct mpk_deflate_reader {
	void (*done)(void *arg, struct mpk_span bytes);
	void *arg;
};

/* mpk_deflate_read - decompress a bare deflate stream (a member of a zip file)
 * @bytes   the stream; nothing may follow it
 * @limit, @arena  as for mpk_gzip_read; a limit of at most 20 times the stream is taken for the
 *          length of the content, and the stream is decoded once
 * @reader  or NULL
 * Returns  as mpk_gzip_read; the caller checks the checksum
 * Format   FORMAT.md 2 (RFC 1951) */
enum mpk_code mpk_deflate_read(struct mpk_span bytes, uint64_t limit,
			       const struct mpk_deflate_reader *reader, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_deflate_head - decompress only the first bytes of a bare deflate stream
 * Returns  their number, at most cap; fewer, or 0, if the stream is broken or memory is out */
size_t mpk_deflate_head(struct mpk_span bytes, uint8_t *into, size_t cap);

/* --- parts of a deflate stream, without all of its content in memory
 * --------------------------------
 *
 * A deflate stream can only be decoded from its beginning. So it is decoded once, which also checks
 * it, and copies of the decoder's state are kept at regular intervals of the content, about 40 KiB
 * each. A part is decoded again from the last state before it. */

struct mpk_deflate_index;

/* Receives the content once, in order, in pieces of at most MPK_DEFLATE_SINK_BYTES. A piece is
 * valid only during the call. */
struct mpk_deflate_sink {
	void (*put)(void *arg, uint64_t off, struct mpk_span piece);
	void *arg;
};

enum { MPK_DEFLATE_SINK_BYTES = 256 * 1024 };

/* mpk_deflate_index_build - decode and check a bare deflate stream
 * @bytes     the stream, borrowed as long as the index is used; nothing may follow it
 * @limit     most bytes of content
 * @interval  bytes of content between two states
 * @reader    or NULL; its function must be async-signal-safe if mpk_deflate_index_read has to be
 * @arena     receives the index, and must live as long
 * Returns    as mpk_deflate_read */
enum mpk_code mpk_deflate_index_build(struct mpk_span bytes, uint64_t limit, size_t interval,
				      const struct mpk_deflate_reader *reader,
				      const struct mpk_deflate_sink *sink, struct mpk_arena *arena,
				      struct mpk_deflate_index **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_deflate_index_read - decode a part of the content again
 * Allocates nothing and takes no lock: a signal handler may call it.
 * @from    a multiple of the interval, or the end of the last call
 * @into    receives len bytes
 * Returns  false: there is no such part, or the stream has changed since */
bool mpk_deflate_index_read(struct mpk_deflate_index *x, uint64_t from, uint8_t *into, size_t len);

#endif

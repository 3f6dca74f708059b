/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - the bytes of a rope in order, chunk by chunk, whatever its pieces are */
#ifndef MPK_IO_READER_H
#define MPK_IO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

/* --- a part of a file, mapped for a moment ---
 *
 * Reading through a window spares the copy into a buffer of ours; because a window is
 * small, a file of any size costs a few MiB at its peak. Holes of a sparse file are shown
 * as zeros that are nobody's pages.
 */

enum {
	MPK_WINDOW_BYTES = 4 * 1024 * 1024, /* most bytes that are mapped at a time */
	MPK_WINDOW_LEAST = 64 * 1024        /* a shorter range is cheaper to read than to map */
};

/* Zero-initialise. */
struct mpk_window {
	void *base; /* the mapping; NULL: closed, or the window is a hole */
	size_t len;
	struct mpk_span bytes; /* bytes of the file, from the requested offset */
};

/* mpk_window_measure - how many bytes from off on, at most len, are all data or all hole
 * Moves the descriptor's position when the file is sparse.
 * Returns  0 when the range is shorter than MPK_WINDOW_LEAST or goes beyond the file's
 *          end, or the file cannot be mapped */
uint64_t mpk_window_measure(int fd, uint64_t off, uint64_t len, bool *hole);

/* mpk_window_hole - how many bytes at the beginning of part are a hole of a mapped file, which
 * reads as zeros; 0 for other memory
 * Moves the descriptor's position when the file is sparse. */
uint64_t mpk_window_hole(struct mpk_span part);

/* mpk_window_open - map the first bytes of a range of a file, at most MPK_WINDOW_BYTES
 * Moves the descriptor's position when the file is sparse.
 * @w       closed; w->bytes is then a non-empty beginning of the range
 * Returns  false when the range is shorter than MPK_WINDOW_LEAST, goes beyond the
 *          file's end, or the file cannot be mapped (a pipe): read it instead */
bool mpk_window_open(int fd, uint64_t off, uint64_t len, struct mpk_window *w);

/* mpk_window_close - unmap; safe on a closed window */
void mpk_window_close(struct mpk_window *w);

/* --- a rope, piece by piece --- */

enum { MPK_READER_BYTES = 64 * 1024 };

/* 64 KiB: allocate it on the heap. File ranges are mapped in windows; what cannot be mapped is
 * read into the buffer. */
struct mpk_reader {
	const struct mpk_rope *rope;
	size_t piece;
	uint64_t at; /* bytes of that piece that were returned already */
	struct mpk_window window;
	uint8_t buffer[MPK_READER_BYTES];
};

/* mpk_reader_init - begin at the first byte of a rope, which is borrowed */
void mpk_reader_init(struct mpk_reader *r, const struct mpk_rope *rope);

/* mpk_reader_fini - close the window; safe to call twice */
void mpk_reader_fini(struct mpk_reader *r);

/* mpk_reader_next - the next bytes; empty at the end
 * @out     a view that is valid until the next call
 * Returns  MPK_OK; MPK_E_IO (also when a file range ends early) */
enum mpk_code mpk_reader_next(struct mpk_reader *r, struct mpk_span *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_rope_load - the whole rope in memory, file ranges included
 * @out     a view in arena, or of the only piece when that is in memory
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_rope_load(const struct mpk_rope *rope, struct mpk_arena *arena,
			    struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- a rope as one run of bytes, for readers that want its payload whole --- */

/* Zero-initialise; fill with mpk_flat_open; mpk_flat_close. */
struct mpk_flat {
	struct mpk_span bytes; /* valid until mpk_flat_close, and as long as the rope's pieces */
	void *base;            /* the mapping; NULL: none */
	size_t mapped;         /* bytes from base on */
};

/* mpk_flat_open - see the whole content of a rope
 * A rope of one piece in memory is that piece. Of others the largest range of a file is mapped,
 * so that it does not count as memory; the rest is copied.
 * Returns  MPK_OK; MPK_E_IO (also when a file range ends early); MPK_E_NOMEM. On failure *out
 *          stays closed. */
enum mpk_code mpk_flat_open(const struct mpk_rope *rope, struct mpk_flat *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_flat_close - release; safe on a zeroed or closed one */
void mpk_flat_close(struct mpk_flat *flat);

#endif

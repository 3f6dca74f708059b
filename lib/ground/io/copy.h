/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - bytes from memory and files to a descriptor, at the speed of the disk */
#ifndef MPK_IO_COPY_H
#define MPK_IO_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

/* Observes bytes while they are copied, for example a digest, which then needs no second reading.
 * Called once for every byte, in order, never concurrently; for large ranges from another
 * thread. */
struct mpk_tap {
	void (*see)(void *data, struct mpk_span bytes);
	void *data;
};

/* mpk_copy_range - len bytes from one descriptor's offset to another's, or to its current
 * position when out_off is NULL
 * Uses copy_file_range where that can share extents or spares a network; else read and
 * write, chunk by chunk, which between offsets that differ within a page is faster than
 * copy_file_range and than writing out of a mapping. A pipe as @in is read from its
 * current position. Holes arrive as zeros and are not read. The blocks are reserved first where that
 * helps, so that a disk too full for the range fails before its first byte.
 * Returns  MPK_OK; MPK_E_IO (also when @in ends early, and after mpk_copy_stop);
 *          MPK_E_NOMEM */
enum mpk_code mpk_copy_range(int in, uint64_t in_off, int out, const uint64_t *out_off,
			     uint64_t len, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_copy_stop - fail every copy of this process from now on; async-signal-safe, so that a
 * handler can end work that then cleans up after itself */
void mpk_copy_stop(void);

/* mpk_copy_watch - call moved with the number of bytes just copied, after every chunk of a file
 * range, in the copying thread. Applies to the whole process; NULL ends it */
void mpk_copy_watch(void (*moved)(uint64_t bytes));

/* mpk_copy_tell - report bytes that were read or written by other means to the watcher
 * (mpk_copy_watch) */
void mpk_copy_tell(uint64_t bytes);

/* mpk_write_all - write bytes at *off, leaving the descriptor's position alone; off NULL: write at
 * that position
 * Returns  false with errno */
bool mpk_write_all(int fd, struct mpk_span bytes, const uint64_t *off);

/* mpk_write_pieces - append pieces of a rope to out at its current position
 * Neighbouring pieces in memory are gathered into one system call.
 * @tap     sees every byte; may be NULL
 * Returns  as mpk_copy_range */
enum mpk_code mpk_write_pieces(int out, const struct mpk_piece *pieces, size_t count,
			       const struct mpk_tap *tap, struct mpk_error *err) MPK_MUST_CHECK;

#endif

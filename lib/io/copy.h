/* copy.h - bytes from memory and files to a descriptor, at the speed of the disk */
#ifndef MPK_IO_COPY_H
#define MPK_IO_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rope.h"

/* mpk_copy_range - len bytes from one descriptor's offset to another's, or to its current
 * position when out_off is NULL
 * Uses copy_file_range (which shares extents where the file system can) and falls back
 * to read and write: other file systems, pipes, terminals. A pipe as @in is read from
 * where it stands. Holes of a sparse input arrive as zeros.
 * Returns  MPK_OK; MPK_E_IO (also when @in ends early); MPK_E_NOMEM */
enum mpk_code mpk_copy_range(int in, uint64_t in_off, int out, const uint64_t *out_off,
			     uint64_t len, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_write_pieces - append pieces of a rope to out at its current position
 * Neighbouring pieces in memory are gathered into one system call.
 * Returns  as mpk_copy_range */
enum mpk_code mpk_write_pieces(int out, const struct mpk_piece *pieces, size_t count,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - a part of a file, mapped for a moment
 *
 * Reading through a window spares the copy into a buffer of ours; because a window is
 * small, a file of any size costs a few MiB at its peak. Holes of a sparse file are shown
 * as zeros that are nobody's pages.
 */
#ifndef MPK_IO_INTERNAL_WINDOW_H
#define MPK_IO_INTERNAL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum {
	MPK_WINDOW_BYTES = 4 * 1024 * 1024, /* most that is mapped at a time */
	MPK_WINDOW_LEAST = 64 * 1024        /* below, reading is cheaper */
};

/* Zero-initialise. */
struct mpk_window {
	void *base; /* mapped; NULL: closed, or a hole */
	size_t len;
	struct mpk_span bytes; /* of the file, from the offset that was asked for */
};

/* mpk_window_measure - how many of len bytes from off on are alike: data, or a hole
 * Moves the descriptor's own position when the file is sparse.
 * Returns  0 when the range is shorter than MPK_WINDOW_LEAST or leaves the file, or the file
 *          is none that could be mapped */
uint64_t mpk_window_measure(int fd, uint64_t off, uint64_t len, bool *hole);

/* mpk_window_open - map the first bytes of a range of a file, at most MPK_WINDOW_BYTES
 * Moves the descriptor's own position when the file is sparse.
 * @w       closed; w->bytes is then a non-empty beginning of the range
 * Returns  false when the range is shorter than MPK_WINDOW_LEAST, leaves the file, or the
 *          file cannot be mapped (a pipe): read it instead */
bool mpk_window_open(int fd, uint64_t off, uint64_t len, struct mpk_window *w);

/* mpk_window_close - unmap; safe on a closed window */
void mpk_window_close(struct mpk_window *w);

#endif

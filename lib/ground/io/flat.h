/* SPDX-License-Identifier: Apache-2.0 */
/* flat.h - a rope as one run of bytes, for readers that want its payload whole */
#ifndef MPK_IO_FLAT_H
#define MPK_IO_FLAT_H

#include <stddef.h>

#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

/* Zero-initialise; fill with mpk_flat_open; mpk_flat_close. */
struct mpk_flat {
	struct mpk_span bytes; /* valid until close, and as long as the rope's pieces are */
	void *base;            /* what is mapped for it; NULL: nothing */
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

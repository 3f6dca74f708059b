/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h - digests of a blob, and of the one it is made from, while it is written
 *
 * Most bytes of an edited blob are those of the old one: each is read once, copied, and
 * added to both digests while it is at hand.
 */
#ifndef MPK_EMIT_INTERNAL_FOLLOW_H
#define MPK_EMIT_INTERNAL_FOLLOW_H

#include "base/error.h"
#include "base/rope.h"
#include "io/digest.h"
#include "io/output.h"

struct mpk_follow {
	const struct mpk_rope *rope; /* all bytes that are written */
	uint64_t at, len;            /* where the blob is in them: a run of whole pieces */
	const struct mpk_piece *old; /* the old blob, a range of a file that the rope may have
				      * ranges of; NULL: none is asked for */
};

/* mpk_follow_write - append the rope to o
 * @digest  receives the XXH128 of the blob
 * @old     receives that of the old blob, whether the rope has all of it or not; untouched
 *          without one
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_follow_write(const struct mpk_follow *f, struct mpk_output *o,
			       uint8_t digest[MPK_DIGEST_BYTES], uint8_t old[MPK_DIGEST_BYTES],
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif

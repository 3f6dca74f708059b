/* SPDX-License-Identifier: Apache-2.0 */
/* copier.h - what a child prints, on its way to a descriptor that the child does not have; for this room only
 *
 * Who has a descriptor can do more with it than write: cut a log to nothing, go back in it, let it not wait,
 * stop the terminal that it is. A pipe holds nothing but what was written.
 */
#ifndef MPK_PROCESS_INTERNAL_COPIER_H
#define MPK_PROCESS_INTERNAL_COPIER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Zero-initialise; mpk_copier_open; mpk_copier_close in every case. */
struct mpk_copier {
	bool is_open;
	int in;    /* of the pipe; does not wait */
	int child; /* its other end; -1 once it is the child's alone */
	int out;
	uint64_t bytes_max; /* that are copied; 0: all; with a limit the text is made safe, too */
	uint64_t bytes;     /* that were read */
	bool is_broken;     /* nothing more can be written: it is read and lost */
	struct mpk_strbuf held; /* read and not written yet, from at on */
	size_t at;
};

/* mpk_copier_open - between a new pipe and out, a descriptor that stays the caller's
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_copier_open(int out, uint64_t bytes_max, struct mpk_copier *c,
			      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_copier_close(struct mpk_copier *c);

/* mpk_copier_started - the child has its end: close ours of it */
void mpk_copier_started(struct mpk_copier *c);

/* mpk_copier_wait_for - what poll is to wait for before the next step; a negative descriptor: nothing */
struct pollfd mpk_copier_wait_for(const struct mpk_copier *c);

/* mpk_copier_step - copy what there is without waiting, a few pages at most */
void mpk_copier_step(struct mpk_copier *c);

/* mpk_copier_drain - copy the rest, when the child has ended; waits for whoever reads */
void mpk_copier_drain(struct mpk_copier *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - counts and limits the memory of a runtime's tensors
 *
 * A runtime has one struct mpk_memory for the host and one for its other devices. Tensors are made
 * in many places that do not know the runtime. So a thread that works for a runtime first sets the
 * memory to charge (mpk_memory_swap). Memory is credited to the same runtime when any thread frees
 * it. Lists, names and mapped files are not counted. */
#ifndef MPK_VALUE_MEMORY_H
#define MPK_VALUE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "dtype/dtype.h"

/* Use of memory, for statistics. */
enum mpk_purpose {
	MPK_PURPOSE_SCRATCH, /* tensors of calls, and workspaces of functions */
	MPK_PURPOSE_WEIGHTS,
	MPK_PURPOSE_CACHE, /* keys and values, recurrent states */
	MPK_PURPOSE_COUNT
};

/* Where memory comes from. Zero: from the system, without a limit. */
struct mpk_memory_source {
	/* Functions of the caller; NULL: the system's or the driver's. allocate returns NULL if there is no
	 * memory. */
	void *(*allocate)(void *user, struct mpk_dldevice device, uint64_t bytes, uint64_t align);
	void (*release)(void *user, struct mpk_dldevice device, void *data, uint64_t bytes);
	void *user;
	uint64_t budget; /* limit in bytes; 0: no limit */
};

/* Counters; any thread may update them. */
struct mpk_memory {
	struct mpk_memory_source from;
	/* Frees memory that is kept for later use and returns its size in bytes. NULL: none is kept. */
	uint64_t (*trim)(void *owner);
	void *owner;
	atomic_ullong used, most;            /* bytes now, including kept memory; highest value so
					      * far */
	atomic_ullong of[MPK_PURPOSE_COUNT]; /* the part of `used` that is in use, by purpose */
	atomic_bool was_refused; /* a request failed because of the budget; the reader of the flag
				  * clears it */
};

enum { MPK_MEMORY_ALIGN = 128 }; /* alignment in bytes that a caller's allocate is asked for */

/* mpk_memory_count - count bytes before they are allocated
 * @m       NULL: nothing is counted
 * Returns  MPK_OK; MPK_E_BUDGET, if freeing kept memory was not enough
 * mpk_memory_uncount - undo it when the bytes are freed */
enum mpk_code mpk_memory_count(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose,
			       struct mpk_error *err) MPK_MUST_CHECK;
void mpk_memory_uncount(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose);

/* mpk_memory_keep - memory is no longer in use but kept for later; it still counts as used
 * mpk_memory_lend - kept memory is in use again */
void mpk_memory_keep(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose);
void mpk_memory_lend(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose);

/* mpk_memory_fail - report that the budget was exceeded
 * Returns  MPK_E_BUDGET */
enum mpk_code mpk_memory_fail(const struct mpk_memory *m, struct mpk_error *err);

/* mpk_memory_here, mpk_memory_swap - get or set what this thread's host memory is charged to; NULL:
 * nothing. Swap returns the previous value, which the caller must restore
 * mpk_purpose_here, mpk_purpose_swap - get or set the purpose; initially scratch */
struct mpk_memory *mpk_memory_here(void);
struct mpk_memory *mpk_memory_swap(struct mpk_memory *m);
enum mpk_purpose mpk_purpose_here(void);
enum mpk_purpose mpk_purpose_swap(enum mpk_purpose purpose);

#endif

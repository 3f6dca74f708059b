/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the memory that a runtime takes for tensors: who gives it, how much it is, how much it may be
 *
 * A runtime has one for the host and one for its other devices. Whoever calls it says in his thread that host memory is
 * taken for it from now on: tensors are made in many places, and none of them knows of a runtime. What was taken is given
 * back to the same one, by any thread. Lists and names are not counted, nor is what lies mapped in a file.
 */
#ifndef MPK_VALUE_MEMORY_H
#define MPK_VALUE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "dtype/dtype.h"

/* What memory is for. */
enum mpk_purpose {
	MPK_PURPOSE_SCRATCH, /* tensors of calls, and the workspaces of their functions */
	MPK_PURPOSE_WEIGHTS,
	MPK_PURPOSE_CACHE, /* keys and values, recurrent states */
	MPK_PURPOSE_COUNT
};

/* Zero: the system's memory, without a limit. */
struct mpk_memory_source {
	/* of the caller's; NULL: the system's or the driver's. allocate returns NULL where there is none */
	void *(*allocate)(void *user, struct mpk_dldevice device, uint64_t bytes, uint64_t align);
	void (*release)(void *user, struct mpk_dldevice device, void *data, uint64_t bytes);
	void *user;
	uint64_t budget; /* bytes; 0: none */
};

/* Any thread may count. */
struct mpk_memory {
	struct mpk_memory_source from;
	/* gives back what is kept for later and nobody has; returns how many bytes that was. NULL: nothing is */
	uint64_t (*trim)(void *owner);
	void *owner;
	atomic_ullong used, most;            /* bytes, with those that are kept for later; ever */
	atomic_ullong of[MPK_PURPOSE_COUNT]; /* of used, what somebody has */
	atomic_bool was_refused; /* something was not given for the budget; who asks sets it back */
};

enum { MPK_MEMORY_ALIGN = 128 }; /* bytes; of what is asked for of a caller's allocate */

/* mpk_memory_count - count bytes before they are taken
 * @m       NULL: nothing is counted
 * Returns  MPK_OK; MPK_E_BUDGET, after what is kept was given back
 * mpk_memory_uncount - they were given back */
enum mpk_code mpk_memory_count(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose,
			       struct mpk_error *err) MPK_MUST_CHECK;
void mpk_memory_uncount(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose);

/* mpk_memory_keep - what somebody had is kept for later: it is still used
 * mpk_memory_lend - somebody has it again */
void mpk_memory_keep(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose);
void mpk_memory_lend(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose);

/* mpk_memory_fail - say that the budget was not enough
 * Returns  MPK_E_BUDGET */
enum mpk_code mpk_memory_fail(const struct mpk_memory *m, struct mpk_error *err);

/* mpk_memory_here, mpk_memory_swap - for whom this thread takes host memory; NULL: for nobody. Swap returns the one
 * before, to be set again afterwards
 * mpk_purpose_here, mpk_purpose_swap - what for; at first scratch */
struct mpk_memory *mpk_memory_here(void);
struct mpk_memory *mpk_memory_swap(struct mpk_memory *m);
enum mpk_purpose mpk_purpose_here(void);
enum mpk_purpose mpk_purpose_swap(enum mpk_purpose purpose);

#endif

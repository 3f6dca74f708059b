/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - calls that another thread ends
 *
 * Who runs a model says in his thread by what it may be stopped; what takes long looks there between its steps:
 * instructions of byte code, calls of compiled functions, tasks of parallel loops, launches. A step that has begun goes
 * on to its end, so that nothing is left half done but the call.
 */
#ifndef MPK_RUNTIME_STOP_H
#define MPK_RUNTIME_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/span.h"

/* Where a call failed: what was noted first, which is the innermost. Cut where they are longer than any that a compiler
 * makes. */
struct mpk_failed_at {
	atomic_bool is_noted;
	int64_t instruction; /* in function; -1: not known */
	char name[256];      /* of the operator */
	char function[256];  /* of the model; "": not known */
	char before[256];    /* the operator that was called before it there; "" */
};

/* Zero: it is never stopped. Any thread writes the first two at any time. */
struct mpk_stop {
	atomic_bool is_asked;
	atomic_llong deadline;          /* of mpk_clock; 0: none */
	atomic_bool was_seen;           /* the call under way ended for it */
	struct mpk_failed_at failed_at; /* the last call */
};

/* mpk_failed_note - note where the call under way failed, unless that is known
 * @s       NULL: nobody wants to know
 * @before  empty: none
 * mpk_failed_note_function - the function of the model, where that is all that is not known so far */
void mpk_failed_note(struct mpk_stop *s, struct mpk_span name, struct mpk_span function,
		     int64_t instruction, struct mpk_span before);
void mpk_failed_note_function(struct mpk_stop *s, struct mpk_span function);

/* mpk_stop_is_due - whether it is to stop now; NULL: never */
static inline bool mpk_stop_is_due(struct mpk_stop *s)
{
	long long deadline;

	if (!s)
		return false;
	deadline = atomic_load_explicit(&s->deadline, memory_order_relaxed);
	if (!atomic_load_explicit(&s->is_asked, memory_order_relaxed) &&
	    (!deadline || mpk_clock() < deadline))
		return false;
	atomic_store_explicit(&s->was_seen, true, memory_order_relaxed);
	return true;
}

/* mpk_stop_get - what stops this thread; NULL: nothing
 * mpk_stop_swap - set it; returns the one before, to be set again afterwards */
struct mpk_stop *mpk_stop_get(void);
struct mpk_stop *mpk_stop_swap(struct mpk_stop *s);

/* mpk_stop_fail - say that a call was stopped
 * Returns  MPK_E_TIMEOUT */
enum mpk_code mpk_stop_fail(const struct mpk_stop *s, struct mpk_error *err);

/* mpk_stop_check - go on?
 * Returns  MPK_OK; MPK_E_TIMEOUT */
static inline enum mpk_code mpk_stop_check(struct mpk_stop *s, struct mpk_error *err)
{
	return mpk_stop_is_due(s) ? mpk_stop_fail(s, err) : MPK_OK;
}

#endif

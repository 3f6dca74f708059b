/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - counts the memory of a runtime */
#include "value/memory.h"

#include <stddef.h>

static _Thread_local struct {
	struct mpk_memory *memory;
	enum mpk_purpose purpose;
} here;

struct mpk_memory *mpk_memory_here(void)
{
	return here.memory;
}

struct mpk_memory *mpk_memory_swap(struct mpk_memory *m)
{
	struct mpk_memory *before = here.memory;

	here.memory = m;
	return before;
}

enum mpk_purpose mpk_purpose_here(void)
{
	return here.purpose;
}

enum mpk_purpose mpk_purpose_swap(enum mpk_purpose purpose)
{
	enum mpk_purpose before = here.purpose;

	here.purpose = purpose;
	return before;
}

/* --- counting --------------------------------------------------------------------------------- */

/* Each counter is atomic by itself; the counters need not be consistent with each other. */
static void add(atomic_ullong *to, uint64_t bytes)
{
	atomic_fetch_add_explicit(to, bytes, memory_order_relaxed);
}

static void take_away(atomic_ullong *from, uint64_t bytes)
{
	atomic_fetch_sub_explicit(from, bytes, memory_order_relaxed);
}

/* Checks and counts in one atomic step: two threads may each have room for their request, but not
 * for both. */
static bool has_room(struct mpk_memory *m, uint64_t bytes)
{
	unsigned long long used = atomic_load_explicit(&m->used, memory_order_relaxed), most;

	do {
		if (m->from.budget && (used > m->from.budget || bytes > m->from.budget - used))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&m->used, &used, used + bytes, memory_order_relaxed, memory_order_relaxed));
	used += bytes;
	most = atomic_load_explicit(&m->most, memory_order_relaxed);
	while (most < used &&
	       !atomic_compare_exchange_weak_explicit(&m->most, &most, used, memory_order_relaxed,
						      memory_order_relaxed))
		;
	return true;
}

enum mpk_code mpk_memory_fail(const struct mpk_memory *m, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_BUDGET, "the budget of %llu bytes of memory is not enough",
			(unsigned long long)m->from.budget);
}

enum mpk_code mpk_memory_count(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose,
			       struct mpk_error *err)
{
	if (!m)
		return MPK_OK;
	if (!has_room(m, bytes) && (!m->trim || !m->trim(m->owner) || !has_room(m, bytes))) {
		atomic_store(&m->was_refused, true);
		return mpk_fail(
			err, MPK_E_BUDGET,
			"%llu bytes more than the %llu that are used do not fit in the budget of %llu bytes of memory",
			(unsigned long long)bytes, (unsigned long long)atomic_load(&m->used),
			(unsigned long long)m->from.budget);
	}
	add(&m->of[purpose], bytes);
	return MPK_OK;
}

void mpk_memory_uncount(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose)
{
	if (!m)
		return;
	take_away(&m->of[purpose], bytes);
	take_away(&m->used, bytes);
}

void mpk_memory_keep(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose)
{
	if (m)
		take_away(&m->of[purpose], bytes);
}

void mpk_memory_lend(struct mpk_memory *m, uint64_t bytes, enum mpk_purpose purpose)
{
	if (m)
		add(&m->of[purpose], bytes);
}

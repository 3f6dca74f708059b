/* SPDX-License-Identifier: Apache-2.0 */
/* refs.h - counted references to objects that several threads may hold
 *
 * The count is a member of the object and begins at 1, for the one who made it. Taking a reference needs
 * no order, because whoever takes one has one. The last one to let go must see what all others wrote,
 * so letting go releases and acquires.
 */
#ifndef MPK_BASE_REFS_H
#define MPK_BASE_REFS_H

#include <stdatomic.h>
#include <stdbool.h>

/* mpk_refs_hold - one more */
static inline void mpk_refs_hold(atomic_uint *refs)
{
	(void)atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* mpk_refs_drop - one less
 * Returns  how many are left: at 0 the caller destroys the object */
static inline unsigned mpk_refs_drop(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) - 1;
}

/* mpk_refs_is_only - whether nobody else has a reference: what others wrote before is seen */
static inline bool mpk_refs_is_only(const atomic_uint *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire) == 1;
}

#endif

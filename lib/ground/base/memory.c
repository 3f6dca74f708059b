/* SPDX-License-Identifier: Apache-2.0 */
/* Whether memory was out at any time. Readers try one format after the other, and an
 * allocation that fails in one of them would look like the answer that it does not fit. So
 * the failure is noted here, and whoever gives an output its name asks first. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Relaxed, as it is a flag that only ever becomes true. */
static atomic_bool failed;

void mpk_memory_failed(void)
{
	atomic_store_explicit(&failed, true, memory_order_relaxed);
}

enum mpk_code mpk_memory_check(struct mpk_error *err)
{
	return atomic_load_explicit(&failed, memory_order_relaxed) ? mpk_fail_nomem(err) : MPK_OK;
}

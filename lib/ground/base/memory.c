/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool failed;

void mpk_memory_failed(void)
{
	atomic_store_explicit(&failed, true, memory_order_relaxed);
}

enum mpk_code mpk_memory_check(struct mpk_error *err)
{
	return atomic_load_explicit(&failed, memory_order_relaxed) ? mpk_fail_nomem(err) : MPK_OK;
}

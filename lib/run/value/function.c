/* SPDX-License-Identifier: Apache-2.0 */
#include "value/function.h"

struct mpk_function *mpk_function_hold(struct mpk_function *f)
{
	if (f)
		(void)atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void mpk_function_drop(struct mpk_function *f)
{
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (f->drop_handles)
		f->drop_handles(f);
	if (f->destroy)
		f->destroy(f);
}

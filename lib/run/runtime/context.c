/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/context.h"

static _Thread_local struct mpk_context current = { .convention = MPK_CONV_FFI };

struct mpk_context mpk_context_get(void)
{
	return current;
}

struct mpk_context mpk_context_swap(struct mpk_context context)
{
	struct mpk_context before = current;

	current = context;
	return before;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

#include "sandbox/calls.h"
#include "sandbox/landlock.h"

struct mpk_sandbox_state mpk_sandbox_enter(const struct mpk_sandbox *s)
{
	struct mpk_sandbox_state state = { .files = mpk_landlock_restrict(s) };

	/* last: the calls above are none of those that stay */
	state.calls = !s->runs_programs && mpk_calls_restrict(s->runs_code);
	return state;
}

struct mpk_sandbox_state mpk_sandbox_support(void)
{
	return (struct mpk_sandbox_state){ .files = mpk_landlock_version() > 0,
					   .calls = mpk_calls_known() };
}

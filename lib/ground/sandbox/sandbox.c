/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/internal/calls.h"
#include "sandbox/internal/landlock.h"
#include "sandbox/internal/limits.h"
#include "sandbox/internal/namespaces.h"

static bool close_range_of(unsigned first, unsigned last)
{
#ifdef SYS_close_range
	return first > last || syscall(SYS_close_range, first, last, 0) == 0;
#else
	(void)first;
	(void)last;
	return false;
#endif
}

/* What whoever started us left open is nobody else's either. */
static bool close_others(const struct mpk_sandbox *s)
{
	unsigned first = STDERR_FILENO + 1;
	bool closed = true;

	for (size_t i = 0; i < s->kept_count; i++) {
		closed &= close_range_of(first, (unsigned)s->kept[i] - 1);
		first = (unsigned)s->kept[i] + 1;
	}
	return closed && close_range_of(first, ~0U);
}

struct mpk_sandbox_state mpk_sandbox_enter(const struct mpk_sandbox *s)
{
	struct mpk_sandbox_state state = { 0 };

	if (s->runs_code) {
		mpk_limits_set(s->memory_bytes);
		mpk_namespaces_enter(s, &state);
		if (state.namespaces)
			mpk_limits_set_threads();
	}
	state.files = (!s->kept || close_others(s)) && mpk_landlock_restrict(s);
	/* last: the calls above are none of those that stay */
	state.calls = !s->runs_programs && mpk_calls_restrict(s);
	return state;
}

struct mpk_sandbox_state mpk_sandbox_support(void)
{
	struct mpk_sandbox_state can = { .files = mpk_landlock_version() > 0,
					 .calls = mpk_calls_known() };

	mpk_namespaces_try(&can);
	return can;
}

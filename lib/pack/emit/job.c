/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/internal/job.h"

#include <string.h>

#include "base/arena.h"
#include "text/escape.h"

static enum mpk_code judge(const struct mpk_job *job, const struct mpk_process_end *end,
			   struct mpk_error *err)
{
	const char *tool = job->process.run ? "LLVM" : job->process.argv[0];

	switch (end->how) {
	case MPK_PROCESS_LEFT_OUT:
	case MPK_PROCESS_LATE: /* jobs have all the time they want, and nobody listens to them */
	case MPK_PROCESS_STOPPED:
		break;
	case MPK_PROCESS_RETURNED:
		if (end->error.code != MPK_OK && err)
			*err = end->error;
		return end->error.code;
	case MPK_PROCESS_NOT_EXECUTED:
		return mpk_fail(
			err, MPK_E_TOOL,
			"cannot start '%s' (%s); install it, or name another compiler with --cc",
			MPK_QUOTE(mpk_span_str(tool)), strerror(end->status));
	case MPK_PROCESS_KILLED:
		return mpk_fail(err, MPK_E_TOOL, "%s: %s was ended by signal %d (%s)", job->what,
				tool, end->status, strsignal(end->status));
	case MPK_PROCESS_QUIT:
	case MPK_PROCESS_EXITED:
		if (!mpk_process_succeeded(end))
			return mpk_fail(err, MPK_E_TOOL, "%s: %s failed with status %d", job->what,
					tool, end->status);
		break;
	}
	return MPK_OK;
}

enum mpk_code mpk_jobs_run(const struct mpk_job *jobs, size_t count, unsigned parallel,
			   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_process *list = mpk_arena_array(&arena, count, sizeof *list);
	struct mpk_process_end *ends = mpk_arena_array(&arena, count, sizeof *ends);

	MPK_TRY_ALLOC(list && ends, err);
	for (size_t i = 0; i < count; i++)
		list[i] = jobs[i].process;
	MPK_TRY(mpk_process_run(list, count, parallel, ends, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(judge(&jobs[i], &ends[i], err));
	return MPK_OK;
}

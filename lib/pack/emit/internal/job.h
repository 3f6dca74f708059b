/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - compilers and LLVM at work, several at a time, and what is said when they fail */
#ifndef MPK_EMIT_INTERNAL_JOB_H
#define MPK_EMIT_INTERNAL_JOB_H

#include "process/process.h"

struct mpk_job {
	struct mpk_process process; /* argv, or run: LLVM */
	const char *what;           /* for messages: "compiling glue.c" */
};

/* mpk_jobs_run - run all jobs, at most parallel at a time, started in order
 * After a failure no further job is started and those that run are waited for.
 * Returns  MPK_OK; the failure of the first (by order) job that failed: what run
 *          returned; MPK_E_TOOL for a tool that cannot be started, exits with another
 *          status than 0 or is killed, and for a run that crashes; MPK_E_IO, MPK_E_NOMEM:
 *          a process could not be made */
enum mpk_code mpk_jobs_run(const struct mpk_job *jobs, size_t count, unsigned parallel,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif

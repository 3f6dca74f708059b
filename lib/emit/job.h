/* job.h - work done in child processes: tools, and functions that must not take us along */
#ifndef MPK_EMIT_JOB_H
#define MPK_EMIT_JOB_H

#include <stddef.h>

#include "base/error.h"

/* One child. Either argv or run is set. */
struct mpk_job {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH; no shell */
	/* Runs in a forked copy of this process; what it allocates and changes is lost, what
	 * it writes to files stays. A crash of it is an error, not ours. */
	enum mpk_code (*run)(void *data, struct mpk_error *err);
	void *data;
	const char *what; /* for messages: "compiling glue.c" */
};

/* mpk_jobs_run - run all jobs, at most parallel at a time, started in order
 * A tool reads nothing, and writes its output and its messages to our standard error.
 * Children are told to end when this process dies, even by SIGKILL. After a failure no
 * further job is started and those that run are waited for.
 * Returns  MPK_OK; the failure of the first (by order) job that failed: what run
 *          returned; MPK_E_TOOL for a tool that cannot be started, exits with another
 *          status than 0 or is killed, and for a run that crashes */
enum mpk_code mpk_jobs_run(const struct mpk_job *jobs, size_t count, unsigned parallel,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_job_try - whether a tool can do something: run it with all its output thrown away
 * @argv    as in struct mpk_job
 * Returns  its exit status, or -1 when it could not be started or was killed */
int mpk_job_try(const char *const *argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - the process that makes calls: it is started, watched and, when it does not come back, described
 *
 * Called code may crash, hang or end its process. Each is a result like any other, with one sentence that names the
 * function and what it was at.
 */
#include "session/internal/reply.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "text/escape.h"

/* Seen by both processes, and shown; nothing else depends on it. */
struct mpk_child_progress {
	volatile uint64_t loaded, to_load;
};

struct job {
	mpk_child_fn *fn;
	void *user;
	struct mpk_child_progress *progress;
	const struct mpk_child_options *options;
};

/* Written to memory that both processes map; the parent only shows it. */
void mpk_child_count(struct mpk_child_side *side, uint64_t to_load, uint64_t loaded)
{
	side->progress->to_load += to_load;
	side->progress->loaded += loaded;
}

/* Every tenth of a second, in the parent. */
static void tick(void *data)
{
	const struct job *job = data;
	const struct mpk_child_state state = { job->options->task->phase, job->progress->loaded,
					       job->progress->to_load };

	job->options->watch(job->options->watch_user, &state);
}

static enum mpk_process_heard child_hear(void *data, bool has_ended, double *seconds)
{
	const struct job *job = data;

	return job->options->hear(job->options->hear_user, has_ended, seconds);
}

static enum mpk_code work(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct job *job = data;
	struct mpk_child_side side = { job->progress };

	(void)self;
	return job->fn(&side, job->user, err);
}

/* Where the child was when it ended, for the message. */
static const char *phase_text(enum mpk_child_phase phase)
{
	switch (phase) {
	case MPK_CHILD_LOADING:
		return " while the library was loaded";
	case MPK_CHILD_CALLING:
		return "";
	case MPK_CHILD_ENDING:
		break;
	}
	return " after the call";
}

/* "SEGV". Only glibc has the function, since 2.32; elsewhere those that a crash raises have a name
 * here, and the description says the rest. */
static const char *signal_name(int number)
{
#ifdef __GLIBC__
	const char *name = sigabbrev_np(number);

	return name ? name : "?";
#else
	static const struct {
		int number;
		const char *name;
	} names[] = { { SIGSEGV, "SEGV" }, { SIGBUS, "BUS" },   { SIGILL, "ILL" },
		      { SIGFPE, "FPE" },   { SIGABRT, "ABRT" }, { SIGTRAP, "TRAP" },
		      { SIGSYS, "SYS" },   { SIGKILL, "KILL" }, { SIGTERM, "TERM" },
		      { SIGXCPU, "XCPU" }, { SIGINT, "INT" },   { SIGPIPE, "PIPE" } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (names[i].number == number)
			return names[i].name;
	return "?";
#endif
}

/* In English whatever the locale: strsignal would translate. */
static const char *signal_meaning(int number)
{
#ifdef __GLIBC__
	const char *meaning = sigdescr_np(number);
#else
	const char *meaning =
		strsignal(number); /* musl's has one language unless one is installed */
#endif

	return meaning ? meaning : "unknown signal";
}

/* One sentence for each way to end; the function is named, as a batch has many. */
static void child_describe(const struct mpk_child_task *task, const struct mpk_process_end *end,
			   struct mpk_error *out)
{
	const char *what = MPK_QUOTE(mpk_span_str(task->what));
	const char *phase = phase_text(task->phase);

	switch (end->how) {
	case MPK_PROCESS_KILLED:
		(void)mpk_fail(out, MPK_E_RAISED, "'%s' crashed%s: SIG%s (%s)", what, phase,
			       signal_name(end->status), signal_meaning(end->status));
		return;
	case MPK_PROCESS_LATE:
		(void)mpk_fail(out, MPK_E_TIMEOUT, "'%s' did not return within %g s%s", what,
			       task->timeout, phase);
		return;
	case MPK_PROCESS_STOPPED:
		(void)mpk_fail(out, MPK_E_RAISED,
			       "'%s' damaged its process%s: a report came back that is broken",
			       what, phase);
		return;
	case MPK_PROCESS_RETURNED:
		*out = end->error;
		return;
	case MPK_PROCESS_QUIT:
	case MPK_PROCESS_EXITED:
	case MPK_PROCESS_NOT_EXECUTED:
	case MPK_PROCESS_LEFT_OUT:
		(void)mpk_fail(out, MPK_E_RAISED, "'%s' ended the process%s with status %d", what,
			       phase, end->status);
	}
}

static void unmap_progress(struct mpk_child_progress **p)
{
	if (*p != MAP_FAILED)
		(void)munmap(*p, sizeof **p);
}

enum mpk_code mpk_child_run(mpk_child_fn *fn, void *user, const struct mpk_child_options *options,
			    struct mpk_error *end, struct mpk_error *err)
{
	MPK_CLEANUP(unmap_progress)
	struct mpk_child_progress *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE,
						   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct job job = { .fn = fn, .user = user, .options = options, .progress = progress };
	struct mpk_process child = { .run = work,
				     .data = &job,
				     .tick = options->watch ? tick : NULL,
				     .hear = options->hear ? child_hear : NULL,
				     .channel = options->channel,
				     .timeout = options->task->seconds_left,
				     .cpu_seconds = options->cpu_seconds,
				     .output = MPK_OUTPUT_COPIED,
				     .fd = STDERR_FILENO,
				     .output_max = options->output_max,
				     .enters_sandbox = options->enters_sandbox,
				     .contained = true };
	struct mpk_process_end how;

	if (progress == MAP_FAILED)
		return mpk_fail_nomem(err);
	MPK_TRY(mpk_process_run(&child, 1, 1, &how, err));
	*end = (struct mpk_error){ 0 };
	child_describe(options->task, &how, end);
	return MPK_OK;
}

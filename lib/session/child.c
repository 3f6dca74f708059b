/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of a module adds to a contained child (process/process.h): what the child is at,
 * for the message when it does not come back, and a reply of any size. */
#include "session/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "text/escape.h"

/* Seen by both processes; the module may have damaged it. */
struct mpk_child_control {
	volatile enum mpk_child_phase phase;
	char what[192]; /* what the child does */
	double timeout; /* that it began with, in seconds */
	volatile uint64_t loaded, to_load;
};

struct job {
	mpk_child_fn *fn;
	void *user;
	struct mpk_child_control *control;
	const struct mpk_child_options *options;
	int fd; /* the reply */
};

static void set_task(struct mpk_child_control *c, const char *what, double timeout)
{
	(void)snprintf(c->what, sizeof c->what, "%s", what);
	c->timeout = timeout;
}

void mpk_child_begin(struct mpk_child_side *side, const char *what, double timeout)
{
	set_task(side->control, what, timeout);
	mpk_process_set_timeout(side->process, timeout);
}

void mpk_child_load(struct mpk_child_side *side, uint64_t bytes)
{
	side->control->to_load += bytes;
}

void mpk_child_loaded(struct mpk_child_side *side, uint64_t bytes)
{
	side->control->loaded += bytes;
}

static void tick(void *data)
{
	const struct job *job = data;
	const struct mpk_child_state state = { job->control->phase, job->control->loaded,
					       job->control->to_load };

	job->options->watch(job->options->watch_user, &state);
}

static enum mpk_code work(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct job *job = data;
	struct mpk_child_side side = { .wire = { .fd = job->fd },
				       .phase = &job->control->phase,
				       .control = job->control,
				       .process = self };
	enum mpk_code code = job->fn(&side, job->user, err);

	*side.phase = MPK_CHILD_ENDING;
	return code;
}

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

static enum mpk_code report(const struct mpk_child_control *c, const struct mpk_process_end *end,
			    struct mpk_error *err)
{
	const char *what = MPK_QUOTE(mpk_span_of(c->what, strnlen(c->what, sizeof c->what)));
	const char *phase = phase_text(c->phase);

	switch (end->how) {
	case MPK_PROCESS_KILLED:
		return mpk_fail(err, MPK_E_RAISED, "'%s' crashed%s: SIG%s (%s)", what, phase,
				signal_name(end->status), signal_meaning(end->status));
	case MPK_PROCESS_LATE:
		return mpk_fail(err, MPK_E_TIMEOUT, "'%s' did not return within %g s%s", what,
				c->timeout, phase);
	case MPK_PROCESS_RETURNED:
		if (end->error.code != MPK_OK && err)
			*err = end->error;
		return end->error.code;
	case MPK_PROCESS_QUIT:
	case MPK_PROCESS_EXITED:
	case MPK_PROCESS_NOT_EXECUTED:
	case MPK_PROCESS_LEFT_OUT:
		break;
	}
	return mpk_fail(err, MPK_E_RAISED, "'%s' ended the process%s with status %d", what, phase,
			end->status);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static void unmap_control(struct mpk_child_control **c)
{
	if (*c)
		(void)munmap(*c, sizeof **c);
}

enum mpk_code mpk_child_run(mpk_child_fn *fn, void *user, const struct mpk_child_options *options,
			    struct mpk_wire_map **reply, struct mpk_error *err)
{
	MPK_CLEANUP(close_fd) int fd = memfd_create("minspect-reply", MFD_CLOEXEC);
	MPK_CLEANUP(unmap_control) struct mpk_child_control *control = NULL;
	struct job job = { .fn = fn, .user = user, .options = options, .fd = fd };
	struct mpk_process child = { .run = work,
				     .data = &job,
				     .tick = options->watch ? tick : NULL,
				     .timeout = options->timeout,
				     .limit = options->limit,
				     .contained = true };
	struct mpk_process_end end;
	void *page;

	if (fd < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a file in memory");
	page = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (page == MAP_FAILED)
		return mpk_fail_nomem(err);
	job.control = control = page;
	set_task(control, options->what, options->timeout);

	enum mpk_code rc = mpk_process_run(&child, 1, 1, &end, err);
	if (rc == MPK_OK)
		rc = report(control, &end, err);
	if (rc != MPK_OK && options->keep_reply)
		/* what cannot be mapped is missing: the failure is known already */
		(void)!mpk_wire_map_fd(fd, reply, NULL);
	return rc != MPK_OK ? rc : mpk_wire_map_fd(fd, reply, err);
}

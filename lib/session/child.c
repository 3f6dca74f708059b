#include "session/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "text/escape.h"

/* A page both processes see. */
struct mpk_child_control {
	volatile enum mpk_child_phase phase;
	char what[192];           /* what the child does; the module may have damaged it */
	double timeout;           /* that it began with, in seconds */
	_Atomic int64_t deadline; /* nanoseconds of the monotonic clock; 0: none */
	volatile bool done;       /* fn returned; the members below are set */
	enum mpk_code code;
	struct mpk_error error;
};

static const int64_t NANO = 1000000000;

struct job {
	mpk_child_fn *fn;
	void *user;
	struct mpk_child_control *control;
	int fd; /* the reply */
	pid_t parent;
	sigset_t mask; /* before we blocked anything */
};

static int64_t now(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NANO + t.tv_nsec;
}

static void set_task(struct mpk_child_control *c, const char *what, double timeout)
{
	(void)snprintf(c->what, sizeof c->what, "%s", what);
	c->timeout = timeout;
	c->deadline = timeout > 0 ? now() + (int64_t)(timeout * (double)NANO) : 0;
}

/* --- the child ---------------------------------------------------------------------- */

static void reset_signals(const sigset_t *mask)
{
	/* handlers of this program or of a sanitizer would hide what happened */
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP,  SIGPIPE, SIGSEGV, SIGBUS,
				       SIGFPE, SIGILL,  SIGABRT, SIGTRAP, SIGSYS,  SIGCHLD };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(signals); i++)
		(void)signal(signals[i], SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
}

static void redirect(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		(void)dup2(null, STDIN_FILENO);
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

void mpk_child_begin(struct mpk_child_side *side, const char *what, double timeout)
{
	set_task(side->control, what, timeout);
	/* wakes the parent from sleeping to the deadline before */
	(void)kill(getppid(), SIGCHLD);
}

static void run_child(const struct job *job)
{
	struct mpk_child_side side = { .wire = { .fd = job->fd },
				       .phase = &job->control->phase,
				       .control = job->control };
	struct mpk_child_control *c = job->control;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != job->parent)
		_exit(1); /* it died before the line above */
	reset_signals(&job->mask);
	redirect();
	c->code = job->fn(&side, job->user, &c->error);
	*side.phase = MPK_CHILD_ENDING;
	(void)fflush(NULL); /* what the module printed */
	c->done = true;
	_exit(0);
}

/* --- the parent --------------------------------------------------------------------- */

/* Waits for SIGCHLD, which is blocked: no race between looking and sleeping. The child
 * sends one too when it sets another deadline. */
static bool wait_child(pid_t pid, const struct mpk_child_control *c)
{
	siginfo_t info;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	for (;;) {
		int64_t deadline = c->deadline;
		int64_t left = deadline ? deadline - now() : 3600 * NANO;
		struct timespec wait = { .tv_sec = (time_t)(left / NANO),
					 .tv_nsec = (long)(left % NANO) };

		info.si_pid = 0;
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
		    info.si_pid == pid)
			return true;
		if (left <= 0)
			return false;
		(void)sigtimedwait(&set, NULL, &wait);
	}
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

static struct mpk_span task_of(const struct mpk_child_control *c)
{
	return mpk_span_of(c->what, strnlen(c->what, sizeof c->what));
}

static enum mpk_code report_end(const struct job *job, int status, struct mpk_error *err)
{
	const struct mpk_child_control *c = job->control;
	const char *what = MPK_QUOTE(task_of(c));

	if (WIFSIGNALED(status)) {
		int sig = WTERMSIG(status);
		const char *name = sigabbrev_np(sig), *meaning = sigdescr_np(sig);

		return mpk_fail(err, MPK_E_RAISED, "'%s' crashed%s: SIG%s (%s)", what,
				phase_text(c->phase), name ? name : "?",
				meaning ? meaning : "unknown signal");
	}
	if (!c->done)
		return mpk_fail(err, MPK_E_RAISED, "'%s' ended the process%s with status %d", what,
				phase_text(c->phase), WEXITSTATUS(status));
	if (c->code != MPK_OK && err)
		*err = c->error;
	return c->code;
}

/* The parent of a process, 0 when it is gone. */
static pid_t parent_of(pid_t pid)
{
	char path[64], stat[512];
	int parent = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, stat, sizeof stat - 1) : 0;

	if (fd >= 0)
		(void)close(fd);
	stat[n > 0 ? n : 0] = '\0';
	/* the name in parentheses may hold anything, a parenthesis too */
	const char *name_end = strrchr(stat, ')');
	return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

/* What the child started and took out of its process group is ours since its parent died:
 * fork_and_watch asked for that. Some may be born while we look, hence the repetition. */
static void kill_orphans(void)
{
	enum { TRIES = 100 };

	for (unsigned i = 0; i < TRIES; i++) {
		siginfo_t info;
		DIR *proc = NULL;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0)
			proc = opendir("/proc");
		if (!proc)
			return; /* no child is left, which is the usual case */
		for (struct dirent *e; (e = readdir(proc)) != NULL;) {
			pid_t pid = (pid_t)strtol(e->d_name, NULL, 10); /* 0: not a process */

			if (pid <= 0 || parent_of(pid) != getpid())
				continue;
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
		}
		(void)closedir(proc);
	}
}

static enum mpk_code watch(const struct job *job, pid_t pid, struct mpk_error *err)
{
	int status = 0;
	bool ended;

	(void)setpgid(pid, pid); /* whoever comes first */
	ended = wait_child(pid, job->control);
	/* the zombie keeps the group's number ours until it is reaped */
	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	kill_orphans();
	if (!ended)
		return mpk_fail(err, MPK_E_TIMEOUT, "'%s' did not return within %g s%s",
				MPK_QUOTE(task_of(job->control)), job->control->timeout,
				phase_text(job->control->phase));
	return report_end(job, status, err);
}

static enum mpk_code fork_and_watch(struct job *job, struct mpk_error *err)
{
	sigset_t block;
	pid_t pid;

	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &block, &job->mask);
	(void)fflush(NULL); /* else what is buffered here would be written twice */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	job->parent = getpid();
	pid = fork();
	if (pid == 0)
		run_child(job);

	enum mpk_code rc = pid < 0 ? mpk_fail_errno(err, MPK_E_IO, errno, "cannot fork")
				   : watch(job, pid, err);
	(void)sigprocmask(SIG_SETMASK, &job->mask, NULL);
	return rc;
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
	struct job job = { .fn = fn, .user = user, .fd = fd };
	void *page;

	if (fd < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a file in memory");
	page = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (page == MAP_FAILED)
		return mpk_fail_nomem(err);
	control = page;
	job.control = control;
	set_task(control, options->what, options->timeout);

	enum mpk_code rc = fork_and_watch(&job, err);
	if (rc != MPK_OK && options->keep_reply)
		/* what cannot be mapped is missing: the failure is known already */
		(void)!mpk_wire_map_fd(fd, reply, NULL);
	return rc != MPK_OK ? rc : mpk_wire_map_fd(fd, reply, err);
}

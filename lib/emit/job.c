#include "emit/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text/escape.h"

/* A job that runs, and the pipe on which the child tells how it failed. */
struct child {
	pid_t pid; /* 0: not running */
	int report;
	size_t job;
};

/* Signals of ours must not run our handlers in the child, and a dead parent must end it.
 * posix_spawn cannot ask for that, hence fork; the process is small. */
static void prepare_child(pid_t parent, int out)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(signals); i++) {
		struct sigaction old;

		/* What our caller ignores (nohup) stays ignored. */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)signal(signals[i], SIG_DFL);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(out < 0 ? null : out, STDOUT_FILENO);
	if (out < 0)
		(void)dup2(null, STDERR_FILENO);
}

/* The vector is const in our hands and in exec's practice, not in its prototype. */
static void exec_tool(const char *const *argv)
{
	(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
}

static MPK_NORETURN void child_main(const struct mpk_job *job, int report)
{
	struct mpk_error err = { 0 };

	if (job->run) {
		(void)job->run(job->data, &err);
	} else {
		exec_tool(job->argv);
		(void)mpk_fail(
			&err, MPK_E_TOOL,
			"cannot start '%s' (%s); install it, or name another compiler with --cc",
			MPK_QUOTE(mpk_span_str(job->argv[0])), strerror(errno));
	}
	if (err.code != MPK_OK)
		(void)!write(report, &err, sizeof err);
	_exit(err.code == MPK_OK ? 0 : 1);
}

static enum mpk_code start(const struct mpk_job *job, struct child *child, struct mpk_error *err)
{
	pid_t self = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return mpk_fail_errno(err, MPK_E_TOOL, errno, "cannot start a child process");
	child->pid = fork();
	if (child->pid == 0) {
		prepare_child(self, STDERR_FILENO);
		child_main(job, ends[1]);
	}
	int saved = errno;
	(void)close(ends[1]);
	if (child->pid < 0) {
		(void)close(ends[0]);
		child->pid = 0;
		return mpk_fail_errno(err, MPK_E_TOOL, saved, "cannot start a child process");
	}
	child->report = ends[0];
	return MPK_OK;
}

static enum mpk_code judge(const struct mpk_job *job, int status, struct mpk_error *err)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return MPK_OK;
	if (WIFSIGNALED(status))
		return mpk_fail(err, MPK_E_TOOL, "%s: %s was ended by signal %d (%s)", job->what,
				job->run ? "LLVM" : job->argv[0], WTERMSIG(status),
				strsignal(WTERMSIG(status)));
	return mpk_fail(err, MPK_E_TOOL, "%s: %s failed with status %d", job->what,
			job->run ? "LLVM" : job->argv[0], WEXITSTATUS(status));
}

static enum mpk_code finish(const struct mpk_job *job, struct child *child, int status,
			    struct mpk_error *err)
{
	struct mpk_error told;
	ssize_t n = read(child->report, &told, sizeof told);

	(void)close(child->report);
	child->pid = 0;
	if (n != (ssize_t)sizeof told)
		return judge(job, status, err);
	if (err)
		*err = told;
	return told.code;
}

static struct child *find_child(struct child *children, unsigned parallel, pid_t pid)
{
	for (unsigned i = 0; i < parallel; i++)
		if (children[i].pid == pid)
			return &children[i];
	return NULL;
}

/* State of a run; `code` and `err` are those of the first job in order that failed. */
struct run {
	const struct mpk_job *jobs;
	struct child *children;
	unsigned parallel, running;
	size_t failed; /* its index; SIZE_MAX: none */
	enum mpk_code code;
	struct mpk_error *err;
};

static void note_failure(struct run *r, size_t job, enum mpk_code code, const struct mpk_error *err)
{
	if (code == MPK_OK || job >= r->failed)
		return;
	r->failed = job;
	r->code = code;
	if (r->err)
		*r->err = *err;
}

static void wait_one(struct run *r)
{
	struct mpk_error err = { 0 };
	int status;
	pid_t pid;

	do
		pid = waitpid(-1, &status, 0);
	while (pid < 0 && errno == EINTR);

	struct child *child = pid > 0 ? find_child(r->children, r->parallel, pid) : NULL;
	if (!child && pid > 0)
		return; /* a child of somebody else in this process */
	if (!child) {
		note_failure(r, 0,
			     mpk_fail_errno(&err, MPK_E_INTERNAL, errno, "lost a child process"),
			     &err);
		r->running = 0;
		return;
	}
	enum mpk_code code = finish(&r->jobs[child->job], child, status, &err);
	note_failure(r, child->job, code, &err);
	r->running--;
}

static void start_one(struct run *r, size_t job)
{
	struct mpk_error err = { 0 };
	struct child *slot = find_child(r->children, r->parallel, 0);
	enum mpk_code code = start(&r->jobs[job], slot, &err);

	slot->job = job;
	if (code == MPK_OK)
		r->running++;
	note_failure(r, job, code, &err);
}

enum mpk_code mpk_jobs_run(const struct mpk_job *jobs, size_t count, unsigned parallel,
			   struct mpk_error *err)
{
	struct run r = {
		.jobs = jobs, .parallel = parallel ? parallel : 1, .failed = SIZE_MAX, .err = err
	};

	r.children = calloc(r.parallel, sizeof *r.children);
	if (!r.children)
		return mpk_fail_nomem(err);
	for (size_t next = 0; next < count && r.failed == SIZE_MAX; next++) {
		while (r.running == r.parallel)
			wait_one(&r);
		if (r.failed == SIZE_MAX)
			start_one(&r, next);
	}
	while (r.running)
		wait_one(&r);
	free(r.children);
	return r.failed == SIZE_MAX ? MPK_OK : r.code;
}

int mpk_job_try(const char *const *argv)
{
	pid_t self = getpid(), pid = fork(), got;
	int status = 0;

	if (pid == 0) {
		prepare_child(self, -1);
		exec_tool(argv);
		_exit(127);
	}
	do
		got = pid > 0 ? waitpid(pid, &status, 0) : -1;
	while (got < 0 && errno == EINTR);
	return got == pid && WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status)
									     : -1;
}

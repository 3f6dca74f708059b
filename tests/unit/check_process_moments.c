/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has started others is killed, at every moment: all of them end (process/process.h).
 *
 * A moment is before a call of the C library, whoever of them makes it. Who makes the chosen one waits, so that all
 * others get as far as they can, kills the process that is to die, waits for the news to spread, and goes on. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "process/internal/process.h"
#include "process/process.h"
#include "process_made.h"

/* LANES: moments at a time, most of which is sleep */
enum { LEAD_US = 20000, PATIENCE_MS = 10000, LANES = 6 };

/* Seen by the process that is to die, those that it starts, and the test. */
static struct {
	pid_t victim;
	_Atomic unsigned calls;
	unsigned chosen; /* 0: none */
	char name[32];   /* of the call before which it was, and whose */
} *moment;

static bool is_on; /* in the process that is to die and those that it forks */

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void pass(const char *name)
{
	int saved = errno;

	if (!is_on || atomic_fetch_add(&moment->calls, 1) + 1 != moment->chosen)
		return;
	(void)snprintf(moment->name, sizeof moment->name, "%s of %s", name,
		       getpid() == moment->victim ? "the parent" : "a child");
	(void)usleep(LEAD_US);
	(void)syscall(SYS_kill, moment->victim, SIGKILL);
	(void)usleep(LEAD_US);
	errno = saved;
}

/* A function of the C library before which a moment is; the real one goes by the name real_. */
#define MOMENT(type, name, parameters, arguments)                                                  \
	type name parameters;                                                                      \
	type name parameters                                                                       \
	{                                                                                          \
		static type(*real_) parameters;                                                    \
		if (!real_)                                                                        \
			*(void **)&real_ = next(#name);                                            \
		pass(#name);                                                                       \
		return real_ arguments;                                                            \
	}

MOMENT(pid_t, fork, (void), ())
MOMENT(pid_t, setsid, (void), ())
MOMENT(int, setpgid, (pid_t pid, pid_t group), (pid, group))
MOMENT(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
MOMENT(pid_t, getppid, (void), ())
MOMENT(int, close, (int fd), (fd))
MOMENT(int, kill, (pid_t pid, int sig), (pid, sig))
MOMENT(pid_t, waitpid, (pid_t pid, int *status, int how), (pid, status, how))
MOMENT(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int how), (type, id, info, how))
MOMENT(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info))
MOMENT(int, poll, (struct pollfd * fds, nfds_t count, int wait), (fds, count, wait))
MOMENT(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
MOMENT(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))

/* --- what the process does that is to die -------------------------------------------- */

/* A daemon, which has left its group, its session and its parent. */
static void start_daemon(void)
{
	pid_t middle = fork();

	if (middle == 0) {
		(void)setsid();
		if (fork() != 0)
			_exit(0);
		(void)sleep(60); /* no longer, should the test itself end */
		_exit(0);
	}
	(void)waitpid(middle, NULL, 0);
}

static enum mpk_code leave_daemon(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)data;
	(void)err;
	start_daemon();
	return MPK_OK;
}

static enum mpk_code leave_daemon_and_hang(struct mpk_process_self *self, void *data,
					   struct mpk_error *err)
{
	enum mpk_code code = leave_daemon(self, data, err);

	(void)sleep(60);
	return code;
}

static void call(void)
{
	const struct mpk_process p = { .run = leave_daemon, .contained = true };

	(void)run_one(&p);
}

static void call_late(void)
{
	const struct mpk_process p = { .run = leave_daemon_and_hang,
				       .contained = true,
				       .timeout = 0.1 };

	(void)run_one(&p);
}

static void call_bare(void)
{
	refuse_namespaces();
	call();
}

static void call_late_bare(void)
{
	refuse_namespaces();
	call_late();
}

static void run_program(void)
{
	struct mpk_process p = shell("exec sleep 60");

	p.timeout = 0.1;
	(void)run_one(&p);
}

static enum mpk_code echo(void *data, struct mpk_span question, struct mpk_strbuf *answer,
			  struct mpk_error *err)
{
	(void)data;
	(void)err;
	mpk_strbuf_put(answer, (const char *)question.data, question.len);
	return MPK_OK;
}

static void ask_helper(void)
{
	const struct mpk_span question = mpk_span_str("question");
	struct mpk_strbuf answer = { 0 };
	struct mpk_helper h = { 0 };

	if (mpk_helper_start(echo, NULL, &h, NULL) == MPK_OK)
		(void)!mpk_helper_ask(&h, &question, 1, &answer, NULL);
	mpk_helper_stop(&h);
}

static void do_nothing(void *data)
{
	(void)data;
}

static void have_cleanup(void)
{
	struct mpk_cleanup c = { 0 };

	(void)!mpk_cleanup_start(do_nothing, NULL, &c, NULL);
	mpk_cleanup_stop(&c, true);
}

static const struct {
	const char *name;
	void (*act)(void);
} victims[] = {
	{ "a call", call },
	{ "a call without namespaces", call_bare },
	{ "a late call", call_late },
	{ "a late call without namespaces", call_late_bare },
	{ "a program", run_program },
	{ "a helper", ask_helper },
	{ "a cleanup process", have_cleanup },
};

/* --- the moments ------------------------------------------------------------------- */

/* Whether all that there is below this process ends: what has lost its parent is its child. */
static bool all_end(void)
{
	const int64_t late = mpk_clock() + PATIENCE_MS * (MPK_NANOSECONDS / 1000);

	while (mpk_clock() < late) {
		if (waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD)
			return true;
		(void)usleep(500);
	}
	return false;
}

/* @chosen  0: nobody is killed */
static bool run_until(void (*act)(void), unsigned chosen)
{
	const struct mpk_children none = { 0 };
	bool ended;

	memset(moment, 0, sizeof *moment);
	moment->chosen = chosen;
	if (fork() == 0) {
		moment->victim = getpid();
		is_on = true;
		act();
		_exit(0);
	}
	ended = all_end();
	mpk_orphans_kill(&none);
	return ended;
}

/* Every LANES-th moment from the first on, until something is left at one.
 * Returns  whether it was */
static bool try_lane(int row, unsigned first, unsigned count)
{
	moment = mmap(NULL, sizeof *moment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (moment == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		return true;
	for (unsigned n = first; n <= count; n += LANES) {
		if (run_until(victims[row].act, n))
			continue;
		(void)fprintf(stderr, "%s: killed before call %u of %u, %s: something is left\n",
			      victims[row].name, n, count, moment->name);
		return true;
	}
	return false;
}

START_TEST(nothing_is_left)
{
	pid_t lanes[LANES];
	int status = 0;

	moment = mmap(NULL, sizeof *moment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(moment, MAP_FAILED);
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert(run_until(victims[_i].act, 0));
	unsigned count = moment->calls;
	ck_assert_uint_gt(count, 10);
	for (unsigned i = 0; i < LANES; i++) {
		lanes[i] = fork();
		if (lanes[i] == 0)
			_exit(try_lane(_i, i + 1, count) ? 1 : 0);
	}
	bool failed = false;
	for (unsigned i = 0; i < LANES; i++) {
		ck_assert_int_eq(waitpid(lanes[i], &status, 0), lanes[i]);
		failed |= status != 0;
	}
	ck_assert_msg(!failed, "%s", victims[_i].name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process_moments");
	TCase *moments = add_case(suite, "moments");

	tcase_set_timeout(moments, 120);
	tcase_add_loop_test(moments, nothing_is_left, 0, MPK_ARRAY_COUNT(victims));

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes (process/process.h): how they end, what they see, several of them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "process/internal/process.h"
#include "process/process.h"
#include "process_made.h"

/* --- how a child ends ------------------------------------------------------------- */

static enum mpk_code succeed(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)err;
	if (data)
		write_file(data, "done");
	return MPK_OK;
}

static enum mpk_code refuse(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)data;
	return mpk_fail_line(err, MPK_E_SYNTAX, 3, 7, "no reason");
}

static enum mpk_code crash(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)data;
	(void)err;
	abort();
}

static enum mpk_code quit(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)data;
	(void)err;
	_exit(0);
}

static const struct {
	const char *script; /* or */
	mpk_process_fn *run;
	enum mpk_process_how how;
	int status;
	bool succeeded;
} ends[] = {
	{ "exit 0", NULL, MPK_PROCESS_EXITED, 0, true },
	{ "exit 3", NULL, MPK_PROCESS_EXITED, 3, false },
	{ "exit 127", NULL, MPK_PROCESS_EXITED, 127, false },
	{ "kill -9 $$", NULL, MPK_PROCESS_KILLED, SIGKILL, false },
	{ "kill -TERM $$", NULL, MPK_PROCESS_KILLED, SIGTERM, false },
	{ NULL, succeed, MPK_PROCESS_RETURNED, 0, true },
	{ NULL, refuse, MPK_PROCESS_RETURNED, 0, false },
	{ NULL, crash, MPK_PROCESS_KILLED, SIGABRT, false },
	{ NULL, quit, MPK_PROCESS_QUIT, 0, false },
};

START_TEST(ends_are_told)
{
	struct mpk_process p = shell(ends[_i].script);

	p.argv = ends[_i].script ? p.argv : NULL;
	p.run = ends[_i].run;
	for (int contained = 0; contained < 2; contained++) {
		p.contained = contained;
		struct mpk_process_end end = run_one(&p);

		ck_assert_int_eq(end.how, ends[_i].how);
		ck_assert_int_eq(end.status, ends[_i].status);
		ck_assert_int_eq(mpk_process_succeeded(&end), ends[_i].succeeded);
		if (p.run == refuse) {
			ck_assert_int_eq(end.error.code, MPK_E_SYNTAX);
			ck_assert_str_eq(end.error.text, "no reason");
			ck_assert_uint_eq(end.error.at.column, 7);
		}
	}
}
END_TEST

START_TEST(program_is_missing)
{
	static const char *const missing[] = { "no-such-program", NULL };
	static const char *const here[] = { "true", NULL };
	struct mpk_process rows[] = { { .argv = missing }, { .argv = here, .dir = "no/such" } };

	struct mpk_process_end end = run_one(&rows[_i]);
	ck_assert_int_eq(end.how, MPK_PROCESS_NOT_EXECUTED);
	ck_assert_int_eq(end.status, ENOENT);
}
END_TEST

/* A module may write anything into the page that both processes see. */
static enum mpk_code damage(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)data;
	(void)err;
	memset(&self->error, 'x', sizeof self->error);
	self->returned = true;
	_exit(0);
}

START_TEST(damaged_error_is_bounded)
{
	struct mpk_process p = { .run = damage };
	struct mpk_process_end end = run_one(&p);

	ck_assert_int_eq(end.how, MPK_PROCESS_RETURNED);
	ck_assert_int_eq(end.error.code, MPK_E_RAISED); /* no defect of ours, and no success */
	ck_assert_uint_eq(strlen(end.error.text), sizeof end.error.text - 1);
	ck_assert_uint_eq(strlen(end.error.at.file), sizeof end.error.at.file - 1);
}
END_TEST

/* --- what a child sees ------------------------------------------------------------ */

START_TEST(environment_and_directory)
{
	static const char *const env[] = { "MPK_TEST=a b", "HOME=/nowhere", NULL };
	struct mpk_process p = shell("test \"$MPK_TEST|$HOME|$MPK_KEPT|$(pwd)\" = "
				     "'a b|/nowhere|kept|/' && test -z \"$(cat)\"");

	ck_assert_int_eq(setenv("MPK_KEPT", "kept", 1), 0);
	p.env = env;
	p.dir = "/";
	struct mpk_process_end end = run_one(&p);
	ck_assert(mpk_process_succeeded(&end));
	ck_assert_ptr_null(getenv("MPK_TEST"));
}
END_TEST

static enum mpk_code print(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)data;
	(void)err;
	(void)fputs("out\n", stdout);
	(void)fputs("err\n", stderr);
	return MPK_OK;
}

/* Row: where output goes; of a program, and of a function whose output is buffered. What this
 * process has in its own buffer is not written twice. */
START_TEST(output)
{
	static const struct {
		enum mpk_process_output output;
		const char *messages, *file;
	} rows[] = {
		{ MPK_OUTPUT_MESSAGES, "out\nerr\n", "" },
		{ MPK_OUTPUT_DISCARD, "", "" },
		{ MPK_OUTPUT_FILE, "err\n", "head\nout\n" },
		{ MPK_OUTPUT_LOG, "", "head\nout\nerr\n" },
	};
	int saved[2] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };

	for (int function = 0; function < 2; function++) {
		struct mpk_process p = shell("echo out; echo err >&2");
		int own = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
		int messages = open("messages", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);

		p.argv = function ? NULL : p.argv;
		p.run = function ? print : NULL;
		p.output = rows[_i].output;
		p.fd = open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (*rows[_i].file)
			ck_assert_int_eq(write(p.fd, "head\n", 5), 5);
		(void)dup2(own, STDOUT_FILENO);
		(void)dup2(messages, STDERR_FILENO);
		(void)fputs("ours\n", stdout);
		struct mpk_process_end end = run_one(&p);
		(void)fflush(stdout);
		(void)dup2(saved[0], STDOUT_FILENO);
		(void)dup2(saved[1], STDERR_FILENO);
		ck_assert(mpk_process_succeeded(&end));
		ck_assert(mpk_span_is(read_file("own"), "ours\n"));
		ck_assert(mpk_span_is(read_file("file"), rows[_i].file));
		/* the order of two streams is not ours to promise */
		ck_assert_uint_eq(read_file("messages").len, strlen(rows[_i].messages));
		close(own);
		close(messages);
		close(p.fd);
	}
	close(saved[0]);
	close(saved[1]);
}
END_TEST

static void on_signal(int sig)
{
	(void)sig;
	write_file("handled", "x");
}

/* Handlers are gone, what is ignored stays so, the mask is the one from before; and the caller
 * has all of it back afterwards. */
static enum mpk_code look_at_signals(struct mpk_process_self *self, void *data,
				     struct mpk_error *err)
{
	static const struct {
		int sig;
		bool ignored, blocked;
	} rows[] = { { SIGTERM, false, false },
		     { SIGUSR1, false, true },
		     { SIGHUP, true, false },
		     { SIGCHLD, false, false },
		     { SIGSEGV, false, false } };
	struct sigaction now;
	sigset_t mask;

	(void)self;
	(void)data;
	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		(void)sigaction(rows[i].sig, NULL, &now);
		if (now.sa_handler != (rows[i].ignored ? SIG_IGN : SIG_DFL))
			return mpk_fail(err, MPK_E_INTERNAL, "handler of %d", rows[i].sig);
		if ((sigismember(&mask, rows[i].sig) == 1) != rows[i].blocked)
			return mpk_fail(err, MPK_E_INTERNAL, "mask of %d", rows[i].sig);
	}
	return MPK_OK;
}

START_TEST(signals_are_reset)
{
	struct mpk_process p = { .run = look_at_signals };
	struct sigaction now;
	sigset_t block, mask;

	(void)signal(SIGTERM, on_signal);
	(void)signal(SIGUSR1, on_signal);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGCHLD, SIG_IGN); /* nobody could wait for children */
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &block, NULL);
	struct mpk_process_end end = run_one(&p);
	ck_assert_msg(mpk_process_succeeded(&end), "%s", end.error.text);
	ck_assert_int_eq(sigaction(SIGCHLD, NULL, &now), 0);
	ck_assert(now.sa_handler == SIG_IGN);
	ck_assert_int_eq(sigaction(SIGTERM, NULL, &now), 0);
	ck_assert(now.sa_handler == on_signal);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
	ck_assert_int_eq(sigismember(&mask, SIGCHLD), 0);
	ck_assert_int_eq(sigismember(&mask, SIGUSR1), 1);
	/* sh knows what was ignored when it began */
	p = shell("kill -HUP $$; kill -TERM $$; sleep 9");
	end = run_one(&p);
	ck_assert_int_eq(end.how, MPK_PROCESS_KILLED);
	ck_assert_int_eq(end.status, SIGTERM);
	ck_assert_int_ne(access("handled", F_OK), 0);
	(void)signal(SIGCHLD, SIG_DFL);
}
END_TEST

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* Calls that a handler interrupts go on. */
START_TEST(interruptions)
{
	struct sigaction action = { .sa_handler = on_alarm }; /* no SA_RESTART */
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	struct mpk_process p = shell("sleep 0.3; exit 5");

	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &every, NULL), 0);
	for (int contained = 0; contained < 2; contained++) {
		p.contained = contained;
		struct mpk_process_end end = run_one(&p);

		ck_assert_int_eq(end.how, MPK_PROCESS_EXITED);
		ck_assert_int_eq(end.status, 5);
	}
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	ck_assert_int_gt(alarms, 3);
}
END_TEST

static int ticks;

/* Lets the child go after some, when two came as soon after each other as they are to. */
static void count_tick(void *data)
{
	static int64_t last;
	int64_t now = mpk_clock();

	ck_assert_ptr_eq(data, &ticks);
	if (++ticks >= 4 && now - last < MPK_NANOSECONDS / 5)
		write_file("enough", "");
	last = now;
}

/* Every tenth of a second, the first at once. */
START_TEST(a_child_that_runs_ticks)
{
	struct mpk_process p = shell("until [ -e enough ]; do sleep 0.05; done");
	int64_t began = mpk_clock();

	p.tick = count_tick;
	p.data = &ticks;
	ck_assert(mpk_process_succeeded(&(struct mpk_process_end[]){ run_one(&p) }[0]));
	ck_assert_int_ge(ticks, 4);
	ck_assert_int_le(ticks, 1 + 10 * (mpk_clock() - began) / MPK_NANOSECONDS);
}
END_TEST

static void stop_now(void *data)
{
	(void)data;
	if (++ticks == 2)
		mpk_process_stop();
}

/* Also when nothing else would wake whoever waits; and nothing runs any more after it. */
START_TEST(a_stop_kills_children)
{
	struct mpk_process p = shell("sleep 60");
	int64_t began = mpk_clock();

	p.tick = stop_now;
	ck_assert_int_eq(run_one(&p).how, MPK_PROCESS_LATE);
	p.tick = NULL;
	ck_assert_int_eq(run_one(&p).how, MPK_PROCESS_LATE);
	ck_assert_int_lt(mpk_clock() - began, INT64_C(20000000000));
}
END_TEST

/* --- several ----------------------------------------------------------------------- */

START_TEST(all_run)
{
	static char a[] = "a", b[] = "b";
	struct mpk_process list[] = { { .run = succeed, .data = a },
				      shell("touch tool"),
				      { .run = succeed, .data = b } };
	struct mpk_process_end end[3];

	ck_assert_int_eq(mpk_process_run(list, 3, (unsigned)_i, end, NULL), MPK_OK);
	for (size_t i = 0; i < 3; i++)
		ck_assert(mpk_process_succeeded(&end[i]));
	ck_assert_int_eq(access("a", F_OK) | access("tool", F_OK) | access("b", F_OK), 0);
}
END_TEST

/* Each of two waits for the other to begin; the third would find both done. */
START_TEST(as_many_at_a_time_as_asked)
{
	struct mpk_process list[] = {
		shell("echo 1 >1; while [ ! -e 2 ]; do sleep 0.01; done; sleep 0.1; echo 1 >done1"),
		shell("echo 2 >2; while [ ! -e 1 ]; do sleep 0.01; done; sleep 0.1; echo 2 >done2"),
		shell("test -e done1 || test -e done2"),
	};
	struct mpk_process_end end[3];

	ck_assert_int_eq(mpk_process_run(list, 3, 2, end, NULL), MPK_OK);
	ck_assert(mpk_process_succeeded(&end[2]));
}
END_TEST

START_TEST(none_is_started_after_a_failure)
{
	static char later[] = "later";
	struct mpk_process list[] = { shell("sleep 0.2; exit 1"),
				      { .run = refuse },
				      { .run = succeed, .data = later } };
	struct mpk_process_end end[3];

	ck_assert_int_eq(mpk_process_run(list, 3, 2, end, NULL), MPK_OK);
	/* the first was running and is waited for */
	ck_assert_int_eq(end[0].how, MPK_PROCESS_EXITED);
	ck_assert_int_eq(end[0].status, 1);
	ck_assert_int_eq(end[1].how, MPK_PROCESS_RETURNED);
	ck_assert_int_eq(end[2].how, MPK_PROCESS_LEFT_OUT);
	ck_assert_int_ne(access("later", F_OK), 0);
}
END_TEST

/* A child that the caller has otherwise is neither reaped nor killed. */
START_TEST(other_children_are_left_alone)
{
	struct mpk_process p = { .run = succeed, .contained = _i };
	int status = 0, left = 0;
	pid_t dead = fork();

	if (dead == 0)
		_exit(7);
	pid_t alive = fork();
	if (alive == 0) {
		(void)pause();
		_exit(1);
	}
	struct mpk_process_end end = run_one(&p);
	ck_assert(mpk_process_succeeded(&end));
	ck_assert_int_eq(waitpid(dead, &status, 0), dead);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	ck_assert_int_eq(waitpid(alive, &status, WNOHANG), 0);
	ck_assert_int_eq(kill(alive, SIGKILL), 0);
	ck_assert_int_eq(waitpid(alive, &status, 0), alive);
	ck_assert_int_eq(prctl(PR_GET_CHILD_SUBREAPER, &left), 0);
	ck_assert_int_eq(left, 0);
}
END_TEST

/* --- arguments ---------------------------------------------------------------------- */

START_TEST(arguments)
{
	struct mpk_argv v = { .arena = &arena };
	static const char *const more[] = { "x", "y" };

	for (int i = 0; i < 100; i++)
		mpk_argv_printf(&v, "%d", i);
	mpk_argv_add_all(&v, &(struct mpk_words){ more, 2 });
	ck_assert(!v.failed);
	ck_assert_uint_eq(v.count, 102);
	ck_assert_str_eq(v.items[99], "99");
	ck_assert_str_eq(v.items[101], "y");
	ck_assert_ptr_null(v.items[102]);
	mpk_argv_add(&v, NULL);
	ck_assert(v.failed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process");
	TCase *one = add_case(suite, "one"), *several = add_case(suite, "several");

	tcase_add_loop_test(one, ends_are_told, 0, MPK_ARRAY_COUNT(ends));
	tcase_add_loop_test(one, program_is_missing, 0, 2);
	tcase_add_test(one, damaged_error_is_bounded);
	tcase_add_test(one, environment_and_directory);
	tcase_add_loop_test(one, output, 0, 3);
	tcase_add_test(one, signals_are_reset);
	tcase_add_test(one, interruptions);
	tcase_add_test(one, a_child_that_runs_ticks);
	tcase_add_test(one, a_stop_kills_children);
	tcase_add_test(one, arguments);
	tcase_add_loop_test(several, all_run, 0, 4);
	tcase_add_test(several, as_many_at_a_time_as_asked);
	tcase_add_test(several, none_is_started_after_a_failure);
	tcase_add_loop_test(several, other_children_are_left_alone, 0, 2);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes (process/process.h): their time, and what is left of them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "clock_made.h"
#include "process/internal/process.h"
#include "process/process.h"
#include "process_made.h"

/* --- time -------------------------------------------------------------------------- */

START_TEST(late_ones_are_killed)
{
	struct mpk_process p = shell("sleep 60");
	double began = seconds();

	p.timeout = 0.2;
	p.contained = _i;
	struct mpk_process_end end = run_one(&p);
	ck_assert_int_eq(end.how, MPK_PROCESS_LATE);
	ck_assert(seconds() - began >= 0.2);
}
END_TEST

/* What hear is told and answers: a byte a message. Meanwhile time passes by the message, so that a busy machine
 * makes nobody late. */
struct talk {
	int ends[2];    /* of a pipe; the parent reads the first */
	int answers[2]; /* of another, the other way */
	double pace;    /* seconds that a message takes */
	int heard;
};

static enum mpk_process_heard hear(void *data, bool has_ended, double *seconds)
{
	struct talk *t = data;
	char byte;

	(void)has_ended;
	if (read(t->ends[0], &byte, 1) != 1) {
		if (t->heard)
			(void)!write(t->answers[1], &t->heard, 1);
		return MPK_HEARD_NOTHING;
	}
	t->heard++;
	clock_move(t->pace);
	*seconds = byte == 'l' ? 0.1 : 0;
	return byte == 'l' || byte == 'f' ? MPK_HEARD_NEW_TIME
	       : byte == 'k'              ? MPK_HEARD_KILL
	       : byte == 'e'              ? MPK_HEARD_ENOUGH
					  : MPK_HEARD_ONE;
}

static struct mpk_process talker(struct talk *t, mpk_process_fn *fn, double timeout)
{
	*t = (struct talk){ 0 };
	ck_assert_int_eq(pipe2(t->ends, O_NONBLOCK) | pipe(t->answers), 0);
	return (struct mpk_process){ .run = fn,
				     .data = t,
				     .hear = hear,
				     .channel = t->ends[0],
				     .timeout = timeout,
				     .contained = true };
}

static void talk_end(struct talk *t)
{
	clock_restore();
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(close(t->ends[i]) | close(t->answers[i]), 0);
}

static void say(const struct talk *t, const char *what)
{
	ck_assert_int_eq(write(t->ends[1], what, strlen(what)), (ssize_t)strlen(what));
}

static enum mpk_code take_more_time(struct mpk_process_self *self, void *data,
				    struct mpk_error *err)
{
	struct talk *t = data;
	char heard;

	(void)self;
	(void)err;
	say(t, "f");
	(void)!read(t->answers[0], &heard, 1);
	say(t, "l");
	(void)sleep(60);
	return MPK_OK;
}

/* A deadline that is taken away does not end the child, one that is set later does. */
START_TEST(deadline_moves)
{
	struct talk t;
	struct mpk_process p = talker(&t, take_more_time, 100);
	double began = seconds();

	t.pace = 200;
	struct mpk_process_end end = run_one(&p);
	ck_assert_int_eq(end.how, MPK_PROCESS_LATE);
	ck_assert(seconds() - began >= 400.1);
	ck_assert_int_eq(t.heard, 2);
	talk_end(&t);
}
END_TEST

static enum mpk_code damage_all(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)err;
	memset(self, 0x7f, sizeof *self);
	for (int i = 0; i < 1000; i++)
		say(data, "x");
	(void)sleep(60);
	return MPK_OK;
}

/* Whatever the child writes, and says: only what hear answers moves its deadline. */
START_TEST(deadline_stays)
{
	struct talk t;
	struct mpk_process p = talker(&t, damage_all, 999.5);

	clock_stop();
	t.pace = 1;
	struct mpk_process_end end = run_one(&p);
	ck_assert_int_eq(end.how, MPK_PROCESS_LATE);
	ck_assert_int_eq(t.heard, 1000);
	talk_end(&t);
}
END_TEST

static enum mpk_code lie(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)err;
	say(data, "xkx");
	(void)sleep(60);
	return MPK_OK;
}

START_TEST(a_liar_is_killed)
{
	struct talk t;
	struct mpk_process p = talker(&t, lie, 0);
	struct mpk_process_end end = run_one(&p);

	ck_assert_int_eq(end.how, MPK_PROCESS_STOPPED);
	ck_assert_int_eq(t.heard, 2);
	talk_end(&t);
}
END_TEST

static enum mpk_code speak_and_end(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	(void)self;
	(void)err;
	say(data, "xxexx");
	return MPK_OK;
}

/* What it said last is heard also when it has ended by then, up to what is enough. */
START_TEST(last_words_are_heard)
{
	for (int i = 0; i < 50; i++) {
		struct talk t;
		struct mpk_process p = talker(&t, speak_and_end, 0);
		struct mpk_process_end end = run_one(&p);

		ck_assert_int_eq(end.how, MPK_PROCESS_RETURNED);
		ck_assert_int_eq(t.heard, 3);
		talk_end(&t);
	}
}
END_TEST

/* Nobody watches: the kernel does. */
START_TEST(processor_time_ends)
{
	struct mpk_process p = shell("while :; do :; done");
	struct mpk_process_end end;

	p.cpu_seconds = 0.1;
	end = run_one(&p);
	ck_assert_int_eq(end.how, MPK_PROCESS_KILLED);
	ck_assert_int_eq(end.status, SIGKILL);
}
END_TEST

/* --- what is left ------------------------------------------------------------------ */

/* A pipe whose end tells that of every process that has it: a contained one writes numbers that are its
 * own namespace's. */
static int line[2];

static void life_begin(void)
{
	ck_assert_int_eq(pipe(line), 0);
	ck_assert_int_eq(fcntl(line[0], F_SETFD, FD_CLOEXEC), 0);
}

/* @wait    milliseconds */
static bool life_has_ended(int wait)
{
	struct pollfd p = { .fd = line[0] };

	(void)close(line[1]);
	line[1] = -1;
	return poll(&p, 1, wait) == 1;
}

/* Row: not contained, contained; ended by itself or at its time. A daemon that has left the
 * group and the session of the child is killed only with one that is contained. */
START_TEST(daemons)
{
	bool contained = _i > 0, late = _i == 2;
	struct mpk_process p = shell(late ? "setsid sh -c 'echo $$ >pid; exec sleep 60' & sleep 60"
					  : "setsid sh -c 'echo $$ >pid; exec sleep 60' & "
					    "while [ ! -s pid ]; do sleep 0.01; done");

	life_begin();
	p.contained = contained;
	p.timeout = late ? 1 : 0;
	struct mpk_process_end end = run_one(&p);
	ck_assert_int_eq(end.how, late ? MPK_PROCESS_LATE : MPK_PROCESS_EXITED);
	ck_assert_int_eq(life_has_ended(0), contained);
	if (!contained)
		(void)kill(pid_in("pid"), SIGKILL);
}
END_TEST

/* Row: not contained; contained; and the same without namespaces. A program ends when the process that runs it
 * is killed, and of one that is contained what it started. */
START_TEST(children_end_with_us)
{
	static const int signals[] = { SIGHUP, SIGTERM, SIGKILL };
	const char *script = _i ? "setsid sleep 60 & sh -c 'echo $$ >pid; exec sleep 60'"
				: "echo $$ >pid; exec sleep 60";

	for (size_t i = 0; i < MPK_ARRAY_COUNT(signals); i++) {
		struct mpk_process p = shell(script);

		p.contained = _i > 0;
		life_begin();
		pid_t child = fork();
		if (child == 0) {
			if (_i == 2)
				refuse_namespaces();
			(void)signal(signals[i], SIG_DFL);
			(void)run_one(&p);
			_exit(0);
		}
		(void)pid_in("pid");
		ck_assert_int_eq(unlink("pid"), 0);
		ck_assert(!life_has_ended(0));
		ck_assert_int_eq(kill(child, signals[i]), 0);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		ck_assert(life_has_ended(10000));
		(void)close(line[0]);
	}
}
END_TEST

/* --- the cleanup process ------------------------------------------------------------ */

static void say_cleaned(void *data)
{
	int fd = open(data, O_WRONLY | O_CREAT, 0600);

	(void)!write(fd, "cleaned", 7);
	(void)close(fd);
}

/* The whole path: it may be in another directory by then. */
static char *mark_path(void)
{
	return mpk_arena_printf(&arena, "%s/cleaned", dir);
}

START_TEST(cleanup_after_a_kill)
{
	char *path = mark_path();
	pid_t child = fork();

	if (child == 0) {
		struct mpk_cleanup c = { 0 };

		(void)signal(SIGINT, SIG_DFL); /* the test runner's handler would kill the test */
		if (mpk_cleanup_start(say_cleaned, path, &c, NULL) == MPK_OK)
			(void)raise(_i ? SIGKILL : SIGINT);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	wait_for_file(path);
}
END_TEST

/* A process that ours has forked has a copy of all that ours has open, and may go on. */
START_TEST(cleanup_waits_for_us_alone)
{
	char *path = mark_path();
	int life[2];
	char byte;

	ck_assert_int_eq(pipe(life), 0);
	pid_t child = fork();
	if (child == 0) {
		struct mpk_cleanup c = { 0 };

		(void)close(life[1]);
		if (mpk_cleanup_start(say_cleaned, path, &c, NULL) != MPK_OK)
			_exit(1);
		if (fork() > 0)
			(void)raise(SIGKILL);
		(void)!read(life[0], &byte, 1); /* until the test is over */
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	wait_for_file(path);
	ck_assert_int_eq(close(life[0]) | close(life[1]), 0);
}
END_TEST

START_TEST(cleanup_is_called_off)
{
	struct mpk_cleanup c = { 0 };
	char *path = mark_path();

	mpk_cleanup_stop(&c, true); /* there is none */
	ck_assert_int_eq(mpk_cleanup_start(say_cleaned, path, &c, NULL), MPK_OK);
	mpk_cleanup_stop(&c, false);
	mpk_cleanup_stop(&c, true);
	ck_assert_int_eq(mpk_cleanup_start(say_cleaned, path, &c, NULL), MPK_OK);
	(void)usleep(100000);
	ck_assert_int_ne(access(path, F_OK), 0);
	mpk_cleanup_stop(&c, true);
	wait_for_file(path);
}
END_TEST

/* Whoever waits for the end of our output does not wait for the cleanup process. */
START_TEST(cleanup_holds_no_descriptor)
{
	struct mpk_cleanup c = { 0 };
	char *path = mark_path(), byte;
	int ends_of[2];

	ck_assert_int_eq(pipe(ends_of), 0);
	int high = fcntl(ends_of[1], F_DUPFD, 500);
	ck_assert_int_ge(high, 500);
	ck_assert_int_eq(mpk_cleanup_start(say_cleaned, path, &c, NULL), MPK_OK);
	ck_assert_int_eq(close(ends_of[1]) | close(high), 0);
	ck_assert_int_eq(read(ends_of[0], &byte, 1), 0);
	ck_assert_int_eq(close(ends_of[0]), 0);
	mpk_cleanup_stop(&c, false);
	/* nor is it a child that anybody could wait for */
	ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process_end");
	TCase *time = add_case(suite, "time"), *left = add_case(suite, "what is left");

	tcase_add_loop_test(time, late_ones_are_killed, 0, 2);
	tcase_add_test(time, deadline_moves);
	tcase_add_test(time, deadline_stays);
	tcase_add_test(time, a_liar_is_killed);
	tcase_add_test(time, last_words_are_heard);
	tcase_add_test(time, processor_time_ends);
	tcase_add_loop_test(left, daemons, 0, 3);
	tcase_add_loop_test(left, children_end_with_us, 0, 3);
	tcase_add_loop_test(left, cleanup_after_a_kill, 0, 2);
	tcase_add_test(left, cleanup_waits_for_us_alone);
	tcase_add_test(left, cleanup_is_called_off);
	tcase_add_test(left, cleanup_holds_no_descriptor);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

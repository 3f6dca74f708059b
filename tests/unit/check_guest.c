/* SPDX-License-Identifier: Apache-2.0 */
/* the runtime as a guest: in a shared object that is opened and closed while it has threads, while
 * threads of the program keep memory of it, before and after forks */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "../guest/guest.h"
#include "process_seen.h"

static char path[4000];
static void *library;
static const struct guest *at;

/* <dir>/tests/unit/check_guest -> <dir>/tests/guest/guest.so */
static bool find_guest(void)
{
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 100);

	if (len <= 0)
		return false;
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	strcpy(strrchr(path, '/'), "/guest/guest.so");
	return true;
}

static void enter(void)
{
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		ck_abort_msg("%s", dlerror());
	at = dlsym(library, "guest");
	if (!at)
		ck_abort_msg("%s", dlerror());
}

/* musl closes nothing before the program ends. */
#ifdef __GLIBC__
enum { CLOSES = 1 };
#else
enum { CLOSES = 0 };
#endif

static void leave(void)
{
	if (dlclose(library) != 0)
		ck_abort_msg("%s", dlerror());
	library = CLOSES ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
	if (library)
		ck_abort_msg("the shared object is still there");
}

enum { TASKS = 3, SUM = 6, ROUNDS = 100, LEFT = CLOSES ? 1 : TASKS };

/* The runtime takes its threads along, and what its user forgets the shared object does. */
START_TEST(close_again_and_again)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *runtime;

		enter();
		runtime = at->open_runtime();
		ck_assert_ptr_nonnull(runtime);
		ck_assert_int_eq(at->sum_tasks(TASKS), SUM);
		ck_assert_int_ge(threads_now(), TASKS);
		at->close_runtime(runtime);
		ck_assert_int_eq(threads_after_moments(1), 1);
		leave();
	}
}
END_TEST

START_TEST(close_with_threads_alive)
{
	for (int i = 0; i < ROUNDS; i++) {
		enter();
		ck_assert_int_eq(at->sum_tasks(TASKS), SUM);
		if (i % 2)
			(void)usleep(200); /* or they are still on their way to sleep */
		leave();
		ck_assert_int_eq(threads_after_moments(LEFT), LEFT);
	}
}
END_TEST

static void *volatile forgotten; /* so that it is not lost */

/* A runtime that is open at the end is a mistake of the program, but no crash. */
START_TEST(close_with_a_runtime_open)
{
	pid_t pid = fork_with_limit();

	if (pid == 0) {
		enter();
		forgotten = at->open_runtime();
		if (!forgotten || at->sum_tasks(TASKS) != SUM)
			_exit(1);
		leave();
		_exit(threads_after_moments(LEFT) != LEFT ? 1 : 0);
	}
	ck_assert_int_eq(child_end(pid), 0);
}
END_TEST

static sem_t has_kept, may_end;

static void *keep_scratch(void *argument)
{
	(void)argument;
	at->scratch(100000);
	at->scratch(10);
	(void)sem_post(&has_kept);
	while (sem_wait(&may_end) != 0)
		;
	return NULL;
}

/* What runs at the end of a thread is not in the shared object any more. */
START_TEST(threads_outlive_it)
{
	enum { THREADS = 3 };
	pthread_t threads[THREADS];

	ck_assert_int_eq(sem_init(&has_kept, 0, 0), 0);
	ck_assert_int_eq(sem_init(&may_end, 0, 0), 0);
	for (int round = 0; round < ROUNDS; round++) {
		void *runtime;

		enter();
		runtime = at->open_runtime();
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, keep_scratch, NULL), 0);
		for (int i = 0; i < THREADS; i++)
			while (sem_wait(&has_kept) != 0)
				;
		if (round % 2) { /* one ends before */
			ck_assert_int_eq(sem_post(&may_end), 0);
			ck_assert_int_eq(threads_after_moments(THREADS), THREADS);
		}
		at->close_runtime(runtime);
		leave();
		for (int i = round % 2; i < THREADS; i++)
			ck_assert_int_eq(sem_post(&may_end), 0);
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	}
	(void)sem_destroy(&has_kept);
	(void)sem_destroy(&may_end);
}
END_TEST

static int work_in_child(void)
{
	void *runtime;

	if (threads_now() != 1)
		return 1;
	if (at->sum_tasks(TASKS) != SUM || threads_now() != TASKS)
		return 2;
	at->scratch(5000);
	runtime = at->open_runtime();
	if (!runtime || at->sum_tasks(TASKS + 1) != SUM + TASKS + 1)
		return 3;
	at->close_runtime(runtime);
	return 0;
}

/* Of a parent whose threads wait, or are on their way to. */
START_TEST(fork_after_a_loop)
{
	void *runtime;

	enter();
	runtime = at->open_runtime();
	for (int i = 0; i < 50; i++) {
		pid_t pid;

		ck_assert_int_eq(at->sum_tasks(TASKS), SUM);
		if (i % 2)
			(void)usleep(200);
		pid = fork_with_limit();
		if (pid == 0)
			_exit(work_in_child());
		ck_assert_int_eq(child_end(pid), 0);
		ck_assert_int_eq(at->sum_tasks(TASKS), SUM);
	}
	ck_assert_int_eq(threads_now(), TASKS);
	at->close_runtime(runtime);
	leave();
}
END_TEST

/* The handlers of fork go with the shared object, on both sides. */
START_TEST(fork_and_close)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		enter();
		ck_assert_int_eq(at->sum_tasks(TASKS), SUM);
		pid = fork_with_limit();
		if (pid == 0) {
			if (i % 2 && work_in_child() != 0)
				_exit(1);
			leave();
			pid = fork_with_limit();
			_exit(pid == 0 ? 0 : child_end(pid));
		}
		ck_assert_int_eq(child_end(pid), 0);
		leave();
		pid = fork_with_limit();
		if (pid == 0)
			_exit(0);
		ck_assert_int_eq(child_end(pid), 0);
	}
}
END_TEST

/* Destructors run at the end of a program, too, whoever ends it and however it was forked. */
START_TEST(exit_with_it_open)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork_with_limit();

		if (pid == 0) {
			enter();
			forgotten = at->open_runtime();
			if (!forgotten || at->sum_tasks(TASKS) != SUM)
				_exit(1);
			pid = i % 2 ? fork_with_limit() : 0;
			exit(pid == 0 ? 0 : child_end(pid));
		}
		ck_assert_int_eq(child_end(pid), 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("guest");
	TCase *tc = tcase_create("guest");
	SRunner *r = srunner_create(s);

	if (!find_guest())
		return 1;
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, hide_threads, NULL);
	tcase_add_test(tc, close_again_and_again);
	tcase_add_test(tc, close_with_threads_alive);
	tcase_add_test(tc, close_with_a_runtime_open);
	tcase_add_test(tc, threads_outlive_it);
	tcase_add_test(tc, fork_after_a_loop);
	tcase_add_test(tc, fork_and_close);
	tcase_add_test(tc, exit_with_it_open);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}

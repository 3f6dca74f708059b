/* SPDX-License-Identifier: Apache-2.0 */
/* process_seen.h - a process as the system sees it: its threads, its memory, how its children end
 *
 * An assertion writes a line for Check, also where it holds, so there are none in what threads and children
 * call.
 */
#ifndef MPK_TESTS_UNIT_PROCESS_SEEN_H
#define MPK_TESTS_UNIT_PROCESS_SEEN_H

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

HARNESS_FN int threads_listed(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		count += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return count;
}

static int threads_hidden;

HARNESS_FN void *tell_number(void *number)
{
	*(pid_t *)number = gettid();
	return NULL;
}

/* A thread that has been joined is listed for another moment, which is long on a busy machine. */
HARNESS_FN void wait_until_not_listed(pid_t number)
{
	char name[48];

	(void)snprintf(name, sizeof name, "/proc/self/task/%d", (int)number);
	while (access(name, F_OK) == 0)
		(void)usleep(1000); /* until the test's own time is up */
}

/* hide_threads - before each test: threads of a sanitizer do not count, which come with the first other one */
HARNESS_FN void hide_threads(void)
{
	pthread_t thread;
	pid_t number = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, tell_number, &number), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	wait_until_not_listed(number);
	threads_hidden = threads_listed() - 1;
}

HARNESS_FN int threads_now(void)
{
	return threads_listed() - threads_hidden;
}

/* A thread that has been joined is seen for another moment. */
HARNESS_FN int threads_after_moments(int wanted)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < 5000 && threads_now() != wanted; i++)
		(void)nanosleep(&moment, NULL);
	return threads_now();
}

HARNESS_FN long resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%*d %ld", &pages), 1);
	(void)fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* fork, in whose child nothing may wait for ever. ThreadSanitizer can make no threads in a child of a process
 * that has some: there it ends at once, and only what the parent does is tested. */
HARNESS_FN pid_t fork_with_limit(void)
{
	pid_t pid = fork();

	if (pid < 0)
		ck_abort_msg("no child can be made");
	if (pid == 0)
		(void)alarm(60);
#ifdef __SANITIZE_THREAD__
	if (pid == 0)
		_exit(0);
#endif
	return pid;
}

/* How a child ended: its exit status, or 256 and the signal. */
HARNESS_FN int child_end(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* process_made.h - children that tests run, and how to look at them */
#ifndef MPK_TESTS_UNIT_PROCESS_MADE_H
#define MPK_TESTS_UNIT_PROCESS_MADE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "process/process.h"
#include "workdir.h"

HARNESS_FN struct mpk_process shell(const char *script)
{
	const char **argv = mpk_arena_array(&arena, 4, sizeof *argv);

	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = script;
	return (struct mpk_process){ .argv = argv };
}

HARNESS_FN struct mpk_process_end run_one(const struct mpk_process *p)
{
	struct mpk_process_end end;
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_process_run(p, 1, 1, &end, &err) == MPK_OK, "%s", err.text);
	return end;
}

HARNESS_FN double seconds(void)
{
	struct timespec t;

	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &t), 0);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

HARNESS_FN void wait_for_file(const char *name)
{
	struct stat st;

	while (stat(name, &st) != 0 || st.st_size < 2)
		(void)usleep(1000); /* until the test's own time is up */
}

HARNESS_FN pid_t pid_in(const char *name)
{
	int pid = 0;

	wait_for_file(name);
	FILE *f = fopen(name, "r");
	ck_assert_int_eq(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

/* A zombie that nobody has reaped yet has ended, too. */
HARNESS_FN bool has_ended(pid_t pid)
{
	char name[32], state = 'Z';

	(void)snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(name, "r");
	if (!f)
		return true;
	if (fscanf(f, "%*d %*s %c", &state) != 1)
		state = 'Z';
	fclose(f);
	return state == 'Z';
}

HARNESS_FN void assert_ends(pid_t pid)
{
	while (!has_ended(pid))
		(void)usleep(1000);
}

/* As of a system that lets nobody have namespaces. */
HARNESS_FN void refuse_namespaces(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof code / sizeof *code, code };

	/* root may go without the first */
	ck_assert(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ||
		  (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0));
}

HARNESS_FN TCase *add_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, workdir_enter, workdir_leave);
	tcase_set_timeout(tc, 30);
	suite_add_tcase(suite, tc);
	return tc;
}

#endif

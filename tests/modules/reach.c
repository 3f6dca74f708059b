/* SPDX-License-Identifier: Apache-2.0 */
/* Code that does to its caller whatever the kernel has a call for: every call that takes the number of a
 * process, every file of it in /proc, programs, its groups and its terminal. In the folder where it runs it
 * waits for the file go, and writes the file done. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

struct any {
	int type, pad;
	union {
		long value;
		const char *text;
	};
};
#define FN(name)                                                                                   \
	int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)

/* Arguments of calls: the process, its group as kill and as others take it, pointers to what they take. */
enum {
	PID = -1000,
	NEGATIVE,
	GROUP,
	OWN,
	LIMIT,
	PARAM,
	ATTR,
	CPUS,
	VECTOR,
	INFO,
	OWNER,
	PERF,
	NODES,
	PIDFD,
	DIRFD
};

static const struct {
	long nr, args[6];
} calls[] = {
	{ SYS_kill, { PID, SIGSTOP } },
	{ SYS_kill, { PID, SIGTERM } },
	{ SYS_kill, { NEGATIVE, SIGTERM } },
	{ SYS_tkill, { PID, SIGSTOP } },
	{ SYS_tgkill, { PID, PID, SIGSTOP } },
	{ SYS_tgkill, { -1, PID, SIGSTOP } },
	{ SYS_rt_sigqueueinfo, { PID, SIGSTOP, INFO } },
	{ SYS_rt_tgsigqueueinfo, { PID, PID, SIGSTOP, INFO } },
	{ SYS_ptrace, { PTRACE_ATTACH, PID } },
	{ SYS_ptrace, { 0x4206 /* SEIZE */, PID } },
	{ SYS_process_vm_writev, { PID, VECTOR, 1, VECTOR, 1 } },
	{ SYS_prlimit64, { PID, RLIMIT_CPU, LIMIT } },
	{ SYS_prlimit64, { PID, RLIMIT_FSIZE, LIMIT } },
	{ SYS_prlimit64, { PID, RLIMIT_NOFILE, LIMIT } },
	{ SYS_prlimit64, { PID, RLIMIT_AS, LIMIT } },
	{ SYS_setpriority, { PRIO_PROCESS, PID, 19 } },
	{ SYS_setpriority, { PRIO_PGRP, GROUP, 19 } },
	{ SYS_ioprio_set, { 1, PID, 3 << 13 } },
	{ SYS_ioprio_set, { 2, GROUP, 3 << 13 } },
	{ SYS_sched_setscheduler, { PID, SCHED_IDLE, PARAM } },
	{ SYS_sched_setparam, { PID, PARAM } },
	{ SYS_sched_setattr, { PID, ATTR } },
	{ SYS_sched_setaffinity, { PID, 8, CPUS } },
	{ SYS_migrate_pages, { PID, 64, NODES, NODES } },
	{ SYS_move_pages, { PID, 1, NODES, NODES, NODES, 0 } },
	{ SYS_setpgid, { PID, PID } },
	{ SYS_setpgid, { 0, GROUP } },
	{ SYS_kill, { 0, SIGTERM } }, /* the group that the call before would have joined */
	{ SYS_perf_event_open, { PERF, PID, -1, -1, 0 } },
	{ SYS_kcmp, { PID, PID, 0, 1, 2 } },
	{ SYS_prctl, { 62 /* SCHED_CORE */, 2, PID, 0, 0 } },
	{ SYS_pidfd_send_signal, { PIDFD, SIGSTOP } },
	{ SYS_pidfd_send_signal, { DIRFD, SIGSTOP } },
	{ SYS_pidfd_getfd, { PIDFD, 2 } },
	{ SYS_process_madvise, { PIDFD, VECTOR, 1, 21 } },
	{ SYS_process_mrelease, { PIDFD } },
	{ SYS_setns, { PIDFD, CLONE_NEWPID } },
	{ SYS_fcntl, { OWN, F_SETOWN, PID } },
	{ SYS_fcntl, { OWN, F_SETOWN, NEGATIVE } },
	{ SYS_fcntl, { OWN, F_SETOWN_EX, OWNER } },
	{ SYS_ioctl, { OWN, 0x8901 /* FIOSETOWN */, OWNER } },
	{ SYS_vhangup, { 0 } },
	{ SYS_reboot, { 0xfee1dead, 0x28121969, 0, 0 } },
	{ SYS_kill, { -1, SIGTERM } },
};

static long limit[2], vector[2], info[16], perf[16] = { 0x8000000000L }, nodes[8], cpus[1] = { 1 };
static int param[1], attr[12] = { 48, SCHED_IDLE }, owner[2], folder;

/* one of the second folder that it opens */
static void watch_folder(void)
{
	DIR *d;

	(void)fcntl(folder, F_SETSIG, SIGTERM);
	(void)fcntl(folder, F_NOTIFY, DN_ACCESS | DN_MULTISHOT);
	d = opendir(".");
	while (d && readdir(d))
		;
	closedir(d);
}

/* What stands for an argument in the table. */
static long argument(long a, int pid, int group)
{
	char path[64];

	switch (a) {
	case PID:
		return pid;
	case NEGATIVE:
		return -group;
	case GROUP:
		return group;
	case OWN:
		return folder;
	case LIMIT:
		return (long)limit;
	case PARAM:
		return (long)param;
	case ATTR:
		return (long)attr;
	case CPUS:
		return (long)cpus;
	case VECTOR:
		return (long)vector;
	case INFO:
		return (long)info;
	case OWNER:
		return (long)owner;
	case PERF:
		return (long)perf;
	case NODES:
		return (long)nodes;
	case PIDFD:
		return syscall(SYS_pidfd_open, pid, 0);
	case DIRFD:
		snprintf(path, sizeof path, "/proc/%d", pid);
		return open(path, O_RDONLY | O_DIRECTORY);
	}
	return a;
}

static void call_all(int pid, int group)
{
	owner[1] = pid;
	folder = open(".", O_RDONLY);
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		long a[6];

		if (pid <= 1 && calls[i].nr == SYS_reboot)
			continue;
		for (int k = 0; k < 6; k++)
			a[k] = argument(calls[i].args[k], pid, group);
		(void)syscall(calls[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (calls[i].args[0] == OWN)
			watch_folder();
	}
}

/* Whatever file there is of it, and may be written. */
static void write_all(int pid)
{
	char path[512];

	snprintf(path, sizeof path, "/proc/%d", pid);
	for (int task = 0; task < 2; task++) {
		DIR *d = opendir(path);
		struct dirent *e;

		while (d && (e = readdir(d))) {
			char file[1024];

			snprintf(file, sizeof file, "%s/%s", path, e->d_name);
			int fd = open(file, O_WRONLY | O_NONBLOCK);
			if (fd < 0)
				continue;
			(void)!write(fd, "1000", 4);
			close(fd);
		}
		if (d)
			closedir(d);
		snprintf(path, sizeof path, "/proc/%d/task/%d", pid, pid);
	}
}

static void start_programs(int pid, int group)
{
	char script[1024];

	snprintf(script, sizeof script,
		 "exec >/dev/null 2>&1; kill -STOP %d; kill -TERM -%d; prlimit --pid %d --fsize=0;"
		 "chrt -i -p 0 %d;"
		 "renice -n 19 -p %d; renice -n 19 -g %d; ionice -c 3 -p %d; taskset -p 1 %d;"
		 "choom -p %d -n 1000; kill -TERM %d",
		 pid, group, pid, pid, pid, group, pid, pid, pid, pid);
	if (fork() == 0) {
		(void)setpgid(0, group);
		execl("/bin/sh", "sh", "-c", script, (char *)0);
		_exit(1);
	}
}

static void forever(void)
{
	for (;;)
		usleep(1000);
}

static void wait_for_all(void)
{
	usleep(300000);
	while (waitpid(-1, 0, WNOHANG) > 0)
		;
}

/* process, its group */
FN(reach)
{
	int pid = (int)args[0].value, group = (int)args[1].value;

	for (int sig = 1; sig < 65; sig++)
		signal(sig, SIG_IGN); /* a group is sent SIGTERM, as its own may be among it */
	signal(SIGCHLD, SIG_DFL);
	while (access("go", F_OK) != 0)
		usleep(1000);
	for (int own = 0; own < 2; own++) {
		int to = own ? getppid() : pid, its = own ? getpgid(getppid()) : group;

		write_all(to);
		start_programs(to, its);
		if (fork() == 0) {
			call_all(to, its);
			_exit(0);
		}
		wait_for_all();
		call_all(to, its);
	}
	close(open("done", O_WRONLY | O_CREAT, 0666));
	forever();
	return 0;
}

/* path of a terminal */
FN(terminal)
{
	struct termios t = { 0 };
	char stop = 26, end = 3;
	int fd = open(args[0].text, O_RDWR | O_NOCTTY), discipline = 27;

	for (int i = 0; i < 2; i++, fd = 2) {
		ioctl(fd, TIOCSCTTY, 1);
		ioctl(fd, TIOCSTI, &stop);
		ioctl(fd, TIOCSTI, &end);
		tcgetattr(fd, &t);
		t.c_lflag |= TOSTOP | ISIG;
		tcsetattr(fd, TCSANOW, &t);
		ioctl(fd, TIOCSETD, &discipline);
		ioctl(fd, 0x5437 /* TIOCVHANGUP */);
		ioctl(fd, TIOCEXCL);
		ioctl(fd, TCXONC, TCOOFF);
	}
	forever();
	return 0;
}

/* how many of the files can be written by which the kernel is told what to do to processes */
FN(kernel_files)
{
	static const char *const known[] = { "/proc/sys/kernel/core_pattern",
					     "/proc/sysrq-trigger" };
	FILE *f = fopen("/proc/self/mountinfo", "r");
	char line[4096], path[4096], file[8192];

	result->type = 1;
	result->value = 0;
	for (int i = 0; i < 2; i++)
		result->value += open(known[i], O_WRONLY) >= 0;
	while (f && fgets(line, sizeof line, f)) {
		if (!strstr(line, " - cgroup") || sscanf(line, "%*s %*s %*s %*s %4095s", path) != 1)
			continue;
		snprintf(file, sizeof file, "%s/cgroup.procs", path);
		result->value += open(file, O_WRONLY) >= 0;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Children are found through /proc, which lists processes of a machine and not of a parent:
 * hence the question to waitid first, whether there are any, which costs nothing. Where there is no /proc,
 * as in a bare chroot, every number that a process may have is asked for: a second, and nothing is left. */
#include "process/internal/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"

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
	/* The name in parentheses may hold anything, a parenthesis too. */
	const char *name_end = strrchr(stat, ')');
	return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0;
}

/* A way through the children of this process. */
struct seek {
	DIR *proc;  /* NULL: there is none */
	pid_t last; /* without it: the number that was tried last */
};

static struct seek seek_begin(void)
{
	/* where nothing is mounted there is a folder all the same */
	return (struct seek){ .proc = access("/proc/self/stat", F_OK) == 0 ? opendir("/proc")
									   : NULL };
}

static void seek_end(struct seek *s)
{
	if (s->proc)
		(void)closedir(s->proc);
}

bool mpk_children_has(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0;
}

/* The next child of this process; 0 at the end. */
static pid_t next_child(struct seek *s)
{
	enum { PID_MAX = 1 << 22 }; /* of the kernel */

	while (!s->proc && s->last < PID_MAX)
		if (mpk_children_has(++s->last))
			return s->last;
	for (struct dirent *e; s->proc && (e = readdir(s->proc)) != NULL;) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10); /* 0: not a process */

		if (pid > 0 && parent_of(pid) == getpid())
			return pid;
	}
	return 0;
}

enum mpk_code mpk_children_list(struct mpk_children *out, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;
	struct seek s;

	if (!has_children())
		return MPK_OK;
	s = seek_begin();
	for (pid_t pid; code == MPK_OK && (pid = next_child(&s));) {
		if (mpk_vec_reserve(&out->pids, &out->cap, out->count + 1, sizeof pid))
			out->pids[out->count++] = pid;
		else
			code = mpk_fail_nomem(err);
	}
	seek_end(&s);
	return code;
}

static bool is_spared(const struct mpk_children *spared, pid_t pid)
{
	for (size_t i = 0; i < spared->count; i++)
		if (spared->pids[i] == pid)
			return true;
	return false;
}

static bool kill_once(struct seek *s, const struct mpk_children *spared)
{
	bool any = false;

	for (pid_t pid; (pid = next_child(s));) {
		if (is_spared(spared, pid))
			continue;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		any = true;
	}
	return any;
}

void mpk_orphans_kill(const struct mpk_children *spared)
{
	enum { TRIES = 100 };

	/* Some may be born while we look, and those that we kill leave others behind. */
	for (unsigned i = 0; i < TRIES && has_children(); i++) {
		struct seek s = seek_begin();
		bool any = kill_once(&s, spared);

		seek_end(&s);
		if (!any)
			return;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* planted.h - what a planted bug tries: each attempt is a line on standard error, "connect: yes" or why not.
 * For a library that is loaded before a program and takes over a function of libelf. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, int ok)
{
	fprintf(stderr, "%s: %s\n", what, ok ? "yes" : strerror(errno));
}

static int run(void)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = fork();

	if (pid == 0)
		_exit(execvp("true", argv) ? 1 : 0);
	return pid > 0 && waitpid(pid, NULL, 0) == pid;
}

/* What the sandbox of every action refuses. */
static void try_all(void)
{
	say("remove a file", unlink("mine") == 0);
	say("change a mode", chmod("mine", 0777) == 0);
	say("signal through a descriptor", fcntl(STDERR_FILENO, F_SETOWN, 1) == 0);
	say("connect", socket(AF_INET, SOCK_STREAM, 0) >= 0);
	say("start a program", run());
}

static int can_execute_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - a folder for intermediate files, and a process that removes it however we end. A
 * build may be killed at any moment, and gigabytes of weights must not stay in /tmp. The process
 * is started before the folder is made, because a kill in between would leave the folder. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/output.h"
#include "process/internal/process.h"
#include "sandbox/sandbox.h"

/* --- a process that cleans up -------------------------------------------------- */

/* The cleanup process notices our end by a socket whose other end only we have: the kernel closes
 * it even after SIGKILL. */

/* What the cleanup process waits for. A socket alone is not enough: every process that we forked
 * has a copy of our end and may outlive us. */
struct watch {
	int socket;
	int process; /* pidfd of ours; negative: the kernel does not support it */
};

/* Waits for our end. A byte on the socket means that there is nothing to do. */
static MPK_NORETURN void cleanup_main(void (*run)(void *data), void *data, const struct watch *w)
{
	struct pollfd fds[] = { { .fd = w->socket, .events = POLLIN },
				{ .fd = w->process, .events = POLLIN } };
	bool in_order = w->process < w->socket; /* a negative descriptor is below all others */
	const int kept[] = { in_order ? w->process : w->socket, in_order ? w->socket : w->process };
	char byte;

	(void)setsid();
	(void)mpk_close_others(0, kept, MPK_ARRAY_COUNT(kept));
	while (poll(fds, MPK_ARRAY_COUNT(fds), -1) < 0 && errno == EINTR)
		continue;
	/* the byte may have been sent right before our end */
	if (recv(w->socket, &byte, 1, MSG_DONTWAIT) <= 0)
		run(data);
	_exit(0);
}

/* Forks twice, so that init reaps the process. The first child reports the errno of the second
 * fork as its exit status. */
static pid_t fork_detached(void (*run)(void *data), void *data, const int ends[2], int process)
{
	sigset_t none;
	int saved, status = 0;

	(void)sigemptyset(&none);
	pid_t pid = mpk_fork(&none);
	if (pid == 0) {
		(void)close(ends[1]);
		pid = mpk_fork(&none);
		if (pid == 0)
			cleanup_main(run, data, &(struct watch){ ends[0], process });
		_exit(pid < 0 ? errno & 0xff : 0);
	}
	saved = errno;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	errno = pid > 0 ? WEXITSTATUS(status) : saved;
	return errno == 0 ? pid : -1;
}

enum mpk_code mpk_cleanup_start(void (*run)(void *data), void *data, struct mpk_cleanup *out,
				struct mpk_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a socket");
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid = fork_detached(run, data, ends, process);
	int saved = errno;

	if (process >= 0)
		(void)close(process);
	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return mpk_fail_errno(err, MPK_E_IO, saved, "cannot start a child process");
	}
	*out = (struct mpk_cleanup){ .is_on = true, .fd = ends[1] };
	return MPK_OK;
}

void mpk_cleanup_stop(struct mpk_cleanup *c, bool needed)
{
	if (!c->is_on)
		return;
	if (!needed) {
		/* Uses only calls that a sandboxed process may make. */
		struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

		(void)sigaction(SIGPIPE, &ignore, &before);
		(void)!write(c->fd, "", 1);
		(void)sigaction(SIGPIPE, &before, NULL);
	}
	(void)close(c->fd);
	c->is_on = false;
}

/* --- the folder ------------------------------------------------------------------ */

enum { REMOVE_TRIES = 100, REMOVE_PAUSE_US = 20000, NAME_TRIES = 100 };

/* Runs in the cleanup process. Tools of a killed build may write for a moment longer, so it
 * retries for up to two seconds. */
static void remove_patiently(void *path)
{
	for (unsigned i = 0; i < REMOVE_TRIES && !mpk_remove_all(path); i++)
		(void)usleep(REMOVE_PAUSE_US);
}

/* Refuses a folder with foreign files: tools write there under any name. */
static void claim(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	mpk_overwrite_claim(fd);
	(void)close(fd);
}

static enum mpk_code open_kept(const char *keep, struct mpk_scratch *out, struct mpk_error *err)
{
	struct stat st;

	if (mkdir(keep, 0777) != 0 && errno != EEXIST)
		goto failed;
	if (stat(keep, &st) == 0 && !S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		goto failed;
	}
	MPK_TRY(mpk_overwrite_check_folder(keep, err));
	claim(keep);
	/* Use an absolute path, because tools may run in other directories. */
	char *path = realpath(keep, NULL);
	if (!path)
		goto failed;
	*out = (struct mpk_scratch){ .path = path, .keep = true };
	return MPK_OK;
failed:;
	enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot keep files there");
	mpk_error_at_file(err, keep);
	return code;
}

/* Makes PARENT/mpack-XXXXXX. */
static enum mpk_code make_private(const char *parent, struct mpk_scratch *s, struct mpk_error *err)
{
	/* Use an absolute path, because the cleanup process may have another current directory. */
	char *root = realpath(parent, NULL), letters[MPK_RANDOM_LETTERS + 1];
	enum mpk_code code = MPK_OK;
	int saved = EEXIST;

	for (unsigned i = 0; i < NAME_TRIES && code == MPK_OK && saved == EEXIST; i++) {
		mpk_random_letters(letters);
		free(s->path);
		if (asprintf(&s->path, "%s/mpack-%s", root ? root : parent, letters) < 0) {
			s->path = NULL;
			code = mpk_fail_nomem(err);
			break;
		}
		/* Do not remove another user's folder. */
		if (access(s->path, F_OK) == 0)
			continue;
		code = mpk_cleanup_start(remove_patiently, s->path, &s->cleanup, err);
		if (code != MPK_OK)
			break;
		if (mkdir(s->path, 0700) == 0) {
			free(root);
			return MPK_OK;
		}
		saved = errno;
		mpk_cleanup_stop(&s->cleanup, false);
	}
	if (code == MPK_OK) {
		code = mpk_fail_errno(err, MPK_E_IO, saved,
				      "cannot make a directory for intermediate files; set TMPDIR");
		mpk_error_at_file(err, s->path);
	}
	free(root);
	free(s->path);
	return code;
}

enum mpk_code mpk_scratch_open(const char *parent, const char *keep, struct mpk_scratch *out,
			       struct mpk_error *err)
{
	struct mpk_scratch s = { 0 };

	if (keep)
		return open_kept(keep, out, err);
	MPK_TRY(make_private(parent, &s, err));
	/* Without TMPDIR, tools use their default place. */
	if (asprintf(&s.env[0], "TMPDIR=%s", s.path) < 0)
		s.env[0] = NULL;
	*out = s;
	return MPK_OK;
}

const char *mpk_scratch_file(const struct mpk_scratch *s, struct mpk_arena *arena, const char *name)
{
	return mpk_arena_printf(arena, "%s/%s", s->path, name);
}

void mpk_scratch_close(struct mpk_scratch *s)
{
	/* The cleanup process removes what cannot be removed now. */
	if (s->path && !s->keep)
		mpk_cleanup_stop(&s->cleanup, !mpk_remove_all(s->path));
	free(s->env[0]);
	free(s->path);
	memset(s, 0, sizeof *s);
}

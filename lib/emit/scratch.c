#include "emit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JANITOR_TRIES = 100, JANITOR_PAUSE_US = 20000 };

static bool remove_all(const char *path)
{
	DIR *dir = opendir(path);
	int fd = dir ? dirfd(dir) : -1;

	if (!dir)
		return errno == ENOENT;
	for (struct dirent *e; fd >= 0 && (e = readdir(dir)) != NULL;)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(fd, e->d_name, 0);
	(void)closedir(dir);
	return rmdir(path) == 0 || errno == ENOENT;
}

/* Reads until the pipe's other end is gone with our parent. A byte means: nothing to do.
 * Tools of a killed build may still write for a moment, hence the repetition. */
static MPK_NORETURN void janitor_main(const char *path, int pipe_end)
{
	char byte;
	ssize_t n;

	/* A terminal's Ctrl-C goes to its whole process group; and whoever reads our
	 * standard streams must not wait for this process. */
	(void)setsid();
	(void)close_range(0, (unsigned)pipe_end - 1, 0);
	(void)close_range((unsigned)pipe_end + 1, ~0U, 0);
	do
		n = read(pipe_end, &byte, 1);
	while (n < 0 && errno == EINTR);
	for (unsigned i = 0; n == 0 && i < JANITOR_TRIES && !remove_all(path); i++)
		(void)usleep(JANITOR_PAUSE_US);
	_exit(0);
}

/* Forked twice, so that the janitor is nobody's child and is reaped by init. */
static enum mpk_code start_janitor(struct mpk_scratch *s, struct mpk_error *err)
{
	int ends[2];

	/* A socket, since writing to it never raises SIGPIPE when asked so. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a socket");
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		if (fork() == 0)
			janitor_main(s->path, ends[0]);
		_exit(0);
	}
	int saved = errno;
	(void)close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (pid < 0) {
		(void)close(ends[1]);
		return mpk_fail_errno(err, MPK_E_IO, saved, "cannot start a child process");
	}
	s->janitor = ends[1];
	return MPK_OK;
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
	/* Tools see paths from the root, whatever directory they run in. */
	char *path = realpath(keep, NULL);
	if (!path)
		goto failed;
	*out = (struct mpk_scratch){ .path = path, .janitor = -1, .keep = true };
	return MPK_OK;
failed:;
	enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot keep files there");
	mpk_error_at_file(err, keep);
	return code;
}

enum mpk_code mpk_scratch_open(const char *parent, const char *keep, struct mpk_scratch *out,
			       struct mpk_error *err)
{
	struct mpk_scratch s = { .janitor = -1 };

	if (keep)
		return open_kept(keep, out, err);
	/* The janitor must find it from wherever the program goes. */
	char *root = realpath(parent, NULL);
	int printed = asprintf(&s.path, "%s/mpack-XXXXXX", root ? root : parent);
	free(root);
	if (printed < 0)
		return mpk_fail_nomem(err);
	if (!mkdtemp(s.path)) {
		enum mpk_code code = mpk_fail_errno(
			err, MPK_E_IO, errno,
			"cannot make a directory for intermediate files; set TMPDIR");
		mpk_error_at_file(err, s.path);
		free(s.path);
		return code;
	}
	enum mpk_code code = start_janitor(&s, err);
	if (code != MPK_OK) {
		(void)rmdir(s.path);
		free(s.path);
		return code;
	}
	*out = s;
	return MPK_OK;
}

const char *mpk_scratch_file(const struct mpk_scratch *s, struct mpk_arena *arena, const char *name)
{
	return mpk_arena_printf(arena, "%s/%s", s->path, name);
}

void mpk_scratch_close(struct mpk_scratch *s)
{
	if (s->path && !s->keep) {
		/* What cannot be removed now is left to the janitor. */
		if (remove_all(s->path))
			(void)!send(s->janitor, "", 1, MSG_NOSIGNAL);
		(void)close(s->janitor);
	}
	free(s->path);
	memset(s, 0, sizeof *s);
}

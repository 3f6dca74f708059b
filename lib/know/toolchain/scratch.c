/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for intermediate files. A build may be killed at any moment, and weights of gigabytes must
 * not stay in /tmp then: a process that waits for our end removes what is left. It is started before
 * the folder is made, because a kill between the two would leave the folder. */
#include "toolchain/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/place.h"

enum { REMOVE_TRIES = 100, REMOVE_PAUSE_US = 20000, NAME_TRIES = 100 };

/* In the cleanup process. Tools of a killed build may still write for a moment: it tries for up to
 * two seconds. */
static void remove_patiently(void *path)
{
	for (unsigned i = 0; i < REMOVE_TRIES && !mpk_remove_all(path); i++)
		(void)usleep(REMOVE_PAUSE_US);
}

/* Tools write into it as they like: what others put there must not be among that. */
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
	/* Tools see paths from the root, whatever directory they run in. */
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
	/* The cleanup process must find it from wherever the program goes. */
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
		/* somebody else's is not to be removed */
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
	/* without it tools leave their files where they are used to */
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
	/* What cannot be removed now is left to the cleanup process. */
	if (s->path && !s->keep)
		mpk_cleanup_stop(&s->cleanup, !mpk_remove_all(s->path));
	free(s->env[0]);
	free(s->path);
	memset(s, 0, sizeof *s);
}

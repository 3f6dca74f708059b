/* SPDX-License-Identifier: Apache-2.0 */
/* directory.c - an output folder that appears whole or not at all. It is filled under a temporary
 * name beside the target and renamed at the end. The target must be empty or absent, because
 * rename(2) replaces empty folders only. */
#include "io/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/vec.h"
#include "io/mapping.h"
#include "io/path.h"

enum { NAME_TRIES = 100 };

static enum mpk_code directory_fail_at(const char *path, const char *what, struct mpk_error *err)
{
	enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "%s", what);

	mpk_error_at_file(err, path);
	return code;
}

/* The target must not exist, or be an empty directory. */
static enum mpk_code check_target(const char *path, struct mpk_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool empty = true;

	if (!dir && errno == ENOENT)
		return MPK_OK;
	if (!dir)
		return directory_fail_at(path, "cannot write a directory", err);
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	(void)closedir(dir);
	if (!empty) {
		errno = ENOTEMPTY;
		return directory_fail_at(path, "will not mix with what is there", err);
	}
	return MPK_OK;
}

/* Locks temp. Returns false when another run removed it between mkdir and lock. */
static bool lock_temp(struct mpk_directory *d)
{
	struct stat st;

	d->fd = open(d->temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->fd < 0 || !mpk_temporary_lock(d->fd) || fstat(d->fd, &st) != 0)
		return false;
	errno = ENOENT;
	return st.st_nlink > 0;
}

/* Makes a temporary directory beside the target. mkdir, unlike mkdtemp, respects the umask. */
static enum mpk_code make_temp(struct mpk_directory *d, struct mpk_error *err)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		d->temp = mpk_temporary_name(d->path);
		MPK_TRY_ALLOC(d->temp, err);
		bool made = mkdir(d->temp, 0777) == 0;

		if (made && lock_temp(d))
			return MPK_OK;
		int saved = errno;

		if (made)
			(void)rmdir(d->temp);
		if (d->fd >= 0)
			(void)close(d->fd);
		d->fd = -1;
		free(d->temp);
		d->temp = NULL;
		errno = saved;
		/* The name belongs to another run, or that run has just removed it. */
		if (saved != EEXIST && saved != EWOULDBLOCK && saved != ENOENT)
			break;
	}
	return directory_fail_at(d->path, "cannot create a directory", err);
}

enum mpk_code mpk_directory_open(const char *path, struct mpk_directory *out, struct mpk_error *err)
{
	struct mpk_directory d = { .path = strdup(path), .fd = -1 };
	enum mpk_code code = d.path ? MPK_OK : mpk_fail_nomem(err);

	for (size_t n = strlen(path); d.path && n > 1 && d.path[n - 1] == '/'; n--)
		d.path[n - 1] = '\0';
	if (code == MPK_OK)
		code = check_target(d.path, err);
	if (code == MPK_OK) {
		mpk_temporary_sweep(d.path);
		code = make_temp(&d, err);
	}
	if (code != MPK_OK) {
		mpk_directory_abandon(&d);
		return code;
	}
	*out = d;
	return MPK_OK;
}

/* Names come from files: no part may be empty, "." or "..", so that no name leads out of the
 * folder. */
static bool directory_is_inside(const char *name)
{
	for (;;) {
		size_t n = strcspn(name, "/");

		if (n == 0 || (n == 1 && name[0] == '.') ||
		    (n == 2 && name[0] == '.' && name[1] == '.'))
			return false;
		if (!name[n])
			return true;
		name += n + 1;
	}
}

/* Makes every directory of path after the first skip bytes. */
static enum mpk_code make_parents(char *path, size_t skip, struct mpk_error *err)
{
	for (char *at = path + skip; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			return directory_fail_at(path, "cannot create a directory", err);
		*at = '/';
	}
	return MPK_OK;
}

/* Nobody sees a file before the directory has its name: it needs no temporary name of its own. */
static enum mpk_code write_file(const struct mpk_directory *d, const char *path, int how,
				const struct mpk_rope *content, struct mpk_error *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | how, 0666);

	if (fd < 0)
		return directory_fail_at(path, "cannot create", err);
	enum mpk_code code = mpk_account_write(content->len, err);

	if (code == MPK_OK)
		code = mpk_write_pieces(fd, content->pieces, content->count, d->tap, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	/* Network file systems and quotas report their errors here. */
	if (close(fd) != 0 && code == MPK_OK)
		code = directory_fail_at(path, "cannot write", err);
	return code;
}

/* Errors name the path that the user gave, which is shorter than the temporary one. */
static void name_target(const struct mpk_directory *d, struct mpk_error *err)
{
	size_t from = strlen(d->temp), to = strlen(d->path);

	if (!err || strncmp(err->at.file, d->temp, from) != 0)
		return;
	memcpy(err->at.file, d->path, to);
	memmove(err->at.file + to, err->at.file + from, strlen(err->at.file + from) + 1);
}

static enum mpk_code write_named(const struct mpk_directory *d, const char *name, int how,
				 const struct mpk_rope *content, struct mpk_error *err)
{
	char *path = NULL;
	enum mpk_code code;

	if (!directory_is_inside(name))
		return mpk_fail(err, MPK_E_RANGE, "a file name leads out of the directory");
	if (asprintf(&path, "%s/%s", d->temp, name) < 0)
		return mpk_fail_nomem(err);
	code = make_parents(path, strlen(d->temp) + 1, err);
	if (code == MPK_OK)
		code = write_file(d, path, how, content, err);
	if (code != MPK_OK)
		name_target(d, err);
	free(path);
	return code;
}

enum mpk_code mpk_directory_write(const struct mpk_directory *d, const char *name,
				  const struct mpk_rope *content, struct mpk_error *err)
{
	return write_named(d, name, O_CREAT | O_EXCL, content, err);
}

enum mpk_code mpk_directory_append(const struct mpk_directory *d, const char *name,
				   const struct mpk_rope *content, struct mpk_error *err)
{
	return write_named(d, name, O_APPEND | O_NOFOLLOW, content, err);
}

void mpk_directory_abandon(struct mpk_directory *d)
{
	if (d->temp) {
		(void)mpk_remove_all(d->temp);
		if (d->fd >= 0)
			(void)close(d->fd);
	}
	free(d->temp);
	free(d->path);
	memset(d, 0, sizeof *d);
}

/* Copies permissions and owner of the empty directory that is replaced, as far as we may. */
static void keep_mode(const struct mpk_directory *d)
{
	struct stat st;

	if (stat(d->path, &st) != 0)
		return;
	(void)!fchown(d->fd, st.st_uid, st.st_gid);
	(void)fchmod(d->fd, st.st_mode & 07777);
}

/* The same order as in output.c: check inputs and memory, sync the bytes, rename. */
enum mpk_code mpk_directory_commit(struct mpk_directory *d, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	code = mpk_mappings_check(err);
	if (code == MPK_OK)
		code = mpk_memory_check(err);
	if (code != MPK_OK) {
		mpk_directory_abandon(d);
		return code;
	}
	keep_mode(d);
	/* Syncs all files at once; one by one each would cost a disk access. */
	if (mpk_output_is_durable() && syncfs(d->fd) != 0) {
		code = directory_fail_at(d->path, "cannot write to the disk", err);
	} else if (rename(d->temp, d->path) != 0) {
		code = directory_fail_at(d->path, "cannot give the directory its name", err);
	} else {
		if (mpk_output_is_durable())
			(void)syncfs(d->fd); /* the rename, too */
		(void)close(d->fd);
		free(d->temp);
		d->temp = NULL; /* Nothing is left to remove. */
	}
	mpk_directory_abandon(d);
	return code;
}

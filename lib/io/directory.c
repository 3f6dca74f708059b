/* SPDX-License-Identifier: Apache-2.0 */
#include "io/directory.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/output.h"

enum { NAME_TRIES = 1000, OPEN_DIRECTORIES = 8 };

static enum mpk_code fail_at(const char *path, const char *what, struct mpk_error *err)
{
	enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "%s", what);

	mpk_error_at_file(err, path);
	return code;
}

/* The target must not be there, or be an empty directory. */
static enum mpk_code check_target(const char *path, struct mpk_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool empty = true;

	if (!dir && errno == ENOENT)
		return MPK_OK;
	if (!dir)
		return fail_at(path, "cannot write a directory", err);
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	(void)closedir(dir);
	if (!empty) {
		errno = ENOTEMPTY;
		return fail_at(path, "will not mix with what is there", err);
	}
	return MPK_OK;
}

/* ".name.N" beside the target; mkdir, unlike mkdtemp, gives what the umask says. */
static enum mpk_code make_temp(struct mpk_directory *d, struct mpk_error *err)
{
	const char *slash = strrchr(d->path, '/');
	int head = slash ? (int)(slash + 1 - d->path) : 0;

	for (int i = 0; i < NAME_TRIES; i++) {
		char *temp = NULL;

		if (asprintf(&temp, "%.*s.%s.%d", head, d->path, d->path + head,
			     (int)getpid() + i) < 0)
			return mpk_fail_nomem(err);
		if (mkdir(temp, 0777) == 0) {
			d->temp = temp;
			return MPK_OK;
		}
		free(temp);
		if (errno != EEXIST)
			break;
	}
	return fail_at(d->path, "cannot create a directory", err);
}

enum mpk_code mpk_directory_open(const char *path, struct mpk_directory *out, struct mpk_error *err)
{
	struct mpk_directory d = { .path = strdup(path) };
	enum mpk_code code = d.path ? MPK_OK : mpk_fail_nomem(err);

	for (size_t n = strlen(path); d.path && n > 1 && d.path[n - 1] == '/'; n--)
		d.path[n - 1] = '\0';
	if (code == MPK_OK)
		code = check_target(d.path, err);
	if (code == MPK_OK)
		code = make_temp(&d, err);
	if (code != MPK_OK) {
		free(d.path);
		return code;
	}
	*out = d;
	return MPK_OK;
}

static bool is_inside(const char *name)
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

/* Every directory of path behind the first skip bytes. */
static enum mpk_code make_parents(char *path, size_t skip, struct mpk_error *err)
{
	for (char *at = path + skip; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			return fail_at(path, "cannot create a directory", err);
		*at = '/';
	}
	return MPK_OK;
}

static enum mpk_code write_file(const char *path, const struct mpk_rope *content,
				const struct mpk_tap *tap, struct mpk_error *err)
{
	struct mpk_output *output;

	MPK_TRY(mpk_output_open(path, 0666, &output, err));
	mpk_output_tap(output, tap);
	return mpk_output_finish(output, mpk_output_write_rope(output, content, err), err);
}

/* An error tells the name that the user gave, which is shorter than the temporary one. */
static void name_target(const struct mpk_directory *d, struct mpk_error *err)
{
	size_t from = strlen(d->temp), to = strlen(d->path);

	if (!err || strncmp(err->at.file, d->temp, from) != 0)
		return;
	memcpy(err->at.file, d->path, to);
	memmove(err->at.file + to, err->at.file + from, strlen(err->at.file + from) + 1);
}

enum mpk_code mpk_directory_write(const struct mpk_directory *d, const char *name,
				  const struct mpk_rope *content, struct mpk_error *err)
{
	char *path = NULL;
	enum mpk_code code;

	if (!is_inside(name))
		return mpk_fail(err, MPK_E_RANGE, "a file name leads out of the directory");
	if (asprintf(&path, "%s/%s", d->temp, name) < 0)
		return mpk_fail_nomem(err);
	code = make_parents(path, strlen(d->temp) + 1, err);
	if (code == MPK_OK)
		code = write_file(path, content, d->tap, err);
	if (code != MPK_OK)
		name_target(d, err);
	free(path);
	return code;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void mpk_directory_abandon(struct mpk_directory *d)
{
	if (d->temp)
		(void)nftw(d->temp, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
	free(d->temp);
	free(d->path);
	memset(d, 0, sizeof *d);
}

enum mpk_code mpk_directory_commit(struct mpk_directory *d, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	if (rename(d->temp, d->path) != 0) {
		code = fail_at(d->path, "cannot give the directory its name", err);
	} else {
		free(d->temp);
		d->temp = NULL; /* nothing to remove any more */
	}
	mpk_directory_abandon(d);
	return code;
}

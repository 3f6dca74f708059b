/* SPDX-License-Identifier: Apache-2.0 */
/* Names for unfinished files and folders, and removing those that killed runs left. Whoever
 * writes one holds a lock on it; the kernel drops the lock with the process, so that what
 * nobody has locked is nobody's work any more. */
#include "io/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/path.h"

enum { NAME_KEPT = 200, OPEN_DIRECTORIES = 8 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";

/* Random, and not the process number: two containers that share a folder may have the same.
 * Without random numbers (early at boot) the number is the next best. */
void mpk_random_letters(char out[MPK_RANDOM_LETTERS + 1])
{
	unsigned char random[MPK_RANDOM_LETTERS] = { 0 };

	if (getrandom(random, sizeof random, GRND_NONBLOCK) < 0)
		memcpy(random, &(pid_t){ getpid() }, sizeof(pid_t));
	for (size_t i = 0; i < sizeof random; i++)
		out[i] = letters[random[i] % 32];
	out[sizeof random] = '\0';
}

char *mpk_temporary_name(const char *path)
{
	const char *last = mpk_path_name(path);
	char tail[MPK_RANDOM_LETTERS + 1], *name = NULL;

	mpk_random_letters(tail);
	if (asprintf(&name, "%.*s.%.*s.%s.partial", (int)(last - path), path, NAME_KEPT, last,
		     tail) < 0)
		return NULL;
	return name;
}

/* Whether name is ".BASE.XXXXXX.partial". */
static bool is_temporary(const char *name, const char *base)
{
	size_t len = strnlen(base, NAME_KEPT);

	if (name[0] != '.' || strncmp(name + 1, base, len) != 0 || name[len + 1] != '.')
		return false;
	name += len + 2;
	return strspn(name, letters) == MPK_RANDOM_LETTERS &&
	       strcmp(name + MPK_RANDOM_LETTERS, ".partial") == 0;
}

/* A file system without locks fails with another error than EWOULDBLOCK; then the file
 * counts as ours. */
bool mpk_temporary_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)ftw;
	/* Not remove(3), which tries unlink on folders: a sandbox may refuse that. What stays keeps its
	 * folders, no more. */
	(void)(type == FTW_DP || type == FTW_D || type == FTW_DNR ? rmdir(path) : unlink(path));
	return 0;
}

bool mpk_remove_all(const char *path)
{
	struct stat st;

	(void)nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
	return lstat(path, &st) != 0 && errno == ENOENT;
}

/* The lock is kept while it is removed, so that two do not remove it, and one the other's new one. */
static void remove_abandoned(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)mpk_remove_all(path);
	if (fd >= 0)
		(void)close(fd);
}

/* Only names of the same target: what other programs leave in the folder is not ours to
 * remove. */
void mpk_temporary_sweep(const char *path)
{
	char *parent = mpk_path_folder(path);
	DIR *dir = parent ? opendir(parent) : NULL;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *found = NULL;

		if (!is_temporary(e->d_name, mpk_path_name(path)) ||
		    asprintf(&found, "%s%s", parent, e->d_name) < 0)
			continue;
		remove_abandoned(found);
		free(found);
	}
	if (dir)
		(void)closedir(dir);
	free(parent);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - which files an output may replace, and the names of unfinished outputs.
 *
 * A slip in the order of arguments must not destroy a library. So a file is replaced only if it is
 * empty, text, an array, or was written by us. We recognise our files by an extended attribute
 * with the size and time of our write, or, on file systems without attributes, by a mark in the
 * file. */
#include "io/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "io/mapping.h"
#include "io/path.h"

/* bytes read from the beginning and the end of a file */
enum { TEXT_BYTES = 64 << 10, MARK_BYTES = 1 << 20, CLAIM_BYTES = 128 };

/* The program's name and its mark: set once, before any output is opened. */
static const char attribute[] = "user.mpk.written";
static const char *author = "mpk";
static struct mpk_span mark;
static bool all, durable;

void mpk_output_make_durable(void)
{
	durable = true;
}

bool mpk_output_is_durable(void)
{
	return durable;
}

void mpk_overwrite_author(const char *program, struct mpk_span mark_of_it)
{
	author = program;
	mark = mark_of_it;
}

void mpk_overwrite_all(void)
{
	all = true;
}

/* Writes who wrote the file, and its size and time then: a file that others have changed since is
 * not ours. */

static size_t claim_text(const struct stat *st, char out[CLAIM_BYTES])
{
	int n;

	if (S_ISDIR(st->st_mode))
		n = snprintf(out, CLAIM_BYTES, "%s", author);
	else
		n = snprintf(out, CLAIM_BYTES, "%s %" PRIu64 " %" PRId64 ".%09ld", author,
			     (uint64_t)st->st_size, (int64_t)st->st_mtim.tv_sec,
			     (long)st->st_mtim.tv_nsec);
	return n > 0 && n < CLAIM_BYTES ? (size_t)n : 0;
}

void mpk_overwrite_claim(int fd)
{
	char text[CLAIM_BYTES];
	struct stat st;
	size_t len = fstat(fd, &st) == 0 ? claim_text(&st, text) : 0;

	if (len)
		(void)fsetxattr(fd, attribute, text, len, 0);
}

static bool is_claimed(int fd)
{
	char text[CLAIM_BYTES], found[CLAIM_BYTES];
	struct stat st;
	size_t len = fstat(fd, &st) == 0 ? claim_text(&st, text) : 0;
	ssize_t n = len ? fgetxattr(fd, attribute, found, sizeof found) : -1;

	return n == (ssize_t)len && memcmp(text, found, len) == 0;
}

/* --- what it is ------------------------------------------------------------------------- */

static const struct kind {
	const char *magic;
	size_t len, at;
	const char *name;
	/* it may have our mark; it is an array, which may be replaced like a text */
	bool may_be_marked, may_go;
} kinds[] = {
	{ "\177ELF", 4, 0, "an ELF file", true, false },
	{ "!<arch>\n", 8, 0, "an archive", true, false },
	{ "!<thin>\n", 8, 0, "an archive", false, false },
	{ "ustar", 5, 257, "an archive", true, false },
	{ "PK\3\4", 4, 0, "a zip archive", false, false },
	{ "\x93NUMPY", 6, 0, "an array", false, true },
	{ "MZ", 2, 0, "a PE file", false, false },
	{ "\xcf\xfa\xed\xfe", 4, 0, "a Mach-O file", false, false },
	{ "\xce\xfa\xed\xfe", 4, 0, "a Mach-O file", false, false },
	{ "\xca\xfe\xba\xbe", 4, 0, "a Mach-O file", false, false },
	{ "", 0, 0, "a file of bytes", false, false },
};

/* The last row matches every file. */
static const struct kind *overwrite_kind_of(const uint8_t *head, size_t len)
{
	const struct kind *k = kinds;

	while (k->at + k->len > len || memcmp(head + k->at, k->magic, k->len) != 0)
		k++;
	return k;
}

/* Archives and machine code soon have bytes that no text has. */
static bool overwrite_is_text(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] == 0x7f || (bytes[i] < ' ' && !memchr("\t\n\v\f\r\033", bytes[i], 6)))
			return false;
	return true;
}

static bool has_mark(const uint8_t *bytes, size_t len)
{
	return mark.len && memmem(bytes, len, mark.data, mark.len);
}

/* Returns what the file is when it must not be replaced, or NULL when it may be.
 * @room    MARK_BYTES
 * Returns  false with errno: it cannot be read */
static bool overwrite_judge(int fd, const struct stat *file, uint8_t *room, const char **what)
{
	ssize_t n = mpk_read_at(fd, room, MARK_BYTES, 0);
	size_t len = n < 0 ? 0 : (size_t)n;
	const struct kind *k = overwrite_kind_of(room, len);
	bool may_go = k->may_go ||
		      (!k->len && overwrite_is_text(room, len < TEXT_BYTES ? len : TEXT_BYTES)) ||
		      (k->may_be_marked && has_mark(room, len));

	if (n >= 0 && !may_go && k->may_be_marked && file->st_size > MARK_BYTES) {
		n = mpk_read_at(fd, room, MARK_BYTES, (uint64_t)file->st_size - MARK_BYTES);
		may_go = n > 0 && has_mark(room, (size_t)n);
	}
	*what = may_go ? NULL : k->name;
	return n >= 0;
}

static enum mpk_code overwrite_refuse(const char *path, const char *what, struct mpk_error *err)
{
	enum mpk_code code = mpk_fail(
		err, MPK_E_USAGE,
		"this is %s that %s did not write, and would be overwritten; --force does that",
		what, author);

	mpk_error_at_file(err, path);
	return code;
}

static enum mpk_code fail_to_read(const char *path, int why, struct mpk_error *err)
{
	enum mpk_code code = mpk_fail_errno(
		err, MPK_E_IO, why, "cannot look at what would be overwritten, as --force would");

	mpk_error_at_file(err, path);
	return code;
}

static enum mpk_code check_open(int fd, const char *path, const struct stat *file,
				struct mpk_error *err)
{
	const char *what = NULL;

	if (is_claimed(fd))
		return MPK_OK;
	uint8_t *room = malloc(MARK_BYTES);
	MPK_TRY_ALLOC(room, err);
	bool is_read = overwrite_judge(fd, file, room, &what);
	int why = errno;

	free(room);
	if (!is_read)
		return fail_to_read(path, why, err);
	return what ? overwrite_refuse(path, what, err) : MPK_OK;
}

enum mpk_code mpk_overwrite_check(const char *path, const struct stat *file, struct mpk_error *err)
{
	if (all || file->st_size == 0)
		return MPK_OK;

	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* A file that we cannot read may be a library. */
	if (fd < 0)
		return fail_to_read(path, errno, err);
	enum mpk_code code = check_open(fd, path, file, err);
	(void)close(fd);
	return code;
}

/* --- folders ---------------------------------------------------------------------------- */

/* Accepts a folder that is ours or empty. A folder that cannot be listed is accepted; the later
 * write reports the reason. */
enum mpk_code mpk_overwrite_check_folder(const char *path, struct mpk_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool may = all || !dir || is_claimed(dirfd(dir));

	while (!may && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			break;
	if (dir && !may)
		may = entry == NULL;
	if (dir)
		(void)closedir(dir);
	if (may)
		return MPK_OK;
	enum mpk_code code = mpk_fail(
		err, MPK_E_IO,
		"will not mix with what is there, which %s did not write; --force does that",
		author);

	mpk_error_at_file(err, path);
	return code;
}

/* --- what is not finished ------------------------------------------------------ */

/* The writer of a temporary file holds a lock on it, which the kernel drops with the process: a
 * file that nobody has locked is abandoned. */

enum { NAME_KEPT = 200, OPEN_DIRECTORIES = 8 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";

/* Random letters instead of the process number, which may be equal in two containers that share a
 * folder. Without random numbers (early at boot) the process number is used. */
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

/* File systems without locks fail with another error than EWOULDBLOCK; then we assume that the
 * file is ours. */
bool mpk_temporary_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)ftw;
	/* Not remove(3), which tries unlink on folders: a sandbox may refuse that. Whatever cannot
	 * be removed keeps its parent folders. */
	(void)(type == FTW_DP || type == FTW_D || type == FTW_DNR ? rmdir(path) : unlink(path));
	return 0;
}

bool mpk_remove_all(const char *path)
{
	struct stat st;

	(void)nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
	return lstat(path, &st) != 0 && errno == ENOENT;
}

/* Removes only names of the same target; files of other programs in the folder stay. */
void mpk_temporary_sweep(const char *path)
{
	char *parent = mpk_path_folder(path);
	DIR *dir = parent ? opendir(parent) : NULL;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *found = NULL;

		if (!is_temporary(e->d_name, mpk_path_name(path)) ||
		    asprintf(&found, "%s%s", parent, e->d_name) < 0)
			continue;

		/* The lock is held while removing. Otherwise two runs could remove the same name,
		 * and one of them would remove the other's new file. */
		int fd = open(found, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)mpk_remove_all(found);
		if (fd >= 0)
			(void)close(fd);

		free(found);
	}
	if (dir)
		(void)closedir(dir);
	free(parent);
}

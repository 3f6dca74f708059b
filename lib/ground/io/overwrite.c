/* SPDX-License-Identifier: Apache-2.0 */
/* What an output may replace. A program that writes to the name it was given would destroy
 * a library by a slip in the order of arguments, so a file is replaced only when it is
 * empty, a text, an array, or was written by us: an extended attribute says so, with the
 * size and time it had then, or a mark in the file, for file systems without attributes. */
#include "io/overwrite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* So much of a file is looked at, from its beginning and before its end. */
enum { TEXT_BYTES = 64 << 10, MARK_BYTES = 1 << 20, CLAIM_BYTES = 128 };

/* What the program is and how its files are marked: set once, before any output is opened. */
static const char attribute[] = "user.mpk.written";
static const char *author = "mpk";
static struct mpk_span mark;
static bool all;

void mpk_overwrite_author(const char *program, struct mpk_span mark_of_it)
{
	author = program;
	mark = mark_of_it;
}

void mpk_overwrite_all(void)
{
	all = true;
}

/* --- what was written here -------------------------------------------------------------- */

/* Who wrote it, and how it was then: what others write into it since is not ours. */
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
	bool may_be_marked, may_go; /* it is an array, which is replaced like a text */
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

/* The last row fits everything. */
static const struct kind *overwrite_kind_of(const uint8_t *head, size_t len)
{
	const struct kind *k = kinds;

	while (k->at + k->len > len || memcmp(head + k->at, k->magic, k->len) != 0)
		k++;
	return k;
}

/* Archives and code have bytes early on that no text has. */
static bool overwrite_is_text(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] == 0x7f || (bytes[i] < ' ' && !memchr("\t\n\v\f\r\033", bytes[i], 6)))
			return false;
	return true;
}

/* Returns  how many bytes there are, len at most; -1 with errno */
static ssize_t read_at(int fd, uint8_t *out, size_t len, off_t off)
{
	size_t done = 0;
	ssize_t n;

	while (done < len && (n = pread(fd, out + done, len - done, off + (off_t)done)) != 0) {
		if (n < 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

static bool has_mark(const uint8_t *bytes, size_t len)
{
	return mark.len && memmem(bytes, len, mark.data, mark.len);
}

/* What it is that must not be replaced; NULL: it may be.
 * @room    MARK_BYTES
 * Returns  false with errno: it cannot be read */
static bool overwrite_judge(int fd, const struct stat *file, uint8_t *room, const char **what)
{
	ssize_t n = read_at(fd, room, MARK_BYTES, 0);
	size_t len = n < 0 ? 0 : (size_t)n;
	const struct kind *k = overwrite_kind_of(room, len);
	bool may_go = k->may_go ||
		      (!k->len && overwrite_is_text(room, len < TEXT_BYTES ? len : TEXT_BYTES)) ||
		      (k->may_be_marked && has_mark(room, len));

	if (n >= 0 && !may_go && k->may_be_marked && file->st_size > MARK_BYTES) {
		n = read_at(fd, room, MARK_BYTES, file->st_size - MARK_BYTES);
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
	/* what cannot be read may be a library */
	if (fd < 0)
		return fail_to_read(path, errno, err);
	enum mpk_code code = check_open(fd, path, file, err);
	(void)close(fd);
	return code;
}

/* --- folders ---------------------------------------------------------------------------- */

/* A folder that is ours or empty. What cannot be listed is left to the call that writes
 * there, which says why it cannot. */
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

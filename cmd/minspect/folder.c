/* SPDX-License-Identifier: Apache-2.0 */
/* Folders on a command line: an inventory names one folder and not thousands of files. Every regular file below it that
 * begins as a library, an archive, code for GPUs or a file of weights does takes its place, in the order of paths; links
 * are passed over, as what they lead to is there itself, or is somebody else's. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "common/diag.h"
#include "elf/image.h"
#include "minspect/minspect.h"
#include "text/escape.h"

enum { OPEN_FOLDERS = 32, MAGIC_BYTES = 16 };

/* nftw() hands nothing on to whom it calls. */
static struct {
	char **items;
	size_t *folder_lens; /* of each: bytes of its name that are the folder's; 0: it is named itself */
	size_t count, cap, len_cap;
	size_t folder_len; /* of the folder that is walked */
	bool failed;       /* memory is out */
} found;

/* Blobs have no magic number, and safetensors begin with a length: their names decide. */
static bool has_known_suffix(const char *path)
{
	static const char *const suffixes[] = { ".blob", ".safetensors", "tensor-cache.json",
						"ndarray-cache.json", ".safetensors.index.json" };
	size_t len = strlen(path);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(suffixes); i++) {
		size_t n = strlen(suffixes[i]);

		if (len >= n && strcmp(path + len - n, suffixes[i]) == 0)
			return true;
	}
	return false;
}

static bool begins_as_library(const char *path)
{
	static const char *const magics[] = {
		"\177ELF",          "!<arch>\n",        "PK\3\4", "MZ",
		"\317\372\355\376", "\312\376\272\276", "GGUF",   "\267\234\4\5O\215\345\367"
	};
	char head[MINSPECT_HEAD_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, head, sizeof head);
	size_t len = got > 0 ? (size_t)got : 0;

	if (fd >= 0)
		(void)close(fd);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(magics); i++)
		if (len >= MAGIC_BYTES && memcmp(head, magics[i], strlen(magics[i])) == 0)
			return true;
	return mpk_file_is_device(mpk_span_of(head, len));
}

static void keep(const char *path, size_t folder_len)
{
	char *copy = strdup(path);

	if (!copy ||
	    !mpk_vec_reserve(&found.items, &found.cap, found.count + 1, sizeof *found.items) ||
	    !mpk_vec_reserve(&found.folder_lens, &found.len_cap, found.count + 1,
			     sizeof *found.folder_lens)) {
		free(copy);
		found.failed = true;
		return;
	}
	found.items[found.count] = copy;
	found.folder_lens[found.count++] = folder_len;
}

static int see_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)at;
	if (type == FTW_DNR)
		mpk_diag_warn("%s: cannot be read", MPK_QUOTE(mpk_span_str(path)));
	if (type == FTW_F && S_ISREG(st->st_mode) &&
	    (has_known_suffix(path) || begins_as_library(path)))
		keep(path, found.folder_len);
	return found.failed;
}

/* Those of one folder have one folder_len: only names are sorted. */
static int by_path(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int walk(const char *path)
{
	struct mpk_error err = { 0 };
	size_t first = found.count, len = strlen(path);

	found.folder_len = len + (path[len - 1] != '/');
	if (nftw(path, see_entry, OPEN_FOLDERS, FTW_PHYS) < 0 && !found.failed) {
		(void)mpk_fail_errno(&err, MPK_E_IO, errno, "cannot be read");
		mpk_error_at_file(&err, path);
		return mpk_diag_error(&err);
	}
	if (found.failed)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (found.count > first)
		qsort(found.items + first, found.count - first, sizeof *found.items, by_path);
	if (found.count > first || minspect_options.json_lines)
		return MPK_EXIT_OK;
	(void)mpk_fail(&err, MPK_E_NO_BLOB,
		       "no library, archive, code for GPUs or file of weights is in this folder");
	mpk_error_at_file(&err, path);
	return mpk_diag_error(&err);
}

int minspect_folders_expand(struct minspect_options *o)
{
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;
	struct stat st;

	for (size_t i = 0; i < o->file_count && status == MPK_EXIT_OK; i++) {
		if (stat(o->files[i], &st) == 0 && S_ISDIR(st.st_mode))
			status = walk(o->files[i]);
		else
			keep(o->files[i], 0);
	}
	if (status == MPK_EXIT_OK && found.failed)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	o->files = found.items;
	o->file_count = found.count;
	o->folder_lens = found.folder_lens;
	return status;
}

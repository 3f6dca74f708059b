/* SPDX-License-Identifier: Apache-2.0 */
/* Folders on a command line. Every regular file below a folder that
 * begins like a library, an archive, GPU code or a file of weights takes the folder's place, in the
 * order of paths. Links are skipped: their targets are either below the folder too, or do not
 * belong to it. */
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
#include "elf/foreign.h"
#include "elf/image.h"
#include "minspect/minspect.h"
#include "text/escape.h"

enum { OPEN_FOLDERS = 32, MAGIC_BYTES = 16 };

/* nftw() passes no argument to its callback. */
static struct {
	struct minspect_found *found;
	size_t folder_len; /* length of the folder's name */
	bool failed;       /* memory is out */
} walk;

/* Blobs have no magic number, and safetensors files begin with a length, so these are recognised by
 * their names. */
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
	return mpk_file_format_of(mpk_span_of(head, len)) == MPK_FILE_WASM ||
	       mpk_file_is_device(mpk_span_of(head, len));
}

static bool keep(struct minspect_found *found, const char *path, size_t folder_len)
{
	char *copy = strdup(path);

	if (!copy || !MPK_VEC_ROOM(found->items, found->count, found->cap) ||
	    !MPK_VEC_ROOM(found->folder_lens, found->count, found->len_cap)) {
		free(copy);
		return false;
	}
	found->items[found->count] = copy;
	found->folder_lens[found->count++] = folder_len;
	return true;
}

static int see_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)at;
	if (type == FTW_DNR)
		mpk_diag_warn("%s: cannot be read", MPK_QUOTE(mpk_span_str(path)));
	if (type == FTW_F && S_ISREG(st->st_mode) &&
	    (has_known_suffix(path) || begins_as_library(path)))
		walk.failed = !keep(walk.found, path, walk.folder_len);
	return walk.failed;
}

/* All have the same folder_len, so only names are compared. */
static int by_path(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum mpk_code minspect_folder_walk(const char *path, struct minspect_found *found,
				   struct mpk_error *err)
{
	size_t first = found->count, len = strlen(path);

	walk.found = found;
	walk.folder_len = len + (path[len - 1] != '/');
	walk.failed = false;
	if (nftw(path, see_entry, OPEN_FOLDERS, FTW_PHYS) < 0 && !walk.failed) {
		(void)mpk_fail_errno(err, MPK_E_IO, errno, "cannot be read");
		mpk_error_at_file(err, path);
		return MPK_E_IO;
	}
	MPK_TRY_ALLOC(!walk.failed, err);
	if (found->count > first)
		qsort(found->items + first, found->count - first, sizeof *found->items, by_path);
	return MPK_OK;
}

void minspect_found_fini(struct minspect_found *found)
{
	for (size_t i = 0; i < found->count; i++)
		free(found->items[i]);
	free(found->items);
	free(found->folder_lens);
	*found = (struct minspect_found){ 0 };
}

/* A listing of an empty folder is empty; for all other actions, an empty folder is an error. */
static enum mpk_code expand(const struct minspect_options *o, const char *path,
			    struct minspect_found *found, struct mpk_error *err)
{
	size_t before = found->count;
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
		MPK_TRY_ALLOC(keep(found, path, 0), err);
		return MPK_OK;
	}
	MPK_TRY(minspect_folder_walk(path, found, err));
	if (found->count > before || o->json_lines)
		return MPK_OK;
	(void)mpk_fail(err, MPK_E_NO_BLOB,
		       "no library, archive, code for GPUs or file of weights is in this folder");
	mpk_error_at_file(err, path);
	return MPK_E_NO_BLOB;
}

int minspect_folders_expand(struct minspect_options *o)
{
	/* lives as long as the process, like the command line */
	struct minspect_found found = { 0 };
	struct mpk_error err = { 0 };

	for (size_t i = 0; i < o->file_count; i++)
		if (expand(o, o->files[i], &found, &err) != MPK_OK)
			return mpk_diag_error(&err);
	o->files = found.items;
	o->file_count = found.count;
	o->folder_lens = found.folder_lens;
	return MPK_EXIT_OK;
}

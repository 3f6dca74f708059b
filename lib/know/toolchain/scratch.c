/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for intermediate files. A build may be killed at any moment, and weights of gigabytes must
 * not stay in /tmp then: a process that waits for our end removes what is left. It is started before
 * the folder is made, because a kill between the two would leave the folder. */
#include "toolchain/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image.h"
#include "io/output.h"
#include "io/reader.h"

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

/* --- a finished file, read once more ---------------------------------------------------------- */

/* Its blob was hashed while it was copied, so comparing the
 * length and the first bytes is enough to find a linker that dropped or moved it. */

/* Whether a blob begins as what was packed does. */
static enum mpk_code compare_beginning(struct mpk_span blob, const struct mpk_rope *packed,
				       struct mpk_error *err)
{
	struct mpk_reader *r = malloc(sizeof *r);
	struct mpk_span some = { 0 };

	MPK_TRY_ALLOC(r, err);
	mpk_reader_init(r, packed);
	enum mpk_code code = mpk_reader_next(r, &some, err);
	size_t len = some.len < MPK_READER_BYTES ? some.len : MPK_READER_BYTES;

	if (code == MPK_OK && len && memcmp(some.data, blob.data, len) != 0)
		code = mpk_fail(err, MPK_E_CORRUPT, "its blob is not the one that was packed");
	mpk_reader_fini(r);
	free(r);
	return code;
}

static enum mpk_code confirm(struct mpk_span bytes, const struct mpk_rope *blob,
			     struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_image image = { 0 };
	struct mpk_span packed;

	/* what a standalone library carries is looked at by whoever needs it: it is as large as its model */
	MPK_TRY(mpk_image_carrier(bytes, &packed, err));
	if (!packed.len) {
		MPK_TRY(mpk_image_open(bytes, NULL, arena, &image, err));
		packed = image.blob;
	}
	if (!blob)
		return MPK_OK;
	if (!packed.len)
		return mpk_fail(err, MPK_E_NO_BLOB, "there is no blob in it");
	if (packed.len < blob->len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"its blob has %zu bytes, %" PRIu64 " were packed", packed.len,
				blob->len);
	return compare_beginning(packed, blob, err);
}

enum mpk_code mpk_confirm_file(const struct mpk_mapping *file, const struct mpk_rope *blob,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_error why = { 0 };
	enum mpk_code code = confirm(file->bytes, blob, &arena, &why);

	if (code == MPK_OK)
		return MPK_OK;
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	return mpk_fail(err, MPK_E_TOOL, "no library that can be loaded: %s", why.text);
}

enum mpk_code mpk_confirm_output(const struct mpk_output *o, const struct mpk_rope *blob,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	if (mpk_output_is_through(o))
		return MPK_OK;
	MPK_TRY(mpk_mapping_of_fd(mpk_output_fd(o), "output", &map, err));
	return mpk_confirm_file(&map, blob, err);
}

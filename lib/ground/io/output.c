/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - output files that appear whole or not at all. The content goes to an unnamed file,
 * which the kernel removes even if the process is killed. File systems without unnamed files get a
 * temporary name; a table of these names can be read by a signal handler. */
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/vec.h"
#include "io/mapping.h"
#include "io/path.h"

enum { TEMPS_MAX = 16, NAME_TRIES = 100 };

struct mpk_output {
	char *path;    /* target path with links resolved; NULL: written through */
	char *temp;    /* current temporary name; NULL: none */
	char *shown;   /* the path as the user named it, for messages */
	mode_t mode;   /* permissions of the finished file, before the umask */
	bool replaces; /* whether a file exists there; if so, its owner and permissions: */
	struct stat old;
	int fd;
	bool own_fd;
	/* -1: fd has the content; otherwise an open file named temp has it (mpk_output_take) */
	int taken;
};

/* Temporary names that a killed build would leave behind. Slots point to the temp strings of open
 * outputs. A signal handler reads them, hence the atomics. */
static _Atomic(const char *) temps[TEMPS_MAX];

/* If the table is full, the next run's sweep removes the name. */
static void temps_add(const char *name)
{
	for (size_t i = 0; i < TEMPS_MAX; i++) {
		const char *expected = NULL;

		if (atomic_compare_exchange_strong(&temps[i], &expected, name))
			return;
	}
}

static void temps_drop(const char *name)
{
	for (size_t i = 0; i < TEMPS_MAX; i++) {
		const char *expected = name;

		if (atomic_compare_exchange_strong(&temps[i], &expected, NULL))
			return;
	}
}

/* Runs in a signal handler: it only unlinks and frees nothing. */
void mpk_output_abandon_all(void)
{
	for (size_t i = 0; i < TEMPS_MAX; i++) {
		const char *name = atomic_load(&temps[i]);

		if (name)
			(void)unlink(name);
	}
}

static void output_free(struct mpk_output *o)
{
	if (!o)
		return;
	if (o->temp) {
		temps_drop(o->temp);
		free(o->temp);
	}
	if (o->own_fd && o->fd >= 0)
		(void)close(o->fd);
	if (o->taken >= 0)
		(void)close(o->taken);
	free(o->path);
	free(o->shown);
	free(o);
}

void mpk_output_abandon(struct mpk_output *o)
{
	if (o && o->temp)
		(void)unlink(o->temp);
	output_free(o);
}

static enum mpk_code fail_io(const struct mpk_output *o, const char *what, struct mpk_error *err)
{
	enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "%s", what);

	mpk_error_at_file(err, o->shown);
	return code;
}

/* Finds an unused temporary name.
 * @make    creates something under that name; false with errno when it cannot */
static enum mpk_code output_take_name(struct mpk_output *o,
				      bool (*make)(struct mpk_output *, const char *),
				      struct mpk_error *err)
{
	/* Temporary names are only made here, so this is where those of killed runs are removed. */
	mpk_temporary_sweep(o->path);
	for (unsigned tries = 0; tries < NAME_TRIES; tries++) {
		char *name = mpk_temporary_name(o->path);

		MPK_TRY_ALLOC(name, err);
		temps_add(name);
		if (make(o, name)) {
			o->temp = name;
			return MPK_OK;
		}
		int saved = errno;
		temps_drop(name);
		free(name);
		errno = saved;
		if (saved != EEXIST)
			break;
	}
	return fail_io(o, "cannot create", err);
}

static bool make_file(struct mpk_output *o, const char *name)
{
	o->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, o->mode);
	if (o->fd < 0)
		return false;
	if (mpk_temporary_lock(o->fd))
		return true;
	/* Another run's sweep took the file for an abandoned one and removes it. */
	(void)close(o->fd);
	o->fd = -1;
	errno = EEXIST;
	return false;
}

/* Whether the path is standard output under any name. Its offset and append mode belong to the
 * user. */
static bool is_stream_name(const char *path)
{
	return strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0 ||
	       strncmp(path, "/dev/fd/", 8) == 0;
}

/* For a link that is broken or circular, it is unknown which file the user means. */
static bool is_broken_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

enum mpk_code mpk_output_check_path(const char *path, struct mpk_error *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    is_stream_name(path))
		return MPK_OK;
	switch (mpk_mappings_find(&st)) {
	case MPK_INPUT_NOT:
		return mpk_overwrite_check(path, &st, err);
	case MPK_INPUT_REPLACEABLE:
		return MPK_OK;
	case MPK_INPUT:
		break;
	}

	enum mpk_code code =
		mpk_fail(err, MPK_E_USAGE, "this is an input, too, and would be overwritten");

	mpk_error_at_file(err, path);
	return code;
}

/* Four targets: standard output; a device, a pipe or a descriptor, written through; a new
 * file; a file that is replaced, under its resolved name. */
static enum mpk_code open_target(struct mpk_output *o, struct mpk_error *err)
{
	struct stat st;
	bool exists = stat(o->shown, &st) == 0;

	if (strcmp(o->shown, "-") == 0) {
		o->fd = STDOUT_FILENO;
		return MPK_OK;
	}
	o->own_fd = true;
	if (exists && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return fail_io(o, "cannot write", err);
	}
	if (exists && (!S_ISREG(st.st_mode) || is_stream_name(o->shown))) {
		o->fd = open(o->shown, O_WRONLY | O_CLOEXEC);
		return o->fd >= 0 ? MPK_OK : fail_io(o, "cannot open for writing", err);
	}
	MPK_TRY(mpk_output_check_path(o->shown, err));
	if (!exists && is_broken_link(o->shown))
		return fail_io(o, "cannot write through a link that leads to no file", err);
	o->replaces = exists;
	o->old = st;
	/* The file that a link leads to is replaced, not the link. */
	o->path = exists ? realpath(o->shown, NULL) : strdup(o->shown);
	if (!o->path && errno != ENOMEM) /* the descriptor's file has been removed */
		return fail_io(o, "cannot write through a link that leads to no file", err);
	MPK_TRY_ALLOC(o->path, err);

	/* Unnamed files need a kernel and a file system that have them, and /proc to name them. */
	char *parent = mpk_path_folder(o->path);
	int fd = -1;

	if (parent && access("/proc/self/fd", X_OK) == 0)
		fd = open(parent, O_TMPFILE | O_RDWR | O_CLOEXEC, o->mode);
	if (fd >= 0)
		(void)mpk_temporary_lock(fd);
	free(parent);
	o->fd = fd;

	return o->fd >= 0 ? MPK_OK : output_take_name(o, make_file, err);
}

enum mpk_code mpk_output_open(const char *path, unsigned mode, struct mpk_output **out,
			      struct mpk_error *err)
{
	struct mpk_output *o = calloc(1, sizeof *o);

	MPK_TRY_ALLOC(o, err);
	o->fd = o->taken = -1;
	o->mode = (mode_t)mode;
	o->shown = strdup(path);

	enum mpk_code code = o->shown ? open_target(o, err) : mpk_fail_nomem(err);
	if (code != MPK_OK) {
		output_free(o);
		return code;
	}
	*out = o;
	return MPK_OK;
}

bool mpk_output_is_through(const struct mpk_output *o)
{
	return !o->path;
}

int mpk_output_fd(const struct mpk_output *o)
{
	return o->fd;
}

enum mpk_code mpk_output_write(struct mpk_output *o, struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_piece piece = { .data = bytes.data, .fd = -1, .len = bytes.len };
	struct mpk_rope rope = { .pieces = &piece, .count = bytes.len ? 1 : 0, .len = bytes.len };

	return mpk_output_write_rope(o, &rope, NULL, err);
}

enum mpk_code mpk_output_write_rope(struct mpk_output *o, const struct mpk_rope *rope,
				    const struct mpk_tap *tap, struct mpk_error *err)
{
	enum mpk_code code = mpk_account_write(rope->len, err);

	if (code == MPK_OK)
		code = mpk_write_pieces(o->fd, rope->pieces, rope->count, tap, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, o->shown);
	return code;
}

/* Renames file to a temporary name of the output, and locks it before another run can see it. */
static bool take_file(struct mpk_output *o, const char *file, char *name)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	temps_add(name);
	if (fd >= 0 && mpk_temporary_lock(fd) && rename(file, name) == 0) {
		o->taken = fd;
		return true;
	}
	temps_drop(name);
	if (fd >= 0)
		(void)close(fd);
	return false;
}

/* The linker's output file becomes ours without copying its bytes. */
enum mpk_code mpk_output_take(struct mpk_output *o, const char *file, struct mpk_error *err)
{
	char *name = o->path ? mpk_temporary_name(o->path) : NULL;

	if (o->path && !name)
		return mpk_fail_nomem(err);
	if (o->path)
		mpk_temporary_sweep(o->path);
	if (!name || !take_file(o, file, name)) {
		free(name);

		/* Otherwise copy: for outputs that are written through, and for files on another
		 * file system, where rename(2) fails. */
		struct stat st;
		int in = open(file, O_RDONLY | O_CLOEXEC);

		if (in < 0 || fstat(in, &st) != 0) {
			enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot open");

			mpk_error_at_file(err, file);
			if (in >= 0)
				(void)close(in);
			return code;
		}
		enum mpk_code code = mpk_copy_range(in, 0, o->fd, NULL, (uint64_t)st.st_size, err);
		(void)close(in);
		if (code == MPK_OK)
			(void)unlink(file);
		else
			mpk_error_at_file(err, o->shown);
		return code;
	}
	if (o->temp) {
		(void)unlink(o->temp);
		temps_drop(o->temp);
		free(o->temp);
	}
	o->temp = name;
	return MPK_OK;
}

/* AT_EMPTY_PATH would need a capability; the way through /proc needs none. */
static bool link_to(struct mpk_output *o, const char *name)
{
	char self[32];

	(void)snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Gives an unnamed file its name. An old file can only be replaced by renaming over it,
 * which takes a temporary name for that moment. */
static enum mpk_code give_name(struct mpk_output *o, struct mpk_error *err)
{
	if (link_to(o, o->path))
		return MPK_OK;
	return errno == EEXIST ? output_take_name(o, link_to, err)
			       : fail_io(o, "cannot create", err);
}

static int content_fd(const struct mpk_output *o)
{
	return o->taken >= 0 ? o->taken : o->fd;
}

/* The new file gets owner and permissions of the old one. If the owner cannot be kept, set-user-ID
 * bits are dropped. */
static enum mpk_code keep_mode(const struct mpk_output *o, struct mpk_error *err)
{
	int fd = content_fd(o);
	struct stat now;
	bool same =
		fstat(fd, &now) == 0 && now.st_uid == o->old.st_uid && now.st_gid == o->old.st_gid;

	if (!same)
		same = fchown(fd, o->old.st_uid, o->old.st_gid) == 0;
	if (fchmod(fd, o->old.st_mode & (same ? 07777 : 0777)) != 0)
		return fail_io(o, "cannot keep the permissions of", err);
	return MPK_OK;
}

/* Syncs the bytes before the name appears, and the name before the caller continues. */
static enum mpk_code sync_file(const struct mpk_output *o, struct mpk_error *err)
{
	return fsync(content_fd(o)) == 0 ? MPK_OK : fail_io(o, "cannot write to the disk", err);
}

static enum mpk_code sync_name(const struct mpk_output *o, struct mpk_error *err)
{
	char *parent = mpk_path_folder(o->path);
	int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int result = fd >= 0 ? fsync(fd) : -1, saved = errno;

	free(parent);
	if (fd >= 0)
		(void)close(fd);
	errno = saved;
	return result == 0 ? MPK_OK : fail_io(o, "cannot write to the disk", err);
}

/* The last moment to notice a changed input or lack of memory: nothing has been published yet. */
static enum mpk_code commit(struct mpk_output *o, struct mpk_error *err)
{
	if (!o->path)
		return MPK_OK;
	MPK_TRY(mpk_mappings_check(err));
	MPK_TRY(mpk_memory_check(err));
	mpk_overwrite_claim(content_fd(o));
	if (o->replaces)
		MPK_TRY(keep_mode(o, err));
	if (mpk_output_is_durable())
		MPK_TRY(sync_file(o, err));
	/* Network file systems and quotas report their errors when a descriptor is closed. */
	int copy = dup(o->fd);
	if (copy >= 0 && close(copy) != 0)
		return fail_io(o, "cannot write", err);
	if (!o->temp)
		MPK_TRY(give_name(o, err));
	if (o->temp && rename(o->temp, o->path) != 0)
		return fail_io(o, "cannot replace", err);
	return mpk_output_is_durable() ? sync_name(o, err) : MPK_OK;
}

enum mpk_code mpk_output_commit(struct mpk_output *o, struct mpk_error *err)
{
	enum mpk_code code = commit(o, err);

	if (code != MPK_OK)
		mpk_output_abandon(o);
	else
		output_free(o);
	return code;
}

enum mpk_code mpk_output_finish(struct mpk_output *o, enum mpk_code code, struct mpk_error *err)
{
	if (code == MPK_OK)
		return mpk_output_commit(o, err);
	mpk_output_abandon(o);
	return code;
}

enum mpk_code mpk_output_store(const char *path, struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(mpk_output_open(path, 0666, &o, err));
	return mpk_output_finish(o, mpk_output_write(o, bytes, err), err);
}

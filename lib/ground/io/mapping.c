/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.c - input files in memory. Large ones are mapped, small ones copied, pipes read to their
 * end. Every open file is recorded with its size and time. A build that reads a file while
 * somebody writes it would pack a mixture, so all records are checked before an output takes its
 * name. */
#include "io/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/strmap.h"
#include "base/vec.h"

/* Up to this size a copy costs less than a mapping with its page fault and its share of each fork.
 * Copies are aligned to 64 bytes, as tensors require. */
enum { SMALL_BYTES = 16 * 1024, ALIGN_BYTES = 64 };

/* Reads pipes and devices, whose length is unknown before their end. Asks for one byte more than
 * the limit, so that an input of just that size is accepted. */
static enum mpk_code mapping_read_all(int fd, bool is_device, struct mpk_span *out,
				      struct mpk_error *err)
{
	const size_t most = is_device ? MPK_DEVICE_MAX : MPK_PIPE_MAX;
	uint8_t *data = NULL;
	size_t len = 0, cap = 0;

	for (;;) {
		if (cap - len < 65536 && !mpk_vec_reserve(&data, &cap, len + 65536, 1)) {
			free(data);
			return mpk_fail_nomem(err);
		}
		ssize_t n =
			read(fd, data + len, cap - len < most - len ? cap - len : most + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot read");
			free(data);
			return code;
		}
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > most) {
			free(data);

			/* Devices are not read like pipes: some never end, and none holds a
			 * library. */
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				is_device
					? "more than 16 MiB come from a device, which is no file"
					: "more than 2 GiB come from what is not a regular file; store them in one");
		}
	}
	*out = mpk_span_of(data, len); /* data is never NULL here: room was reserved */
	return MPK_OK;
}

ssize_t mpk_read_at(int fd, void *to, size_t len, uint64_t off)
{
	size_t done = 0;
	ssize_t n;

	while (done < len &&
	       (n = pread(fd, (char *)to + done, len - done, (off_t)(off + done))) != 0) {
		if (n < 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

/* A file that shrinks meanwhile gives fewer bytes; mpk_mappings_check will find that it
 * changed. */
static enum mpk_code read_small(int fd, size_t size, struct mpk_span *out, struct mpk_error *err)
{
	size_t room = (size + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
	uint8_t *data = aligned_alloc(ALIGN_BYTES, room);

	MPK_TRY_ALLOC(data, err);
	ssize_t n = mpk_read_at(fd, data, size, 0);
	if (n < 0) {
		enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot read");
		free(data);
		return code;
	}
	*out = mpk_span_of(data, (size_t)n);
	return MPK_OK;
}

/* An empty file cannot be mapped: it is the empty text, marked as mapped so that nothing is
 * freed. */
static enum mpk_code map_fd(int fd, struct mpk_mapping *m, struct mpk_error *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot stat");
	if (S_ISDIR(st.st_mode))
		return mpk_fail_errno(err, MPK_E_IO, EISDIR, "cannot read");
	if (!S_ISREG(st.st_mode))
		return mapping_read_all(fd, S_ISCHR(st.st_mode), &m->bytes, err);
	if (st.st_size == 0) {
		m->bytes = mpk_span_str("");
		m->mapped = true;
		return MPK_OK;
	}
	if (st.st_size <= SMALL_BYTES)
		return read_small(fd, (size_t)st.st_size, &m->bytes, err);

	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot map");
	m->bytes = mpk_span_of(p, (size_t)st.st_size);
	m->mapped = true;
	return MPK_OK;
}

/* --- what has changed since ------------------------------------------------------- */

/* A file as it was when it was opened. The list is global, because the check before a commit
 * covers all inputs of the process. */
struct mpk_mapping_origin {
	struct mpk_mapping_origin *next, **at;
	int fd; /* -1: stat the name instead of the descriptor */
	bool replaceable, regular, sparse;
	struct mpk_span bytes; /* bytes mapped; empty for a file that was read into memory */
	struct mpk_file_identity identity;
	char name[];
};

static struct mpk_mapping_origin *origins;
static struct mpk_file_identity *closed; /* files that were read and closed */
static size_t closed_count, closed_cap;
static bool keeps_closed;
static struct mpk_strmap
	counted; /* device and inode of every file that was charged to base/account.h */
static pthread_mutex_t origins_lock = PTHREAD_MUTEX_INITIALIZER;

void mpk_mappings_at_fork(enum mpk_fork_moment moment)
{
	mpk_lock_at_fork(&origins_lock, moment);
}

static struct mpk_file_identity identity_of(const struct stat *st)
{
	return (struct mpk_file_identity){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.modified = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};
}

static bool is_same_file(const struct mpk_file_identity *a, const struct mpk_file_identity *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* Compares size and time of modification. The kernel's clock ticks every few milliseconds, so a
 * write of the same length within one tick is not noticed. */
static bool has_same_content(const struct mpk_file_identity *a, const struct mpk_file_identity *b)
{
	return a->size == b->size && a->modified == b->modified;
}

/* The error names the input that changed, not the output. */
static enum mpk_code fail_changed(const char *name, struct mpk_error *err)
{
	enum mpk_code code = mpk_fail(err, MPK_E_IO, "the file changed while it was read");

	mpk_error_at_file(err, name);
	return code;
}

static struct mpk_mapping_origin *mapping_remember(int fd, const char *name)
{
	size_t len = strlen(name) + 1;
	struct mpk_mapping_origin *o = malloc(sizeof *o + len);
	struct stat st;

	if (!o || fstat(fd, &st) != 0) {
		free(o);
		return NULL;
	}
	*o = (struct mpk_mapping_origin){ .fd = fd,
					  .regular = S_ISREG(st.st_mode),
					  .sparse = st.st_blocks < st.st_size / 512,
					  .identity = identity_of(&st) };
	memcpy(o->name, name, len);
	(void)pthread_mutex_lock(&origins_lock);
	o->next = origins;
	o->at = &origins;
	if (origins)
		origins->at = &o->next;
	origins = o;
	(void)pthread_mutex_unlock(&origins_lock);
	return o;
}

static void mapping_forget(struct mpk_mapping_origin *o)
{
	if (!o)
		return;
	(void)pthread_mutex_lock(&origins_lock);

	/* Without memory the file is not recorded; then only its content decides whether it may be
	 * replaced. */
	if (keeps_closed && o->regular && !o->replaceable &&
	    MPK_VEC_ROOM(closed, closed_count, closed_cap))
		closed[closed_count++] = o->identity;
	*o->at = o->next;
	if (o->next)
		o->next->at = o->at;
	(void)pthread_mutex_unlock(&origins_lock);
	free(o);
}

/* If the name now belongs to another file, ours has not changed. */
static bool is_unchanged(const struct mpk_mapping_origin *o)
{
	struct mpk_file_identity now;
	struct stat st;

	if ((o->fd >= 0 ? fstat(o->fd, &st) : stat(o->name, &st)) != 0 || !S_ISREG(st.st_mode))
		return true;
	now = identity_of(&st);
	return !is_same_file(&now, &o->identity) || has_same_content(&now, &o->identity);
}

enum mpk_code mpk_mappings_check(struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	(void)pthread_mutex_lock(&origins_lock);
	for (const struct mpk_mapping_origin *o = origins; o && code == MPK_OK; o = o->next)
		if (!is_unchanged(o))
			code = fail_changed(o->name, err);
	(void)pthread_mutex_unlock(&origins_lock);
	return code;
}

void mpk_mappings_keep(void)
{
	keeps_closed = true;
}

/* Call with origins_lock held. */
static bool has_origin(const struct stat *file, bool replaceable)
{
	const struct mpk_file_identity identity = identity_of(file);

	for (const struct mpk_mapping_origin *o = origins; o; o = o->next)
		if (o->replaceable == replaceable && is_same_file(&o->identity, &identity))
			return S_ISREG(file->st_mode);
	return false;
}

/* Closed inputs count, too: a package may name one file as an early input and as its output. */
enum mpk_input_state mpk_mappings_find(const struct stat *file)
{
	const struct mpk_file_identity identity = identity_of(file);
	enum mpk_input_state found = MPK_INPUT_NOT;

	(void)pthread_mutex_lock(&origins_lock);
	if (has_origin(file, false))
		found = MPK_INPUT;
	else if (has_origin(file, true))
		found = MPK_INPUT_REPLACEABLE;
	for (size_t i = 0; i < closed_count && found == MPK_INPUT_NOT; i++)
		if (is_same_file(&closed[i], &identity))
			found = MPK_INPUT;
	(void)pthread_mutex_unlock(&origins_lock);
	return found;
}

void mpk_mapping_may_be_replaced(struct mpk_mapping *m)
{
	if (m->origin)
		m->origin->replaceable = true;
}

/* --- opening ---------------------------------------------------------------------- */

/* Takes ownership of fd when it succeeds. */
static enum mpk_code open_fd(int fd, const char *name, struct mpk_mapping *out,
			     struct mpk_error *err)
{
	struct mpk_mapping m = { .fd = fd };

	/* Record the file before reading it, so that a change during the read is noticed. */
	m.origin = mapping_remember(fd, name);
	enum mpk_code code = m.origin ? map_fd(fd, &m, err) : mpk_fail_nomem(err);

	if (code != MPK_OK) {
		mapping_forget(m.origin);
		mpk_error_at_file(err, name);
		return code;
	}
	(void)pthread_mutex_lock(&origins_lock);
	m.origin->bytes = m.mapped ? m.bytes : (struct mpk_span){ 0 };
	(void)pthread_mutex_unlock(&origins_lock);
	*out = m;
	return MPK_OK;
}

/* Call with origins_lock held. Without memory the file counts as new. */
static bool was_counted(const struct mpk_file_identity *file)
{
	static struct mpk_arena names;
	const uint64_t name[] = { file->device, file->inode };
	const struct mpk_span key = mpk_span_of(name, sizeof name);
	const void *kept;

	if (mpk_strmap_find(&counted, key, NULL))
		return true;
	kept = mpk_arena_copy(&names, name, sizeof name);
	(void)(kept && mpk_strmap_put(&counted, mpk_span_of(kept, sizeof name), 0, NULL) > 0);
	return false;
}

static enum mpk_code open_stdin(struct mpk_mapping *out, struct mpk_error *err)
{
	struct mpk_mapping m = { .fd = -1 };
	enum mpk_code code = map_fd(STDIN_FILENO, &m, err);

	if (code != MPK_OK)
		mpk_error_at_file(err, "-");
	else
		*out = m;
	return code;
}

static enum mpk_code open_path(const char *path, struct mpk_mapping *out, struct mpk_error *err)
{
	if (strcmp(path, "-") == 0)
		return open_stdin(out, err);

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot open");
		mpk_error_at_file(err, path);
		return code;
	}
	enum mpk_code code = open_fd(fd, path, out, err);

	if (code != MPK_OK)
		close(fd);
	return code;
}

enum mpk_code mpk_mapping_open(const char *path, struct mpk_mapping *out, struct mpk_error *err)
{
	enum mpk_code code = open_path(path, out, err);

	if (code != MPK_OK)
		return code;
	out->input_bytes = out->bytes.len;
	mpk_account_open(out->input_bytes);

	/* In programs a file that is opened many times is one input; applications have no
	 * account. */
	bool is_new = keeps_closed;

	if (is_new && out->origin) {
		(void)pthread_mutex_lock(&origins_lock);
		is_new = !was_counted(&out->origin->identity);
		(void)pthread_mutex_unlock(&origins_lock);
	}
	if (is_new)
		mpk_account_input(out->bytes.len);
	return MPK_OK;
}

bool mpk_mapping_identity(const struct mpk_mapping *m, struct mpk_file_identity *out)
{
	if (!m->origin || !m->origin->regular)
		return false;
	*out = m->origin->identity;
	return true;
}

enum mpk_code mpk_mapping_open_same(const char *path, const struct mpk_file_identity *identity,
				    struct mpk_mapping *out, struct mpk_error *err)
{
	struct mpk_file_identity now;
	struct stat st;

	/* opening some devices has side effects */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return fail_changed(path, err);
	MPK_TRY(mpk_mapping_open(path, out, err));
	if (mpk_mapping_identity(out, &now) && is_same_file(&now, identity) &&
	    has_same_content(&now, identity))
		return MPK_OK;
	mpk_mapping_close(out);
	return fail_changed(path, err);
}

enum mpk_code mpk_mapping_of_fd(int fd, const char *name, struct mpk_mapping *out,
				struct mpk_error *err)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	enum mpk_code code = own >= 0 ? open_fd(own, name, out, err)
				      : mpk_fail_errno(err, MPK_E_IO, errno, "cannot open");

	if (code != MPK_OK && own >= 0)
		close(own);
	return code;
}

/* The mapping stays valid. Later the file is checked by its name. */
void mpk_mapping_close_file(struct mpk_mapping *m)
{
	if (m->fd < 0)
		return;
	(void)close(m->fd);
	m->fd = -1;
	m->origin->fd = -1;
}

void mpk_mapping_use_file(const struct mpk_mapping *m, struct mpk_rope *rope)
{
	uintptr_t base = (uintptr_t)m->bytes.data;

	if (!m->mapped || m->fd < 0)
		return;
	for (size_t i = 0; i < rope->count; i++) {
		struct mpk_piece *p = &rope->pieces[i];
		uintptr_t at = (uintptr_t)p->data;

		if (p->data && p->len >= MPK_LARGE_BYTES && at >= base && at - base < m->bytes.len)
			*p = (struct mpk_piece){ .fd = m->fd, .off = at - base, .len = p->len };
	}
	/* The last piece may have been split, so small values must not extend it. */
	rope->tail = NULL;
	rope->tail_left = 0;
}

bool mpk_mapping_of(const uint8_t *at, int *fd, uint64_t *off)
{
	bool found = false;

	(void)pthread_mutex_lock(&origins_lock);
	for (const struct mpk_mapping_origin *o = origins; o && !found; o = o->next) {
		uintptr_t base = (uintptr_t)o->bytes.data;

		found = o->fd >= 0 && o->sparse && (uintptr_t)at >= base &&
			(uintptr_t)at - base < o->bytes.len;
		if (!found)
			continue;
		*fd = o->fd;
		*off = (uintptr_t)at - base;
	}
	(void)pthread_mutex_unlock(&origins_lock);
	return found;
}

void mpk_mapping_close(struct mpk_mapping *m)
{
	if (m->input_bytes)
		mpk_account_close(m->input_bytes);
	if (m->mapped && m->bytes.len)
		(void)munmap((void *)(uintptr_t)m->bytes.data, m->bytes.len);
	else if (!m->mapped)
		free((void *)(uintptr_t)m->bytes.data);
	mapping_forget(m->origin);
	if (m->bytes.data && m->fd >= 0)
		close(m->fd);
	memset(m, 0, sizeof *m);
	m->fd = -1;
}

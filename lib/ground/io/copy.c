/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies file ranges. Packing spends its time here. The kernel copies where file systems
 * can share extents. Elsewhere bytes go through a buffer that fits into the processor's cache,
 * while a thread hashes the previous buffer. */
#include "io/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/span.h"
#include "io/mapping.h"
#include "io/reader.h"

/* --- what file systems are good at ------------------------------------------------ */

/* The file system's type (statfs); 0: unknown. */
static uint32_t copy_kind_of(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 ? (uint32_t)fs.f_type : 0;
}

/* Whether a file is on a network file system, whose server can copy at any offset. */
static bool is_remote(int fd)
{
	switch (copy_kind_of(fd)) {
	case NFS_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case CEPH_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/* Reserves disk blocks for bytes that are about to be written; the file's size stays. On ext4
 * writing 1 GiB takes a quarter longer without it; XFS, Btrfs and tmpfs gain nothing, and Btrfs
 * would not compress reserved blocks. So it is only done for 1 MiB and more, where it helps, also
 * below an overlay.
 * Returns  MPK_OK, also where the file system does not support it; MPK_E_IO: the disk
 *          or the quota is full */
static enum mpk_code reserve_blocks(int fd, uint64_t off, uint64_t len, struct mpk_error *err)
{
	if (len < MPK_LARGE_BYTES || off > INT64_MAX || len > INT64_MAX - off)
		return MPK_OK;
	uint32_t kind = copy_kind_of(fd);

	if (kind != EXT4_SUPER_MAGIC && kind != OVERLAYFS_SUPER_MAGIC)
		return MPK_OK;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)len) != 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write %llu bytes",
				      (unsigned long long)len);
	return MPK_OK;
}

/* --- hashing in a thread ---------------------------------------------------------- */

/* One span is posted at a time. If the thread has not begun when the caller waits, because no core
 * is free, the caller hashes the span itself. So hashing with a thread never takes longer than
 * hashing without one. */
enum hash_state { HASH_IDLE, HASH_POSTED, HASH_TAKEN, HASH_STOPPED };

struct hash_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum hash_state state;
	struct mpk_span bytes; /* posted or taken */
	const struct mpk_tap *tap;
};

static void set_state(struct hash_thread *s, enum hash_state state)
{
	s->state = state;
	(void)pthread_cond_broadcast(&s->changed);
}

static void *hash_main(void *data)
{
	struct hash_thread *s = data;

	(void)pthread_mutex_lock(&s->lock);
	while (s->state != HASH_STOPPED) {
		if (s->state != HASH_POSTED) {
			(void)pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->state = HASH_TAKEN;
		(void)pthread_mutex_unlock(&s->lock);
		s->tap->see(s->tap->data, s->bytes);
		(void)pthread_mutex_lock(&s->lock);
		set_state(s, HASH_IDLE);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool hash_thread_start(struct hash_thread *s, const struct mpk_tap *tap)
{
	*s = (struct hash_thread){ .lock = PTHREAD_MUTEX_INITIALIZER,
				   .changed = PTHREAD_COND_INITIALIZER,
				   .tap = tap };
	return pthread_create(&s->thread, NULL, hash_main, s) == 0;
}

static void hash_thread_wait(struct hash_thread *s)
{
	(void)pthread_mutex_lock(&s->lock);
	bool untouched = s->state == HASH_POSTED;

	if (untouched)
		s->state = HASH_IDLE;
	while (s->state != HASH_IDLE)
		(void)pthread_cond_wait(&s->changed, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
	if (untouched)
		s->tap->see(s->tap->data, s->bytes);
}

/* The bytes must stay unchanged until the next hash_thread_wait. */
static void hash_thread_post(struct hash_thread *s, struct mpk_span bytes)
{
	hash_thread_wait(s);
	(void)pthread_mutex_lock(&s->lock);
	s->bytes = bytes;
	set_state(s, HASH_POSTED);
	(void)pthread_mutex_unlock(&s->lock);
}

static void hash_thread_stop(struct hash_thread *s)
{
	hash_thread_wait(s);
	(void)pthread_mutex_lock(&s->lock);
	set_state(s, HASH_STOPPED);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->thread, NULL);
	(void)pthread_cond_destroy(&s->changed);
	(void)pthread_mutex_destroy(&s->lock);
}

/* --- copying ---------------------------------------------------------------------- */

enum {
	/* A larger chunk makes page caches look for huge pages, and leaves the processor's cache
	 * before it is written. */
	CHUNK_BYTES = 128 * 1024,
	BATCH_BYTES = 1024 * 1024, /* bytes that the tap sees at a time */
	PAGE_BYTES = 4096,
	GATHER_MAX = 256, /* pieces in one writev */
	/* bytes per call, so that signals and progress reports get through */
	STEP_BYTES = 64 * 1024 * 1024
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static ssize_t read_some(int fd, void *data, size_t len, uint64_t off)
{
	ssize_t n;

	do {
		n = pread(fd, data, len, (off_t)off);
		if (n < 0 && errno == ESPIPE)
			n = read(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n;
}

bool mpk_write_all(int fd, struct mpk_span bytes, const uint64_t *off)
{
	const uint8_t *data = bytes.data;
	size_t len = bytes.len;
	uint64_t at = off ? *off : 0;

	while (len) {
		ssize_t n = off ? pwrite(fd, data, len, (off_t)at) : write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		data += n;
		len -= (size_t)n;
		at += (size_t)n;
	}
	return true;
}

/* A range that is being copied. */
struct copy {
	int in, out;
	uint64_t from, to, left;    /* to: offset of the next byte to write, where known */
	bool positioned;            /* write at offset to; false: at the current position of out */
	bool in_kernel;             /* copy_file_range has not failed yet */
	const struct mpk_tap *tap;  /* sees the bytes; may be NULL */
	struct hash_thread *hasher; /* the thread that calls the tap; NULL: the copying thread */
};

static void copy_see(const struct mpk_tap *tap, const void *data, size_t len)
{
	if (tap)
		tap->see(tap->data, mpk_span_of(data, len));
}

static volatile sig_atomic_t stopped;

void mpk_copy_stop(void)
{
	stopped = 1;
}

static enum mpk_code check_stopped(struct mpk_error *err)
{
	return stopped ? mpk_fail(err, MPK_E_IO, "interrupted") : MPK_OK;
}

static void (*watcher)(uint64_t bytes);

void mpk_copy_watch(void (*moved)(uint64_t bytes))
{
	watcher = moved;
}

void mpk_copy_tell(uint64_t bytes)
{
	if (watcher)
		watcher(bytes);
}

static void advance(struct copy *c, uint64_t n)
{
	mpk_copy_tell(n);
	c->from += n;
	c->to += n;
	c->left -= n;
}

/* Whether a read and write loop would fail like copy_file_range did: the disk is full or broken. */
static bool is_final(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
}

/* File systems share extents in whole blocks, and only if a call begins at a block. */
static uint64_t next_step(const struct copy *c)
{
	return STEP_BYTES - c->from % PAGE_BYTES;
}

/* Copies up to len bytes inside the kernel; where the kernel refuses, clears in_kernel. */
static enum mpk_code copy_in_kernel(struct copy *c, uint64_t len, struct mpk_error *err)
{
	while (len) {
		MPK_TRY(check_stopped(err));
		off_t from = (off_t)c->from, to = (off_t)c->to;
		ssize_t n = copy_file_range(c->in, &from, c->out, c->positioned ? &to : NULL,
					    (size_t)min_u64(len, next_step(c)), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && is_final(errno))
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
		c->in_kernel = n > 0;
		if (n <= 0)
			break;
		advance(c, (uint64_t)n);
		len -= (uint64_t)n;
	}
	return MPK_OK;
}

/* --- through memory -------------------------------------------------------------- */

/* The next bytes of a write, at most len: up to a multiple of CHUNK_BYTES in the target, so
 * that no page is half done. */
static size_t next_chunk(const struct copy *c, size_t len)
{
	return (size_t)min_u64(CHUNK_BYTES - c->to % CHUNK_BYTES, len);
}

static enum mpk_code write_chunk(struct copy *c, const void *data, size_t len,
				 struct mpk_error *err)
{
	if (!mpk_write_all(c->out, mpk_span_of(data, len), c->positioned ? &c->to : NULL))
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
	advance(c, len);
	return MPK_OK;
}

/* The next bytes to write, at most len: up to a multiple of CHUNK_BYTES in the target, so that no
 * page is written in two halves. */
static void show(struct copy *c, struct mpk_span bytes)
{
	if (c->hasher)
		hash_thread_post(c->hasher, bytes);
	else
		copy_see(c->tap, bytes.data, bytes.len);
}

/* Copies through the buffer. The chunk is still in the processor's cache when it is written. It
 * has the same offset within a page as in the target, because the kernel copies faster then.
 * @buffer  page-aligned, one page longer than len */
static enum mpk_code copy_batch(struct copy *c, char *buffer, size_t len, struct mpk_error *err)
{
	size_t at = 0;

	buffer += c->to % PAGE_BYTES;

	while (at < len) {
		ssize_t n = read_some(c->in, buffer + at, next_chunk(c, len - at), c->from);

		if (n < 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read the input");
		if (n == 0)
			return mpk_fail(err, MPK_E_IO,
					"an input file became shorter while it was being copied");
		MPK_TRY(write_chunk(c, buffer + at, (size_t)n, err));
		at += (size_t)n;
	}
	show(c, mpk_span_of(buffer, at));
	return MPK_OK;
}

/* Copies one window: skips a hole without reading its zeros, or shows the tap what the kernel
 * copied. */
static enum mpk_code copy_window(struct copy *c, const struct mpk_window *w, struct mpk_error *err)
{
	uint64_t start = c->from;
	enum mpk_code code = MPK_OK;

	show(c, w->bytes);
	if (c->in_kernel && w->base)
		code = copy_in_kernel(c, w->bytes.len, err);
	for (size_t at = (size_t)(c->from - start), n; code == MPK_OK && at < w->bytes.len;
	     at += n) {
		n = next_chunk(c, w->bytes.len - at);
		code = write_chunk(c, w->bytes.data + at, n, err);
	}
	if (c->hasher)
		hash_thread_wait(c->hasher);
	return code;
}

static enum mpk_code copy_step(struct copy *c, char *buffer, struct mpk_error *err)
{
	struct mpk_window w = { 0 };
	size_t most = BATCH_BYTES - (size_t)(c->to % CHUNK_BYTES);
	bool hole;
	uint64_t n = mpk_window_measure(c->in, c->from, c->left, &hole);

	MPK_TRY(check_stopped(err));
	/* A window ends at a chunk boundary of the target, as a batch does. */
	if (n && (hole || (c->in_kernel && c->tap)) &&
	    mpk_window_open(c->in, c->from,
			    min_u64(n, MPK_WINDOW_BYTES - CHUNK_BYTES - c->to % CHUNK_BYTES), &w)) {
		enum mpk_code code = copy_window(c, &w, err);

		mpk_window_close(&w);
		return code;
	}
	return copy_batch(c, buffer, (size_t)min_u64(n ? n : c->left, most), err);
}

/* While one buffer is filled and written, the tap reads the other. */
static enum mpk_code copy_through(struct copy *c, struct mpk_error *err)
{
	size_t size = (size_t)min_u64(c->left, BATCH_BYTES) / PAGE_BYTES * PAGE_BYTES +
		      2 * (size_t)PAGE_BYTES;
	char *buffers = aligned_alloc(PAGE_BYTES, 2 * size);
	struct hash_thread hasher;
	enum mpk_code code = MPK_OK;

	MPK_TRY_ALLOC(buffers, err);
	if (c->tap && c->left > BATCH_BYTES && hash_thread_start(&hasher, c->tap))
		c->hasher = &hasher;
	(void)posix_fadvise(c->in, (off_t)c->from, (off_t)c->left, POSIX_FADV_SEQUENTIAL);
	for (size_t turn = 0; c->left && code == MPK_OK; turn ^= 1)
		code = copy_step(c, buffers + turn * size, err);
	if (c->hasher) {
		hash_thread_stop(c->hasher);
		c->hasher = NULL;
	}
	free(buffers);
	return code;
}

/* Recreates a hole of the input at the end of the output. A sparse file of terabytes has few
 * blocks, and its copy must not fill the disk.
 * Returns  false and does nothing if the output is no regular file or continues after
 *          the hole */
static bool copy_hole(struct copy *c, uint64_t len)
{
	static const uint8_t zeros[CHUNK_BYTES];
	struct stat st;

	if (fstat(c->out, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > c->to ||
	    len > INT64_MAX || c->to > INT64_MAX - len ||
	    ftruncate(c->out, (off_t)(c->to + len)) != 0 ||
	    (!c->positioned && lseek(c->out, (off_t)(c->to + len), SEEK_SET) < 0))
		return false;
	for (uint64_t at = 0; c->tap && at < len; at += CHUNK_BYTES)
		copy_see(c->tap, zeros, (size_t)min_u64(CHUNK_BYTES, len - at));
	advance(c, len);
	return true;
}

static enum mpk_code copy_range(struct copy *c, struct mpk_error *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	off_t here = c->positioned ? (off_t)c->to : lseek(c->out, 0, SEEK_CUR);
	bool by_kernel, hole;

	c->to = here < 0 ? 0 : (uint64_t)here;
	by_kernel = here >= 0 && (c->from % page == c->to % page || is_remote(c->out));
	while (c->left) {
		struct copy part = *c;
		uint64_t alike = mpk_window_measure(c->in, c->from, c->left, &hole);

		MPK_TRY(check_stopped(err));
		if (alike && hole && here >= 0 && copy_hole(c, min_u64(alike, STEP_BYTES)))
			continue;
		part.left = alike ? alike : c->left;
		part.in_kernel = by_kernel;
		/* Do not fail on a full disk where the copy will share extents and needs no new
		 * blocks. */
		if (here >= 0 && reserve_blocks(c->out, c->to, part.left, err) != MPK_OK &&
		    !by_kernel)
			return MPK_E_IO;
		if (by_kernel && !c->tap)
			MPK_TRY(copy_in_kernel(&part, part.left, err));
		if (part.left)
			MPK_TRY(copy_through(&part, err));
		c->from = part.from;
		c->to = part.to;
		c->left -= alike ? alike : c->left;
	}
	return MPK_OK;
}

enum mpk_code mpk_copy_range(int in, uint64_t in_off, int out, const uint64_t *out_off,
			     uint64_t len, struct mpk_error *err)
{
	struct copy c = { .in = in,
			  .out = out,
			  .from = in_off,
			  .to = out_off ? *out_off : 0,
			  .left = len,
			  .positioned = out_off };

	return copy_range(&c, err);
}

static enum mpk_code write_gathered(int out, struct iovec *iov, size_t count,
				    const struct mpk_tap *tap, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++)
		copy_see(tap, iov[i].iov_base, iov[i].iov_len);
	while (count) {
		ssize_t n = writev(out, iov, (int)count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");

		size_t left = (size_t)n;
		while (count && left >= iov->iov_len) {
			left -= iov->iov_len;
			iov++;
			count--;
		}
		if (count) {
			iov->iov_base = (char *)iov->iov_base + left;
			iov->iov_len -= left;
		}
	}
	return MPK_OK;
}

static bool is_zero(const uint8_t *data, size_t len)
{
	return data[0] == 0 && memcmp(data, data + 1, len - 1) == 0;
}

/* Writes memory that may be a private copy of a sparse file: runs of zeros of a chunk and more
 * become holes. */
static enum mpk_code write_long(int out, struct mpk_span bytes, const struct mpk_tap *tap,
				struct mpk_error *err)
{
	off_t here = lseek(out, 0, SEEK_CUR);
	struct copy c = { .in = -1, .out = out, .to = here < 0 ? 0 : (uint64_t)here, .tap = tap };

	for (size_t at = 0, n; at < bytes.len; at += n, c.to += n) {
		const uint8_t *data = bytes.data + at;
		size_t most = (size_t)min_u64(bytes.len - at, STEP_BYTES);
		bool zero;

		MPK_TRY(check_stopped(err));
		/* a hole of the file is not read at all */
		n = here >= 0 ? mpk_private_hole(mpk_span_of(data, most)) : 0;
		c.left = n;
		if (n >= CHUNK_BYTES && copy_hole(&c, n)) {
			c.to -= n; /* undo the addition of the loop */
			continue;
		}
		zero = here >= 0 && most >= CHUNK_BYTES && is_zero(data, CHUNK_BYTES);
		for (n = (size_t)min_u64(CHUNK_BYTES, most);
		     n + CHUNK_BYTES <= most && is_zero(data + n, CHUNK_BYTES) == zero;)
			n += CHUNK_BYTES;
		if (most - n < CHUNK_BYTES && !zero)
			n = most;
		c.left = n;
		if (zero && copy_hole(&c, n)) {
			c.to -= n; /* undo the addition of the loop */
			continue;
		}
		MPK_TRY(write_gathered(out, &(struct iovec){ (void *)(uintptr_t)data, n }, 1, tap,
				       err));
	}
	return MPK_OK;
}

enum mpk_code mpk_write_pieces(int out, const struct mpk_piece *pieces, size_t count,
			       const struct mpk_tap *tap, struct mpk_error *err)
{
	struct iovec iov[GATHER_MAX];
	size_t gathered = 0;

	for (size_t i = 0; i < count; i++) {
		const struct mpk_piece *p = &pieces[i];

		MPK_TRY(check_stopped(err));
		bool is_long = p->data && p->len >= 2 * (uint64_t)CHUNK_BYTES;

		if (p->data && !is_long)
			iov[gathered++] =
				(struct iovec){ (void *)(uintptr_t)p->data, (size_t)p->len };
		bool last = i + 1 == count;
		if (gathered &&
		    (last || is_long || gathered == GATHER_MAX || !pieces[i + 1].data)) {
			MPK_TRY(write_gathered(out, iov, gathered, tap, err));
			gathered = 0;
		}
		if (is_long) {
			MPK_TRY(write_long(out, mpk_span_of(p->data, (size_t)p->len), tap, err));
			continue;
		}
		struct copy c = {
			.in = p->fd, .out = out, .from = p->off, .left = p->len, .tap = tap
		};
		if (!p->data)
			MPK_TRY(copy_range(&c, err));
	}
	return MPK_OK;
}

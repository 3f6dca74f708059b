/* SPDX-License-Identifier: Apache-2.0 */
/* private.c - a writable private copy of a mapping, and its holes
 *
 * A sparse file of terabytes has few blocks. Reading a page of a hole makes the kernel fill a page
 * with zeros, and a copy of the file would take as long as if it were full. So holes are found
 * first, and stay read-only until a writer declares a change (mpk_private_touch): a writer that
 * forgets this crashes instead of losing data silently. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/mapping.h"

/* Shorter holes, and holes beyond HOLES_MAX, are treated as data. */
enum { HOLE_LEAST = 1 << 20, HOLES_MAX = 256 };

/* A hole; off and len are multiples of the page size. */
struct hole {
	size_t off, len;
	bool changed; /* part of it may have been changed */
};

struct mpk_private_holes {
	struct mpk_private_holes *next;
	const uint8_t *data; /* all bytes of the mapping */
	size_t len, count;
	struct hole items[HOLES_MAX];
};

static struct mpk_private_holes *live;
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void forget_holes(struct mpk_private_holes *holes)
{
	(void)pthread_mutex_lock(&live_lock);
	for (struct mpk_private_holes **at = &live; *at; at = &(*at)->next) {
		if (*at != holes)
			continue;
		*at = holes->next;
		break;
	}
	(void)pthread_mutex_unlock(&live_lock);
	free(holes);
}

/* Adds the hole between two data ranges of the file. */
static void add_hole(struct mpk_private_holes *h, uint64_t from, uint64_t to)
{
	const size_t page = page_bytes();
	size_t off = ((size_t)from + page - 1) / page * page, end = (size_t)to / page * page;

	if (end > off && end - off >= HOLE_LEAST)
		h->items[h->count++] = (struct hole){ off, end - off, false };
}

/* Moves the position of the descriptor, which nothing else uses.
 * Returns  false with errno */
static bool find_holes(const struct mpk_mapping *m, struct mpk_private *p)
{
	struct stat st;
	off_t data, at = 0;

	if (fstat(m->fd, &st) != 0 || st.st_blocks >= st.st_size / 512)
		return true;
	p->holes = calloc(1, sizeof *p->holes);
	if (!p->holes)
		return false;
	p->holes->data = p->data;
	p->holes->len = p->len;
	while (p->holes->count < HOLES_MAX && (uint64_t)at < p->len) {
		data = lseek(m->fd, at, SEEK_DATA);
		if (data < 0 && errno != ENXIO)
			break; /* the file system does not report holes */
		add_hole(p->holes, (uint64_t)at,
			 data < 0 || (uint64_t)data > p->len ? p->len : (uint64_t)data);
		at = data < 0 ? data : lseek(m->fd, data, SEEK_HOLE);
		if (at < 0)
			break;
	}
	(void)pthread_mutex_lock(&live_lock);
	p->holes->next = live;
	live = p->holes;
	(void)pthread_mutex_unlock(&live_lock);
	return true;
}

enum mpk_code mpk_private_touch(const struct mpk_private *p, uint64_t off, uint64_t len,
				struct mpk_error *err)
{
	const size_t page = page_bytes();

	for (size_t i = 0; p->holes && i < p->holes->count; i++) {
		struct hole *h = &p->holes->items[i];
		size_t from = off > h->off ? (size_t)off : h->off;
		size_t to = off + len < h->off + h->len ? (size_t)(off + len) : h->off + h->len;

		if (from >= to)
			continue;
		h->changed = true;
		from = from / page * page;
		if (mprotect(p->data + from, to - from, PROT_READ | PROT_WRITE) != 0)
			return mpk_fail_errno(err, MPK_E_NOMEM, errno,
					      "cannot change a copy of the file");
	}
	return MPK_OK;
}

size_t mpk_private_hole(struct mpk_span part)
{
	size_t found = 0;

	(void)pthread_mutex_lock(&live_lock);
	for (const struct mpk_private_holes *p = live; p && !found; p = p->next) {
		uintptr_t at = (uintptr_t)part.data - (uintptr_t)p->data;

		for (size_t i = 0; at < p->len && i < p->count; i++) {
			const struct hole *h = &p->items[i];

			if (!h->changed && at >= h->off && at - h->off < h->len)
				found = h->off + h->len - at;
		}
	}
	(void)pthread_mutex_unlock(&live_lock);
	return found < part.len ? found : part.len;
}

/* --- the copy ----------------------------------------------------------------------------- */

/* Makes pages in a range writable, except holes.
 * Returns  false with errno */
static bool allow_range(const struct mpk_private *p, size_t from, size_t to)
{
	for (size_t i = 0; p->holes && i < p->holes->count && from < to; i++) {
		const struct hole *h = &p->holes->items[i];
		size_t end = h->off < to ? h->off : to;

		if (h->off + h->len <= from)
			continue;
		if (end > from && mprotect(p->data + from, end - from, PROT_READ | PROT_WRITE) != 0)
			return false;
		from = h->off + h->len;
	}
	/* qemu's emulation of the call refuses a range of no pages. */
	return from >= to || mprotect(p->data + from, to - from, PROT_READ | PROT_WRITE) == 0;
}

/* Makes everything writable but holes and the whole pages inside the kept part; if the kept part
 * is small, everything but holes. */
static bool allow_changes(const struct mpk_private *p)
{
	size_t page = page_bytes();
	size_t head = (p->keep_off + page - 1) / page * page;
	size_t tail = (p->keep_off + p->keep_len) / page * page;

	if (tail < head)
		head = tail = 0;
	return allow_range(p, 0, head) && allow_range(p, tail, p->len);
}

/* Maps the same file a second time. The first mapping must keep the file's content, since views of
 * it are written to the output. */
enum mpk_code mpk_private_open(const struct mpk_mapping *m, struct mpk_span keep,
			       struct mpk_private *out, struct mpk_error *err)
{
	struct mpk_private p = { .data = (uint8_t *)(uintptr_t)m->bytes.data,
				 .len = m->bytes.len,
				 .keep_off = keep.len ? (size_t)(keep.data - m->bytes.data) : 0,
				 .keep_len = keep.len };
	bool has_second = m->fd >= 0 && p.len;

	if (has_second && m->mapped)
		p.data = mmap(NULL, p.len, PROT_READ, MAP_PRIVATE, m->fd, 0);
	else if (has_second) {
		/* Small files are in allocated memory, not mapped, so copy them. */
		uint8_t *data = malloc(m->bytes.len);

		if (data)
			memcpy(data, m->bytes.data, m->bytes.len);
		p.data = data;
	}
	if (p.data == MAP_FAILED)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot map");
	MPK_TRY_ALLOC(p.data, err);
	if (m->mapped && p.len && (!find_holes(m, &p) || !allow_changes(&p))) {
		int saved = errno;

		mpk_private_close(m, &p);
		return mpk_fail_errno(err, MPK_E_IO, saved, "cannot map");
	}
	*out = p;
	return MPK_OK;
}

void mpk_private_close(const struct mpk_mapping *m, struct mpk_private *p)
{
	forget_holes(p->holes);
	if (p->data && p->data != m->bytes.data && m->mapped)
		(void)munmap(p->data, p->len);
	else if (p->data != m->bytes.data)
		free(p->data);
	memset(p, 0, sizeof *p);
}

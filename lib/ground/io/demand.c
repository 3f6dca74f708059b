/* SPDX-License-Identifier: Apache-2.0 */
/* demand.c - fills pages when they are first read: the pages are inaccessible, and a handler of
 * SIGSEGV fills them.
 *
 * The pages are shared: private pages that become writable count for RLIMIT_DATA at that moment,
 * and a handler could not report a refusal. Instead, a separate reservation counts from the start,
 * like an allocation of all bytes. userfaultfd(2) would avoid the signal, but users and containers
 * are often refused it, and it needs a second thread. */
#include "io/mapping.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/* bytes at the end that stay filled: tables of symbols and names are there */
	TAIL_BYTES = 24 << 20,
	TURN_BYTES = 8 << 20, /* bytes of all other chunks that are filled at a time */
	/* the least number of chunks of each kind, however large a chunk is */
	CHUNKS_LEAST = 4,
	PAGES_BYTES = 16 << 20, /* most bytes kept as single pages */
	NO_CHUNK = -1,
};

struct chunk {
	size_t there; /* bytes filled so far, from the chunk's beginning */
	bool was_given_up;
};

struct mpk_demand {
	struct mpk_demand *next;
	struct mpk_demand_source source;
	uint8_t *bytes;
	void *reservation;
	size_t len, mapped; /* bytes mapped: up to the end of the last page */
	size_t chunk_bytes, count;
	struct chunk *chunks;
	size_t tail;   /* number of chunks at the end that stay */
	size_t *queue; /* a ring of the other chunks that hold something, oldest first */
	size_t first, queued, most;
	ptrdiff_t last; /* the last filled chunk, where the source can continue */
	size_t again;   /* number of chunks that were filled a second time */
	size_t page;
	size_t *pages; /* offsets of pages that are kept one by one until their chunks are dropped */
	size_t page_count, page_max;
};

static struct mpk_demand *live;
static struct sigaction before; /* the handler that ours replaced */

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Returns the bytes from the beginning of chunk k to its end or the end of the last page. */
static size_t chunk_mapped(const struct mpk_demand *d, size_t k)
{
	size_t left = d->mapped - k * d->chunk_bytes;

	return left < d->chunk_bytes ? left : d->chunk_bytes;
}

/* The kernel only drops pages from a range that is writable. */
static void give_up_oldest(struct mpk_demand *d)
{
	size_t k = d->queue[d->first], len = chunk_mapped(d, k);
	uint8_t *at = d->bytes + k * d->chunk_bytes;

	d->first = (d->first + 1) % d->count;
	d->queued--;
	if (mprotect(at, len, PROT_READ | PROT_WRITE) == 0)
		(void)madvise(at, len, MADV_REMOVE);
	(void)mprotect(at, len, PROT_NONE);
	d->chunks[k] = (struct chunk){ .was_given_up = true };
	if (d->last == (ptrdiff_t)k)
		d->last = NO_CHUNK;
}

/* Fills the byte at off and what precedes it in its chunk. Many reads want a few bytes only, so
 * the chunk is filled up to the next grain. A second read in the same chunk fills the rest,
 * because it would otherwise be made from the beginning again. Returns false: the byte was filled
 * already, so the read failed for another reason. */
static bool make_byte(struct mpk_demand *d, size_t off)
{
	size_t k = off / d->chunk_bytes, begin = k * d->chunk_bytes, there = d->chunks[k].there;
	bool goes_on = d->last == (ptrdiff_t)k;
	size_t from = goes_on ? begin + there : begin;
	size_t to = begin + chunk_mapped(d, k);

	if (off - begin < there)
		return false;
	if (!there) {
		/* Makes room for another chunk. If a reader goes back and forth, the same chunks
		 * would be filled again and again. Once that is seen, no chunk is dropped any
		 * more, and each is filled once more at most. */
		d->again += d->chunks[k].was_given_up;
		if (d->queued >= d->most && d->again <= d->count / 4)
			give_up_oldest(d);
		d->queue[(d->first + d->queued++) % d->count] = k;
	}
	if (!there || goes_on)
		to = round_up(off + 1, MPK_DEMAND_GRAIN) < to ? round_up(off + 1, MPK_DEMAND_GRAIN)
							      : to;

	size_t len = (to < d->len ? to : d->len) - from;

	if (mprotect(d->bytes + from, to - from, PROT_READ | PROT_WRITE) != 0 ||
	    !d->source.make(d->source.arg, from, d->bytes + from, len) ||
	    mprotect(d->bytes + from, to - from, PROT_READ) != 0)
		d->source.failed(d->source.arg);
	d->chunks[k].there = to - begin;
	d->last = (ptrdiff_t)k;
	return true;
}

/* --- the handler -------------------------------------------------------------------------- */

static struct mpk_demand *demand_find(const uint8_t *at)
{
	for (struct mpk_demand *d = live; d; d = d->next)
		if (at >= d->bytes && at < d->bytes + d->mapped)
			return d;
	return NULL;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	struct mpk_demand *d = info->si_code > 0 ? demand_find(info->si_addr) : NULL;

	if (!d || !make_byte(d, (size_t)((uint8_t *)info->si_addr - d->bytes))) {
		/* Passes the signal to a sanitizer's handler. Without one, the access is repeated
		 * and ends the process. */
		if (before.sa_flags & SA_SIGINFO) {
			before.sa_sigaction(sig, info, context);
		} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
			before.sa_handler(sig);
		} else {
			(void)sigaction(SIGSEGV, &before, NULL);
			if (info->si_code <=
			    0) /* Another process sent the signal; no access failed. */
				(void)raise(sig);
		}
	}
	errno = saved;
}

/* --- from open to close ------------------------------------------------------------------- */

static bool map(size_t len, int flags, void **out)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_NORESERVE | flags, -1,
		       0);

	if (p == MAP_FAILED)
		return false;
	*out = p;
	return true;
}

struct mpk_demand *mpk_demand_open(size_t len, size_t chunk, struct mpk_arena *arena)
{
	struct mpk_demand *d = mpk_arena_alloc(arena, sizeof *d);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *shared;

	if (!d || !len || len > PTRDIFF_MAX - page)
		return NULL;
	d->len = len;
	d->page = page;
	d->page_max = PAGES_BYTES / page;
	d->mapped = round_up(len, page);
	d->chunk_bytes = chunk;
	d->count = (len - 1) / chunk + 1;
	d->tail = TAIL_BYTES / chunk > CHUNKS_LEAST ? TAIL_BYTES / chunk : CHUNKS_LEAST;
	d->most = TURN_BYTES / chunk > CHUNKS_LEAST ? TURN_BYTES / chunk : CHUNKS_LEAST;
	d->last = NO_CHUNK;
	d->chunks = mpk_arena_array(arena, d->count, sizeof *d->chunks);
	d->queue = mpk_arena_array(arena, d->count, sizeof *d->queue);
	d->pages = mpk_arena_array(arena, d->page_max, sizeof *d->pages);
	if (!d->chunks || !d->queue || !d->pages)
		return NULL;
	if (map(d->mapped, MAP_PRIVATE, &d->reservation) && map(d->mapped, MAP_SHARED, &shared)) {
		d->bytes = shared;
		/* A child must not share the pages, because dropping one would drop ours. */
		if (madvise(shared, d->mapped, MADV_DONTFORK) == 0)
			return d;
	}
	mpk_demand_close(d);
	return NULL;
}

static bool stays(const struct mpk_demand *d, size_t k)
{
	return k == 0 || d->count - k <= d->tail;
}

void mpk_demand_offer(struct mpk_demand *d, uint64_t off, struct mpk_span piece)
{
	while (piece.len && off < d->len) {
		size_t k = (size_t)(off / d->chunk_bytes), at = (size_t)(off % d->chunk_bytes);
		size_t len =
			chunk_mapped(d, k) - at < piece.len ? chunk_mapped(d, k) - at : piece.len;

		if (stays(d, k))
			memcpy(d->bytes + off, piece.data, len);
		off += len;
		piece = mpk_span_from(piece, len);
	}
}

void mpk_demand_keep(struct mpk_demand *d, uint64_t off, struct mpk_span piece, uint64_t from,
		     size_t len)
{
	uint64_t first = from / d->page * d->page;

	for (uint64_t at = first; at < from + len && d->page_count < d->page_max; at += d->page) {
		if (at < off || at + d->page > off + piece.len || at + d->page > d->len)
			continue;
		if (d->page_count && d->pages[d->page_count - 1] == at)
			continue; /* several headers fit into a page */
		memcpy(d->bytes + at, piece.data + (at - off), d->page);
		d->pages[d->page_count++] = (size_t)at;
	}
}

static bool hide(struct mpk_demand *d)
{
	if (mprotect(d->bytes, d->mapped, PROT_NONE) != 0)
		return false;
	for (size_t k = 0; k < d->count; k++) {
		size_t len = chunk_mapped(d, k);

		if (!stays(d, k))
			continue;
		if (mprotect(d->bytes + k * d->chunk_bytes, len, PROT_READ) != 0)
			return false;
		d->chunks[k].there = len;
	}
	for (size_t i = 0; i < d->page_count; i++)
		if (mprotect(d->bytes + d->pages[i], d->page, PROT_READ) != 0)
			return false;
	return true;
}

struct mpk_span mpk_demand_start(struct mpk_demand *d, const struct mpk_demand_source *source)
{
	struct sigaction mine = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	sigset_t faults;

	sigemptyset(&mine.sa_mask);
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	d->source = *source;
	/* The parent process may have left the signal blocked; a fault would then end this
	 * process. */
	if (!hide(d) || sigprocmask(SIG_UNBLOCK, &faults, NULL) != 0 ||
	    (!live && sigaction(SIGSEGV, &mine, &before) != 0))
		return mpk_span_of(NULL, 0);
	d->next = live;
	live = d;
	return mpk_span_of(d->bytes, d->len);
}

void mpk_demand_close(struct mpk_demand *d)
{
	if (!d)
		return;
	for (struct mpk_demand **at = &live; *at; at = &(*at)->next) {
		if (*at != d)
			continue;
		*at = d->next;
		if (!live)
			(void)sigaction(SIGSEGV, &before, NULL);
		break;
	}
	if (d->bytes)
		(void)munmap(d->bytes, d->mapped);
	if (d->reservation)
		(void)munmap(d->reservation, d->mapped);
	d->bytes = NULL;
	d->reservation = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - reads the bytes of a rope in order. Pieces in memory are read directly, file ranges
 * through windows that are mapped for a moment, short ranges through a buffer. No piece is ever in
 * memory as a whole. mpk_flat_open instead maps all pieces as one run, which takes addresses
 * rather than memory. */
#include "io/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/mapping.h"

/* --- piece by piece ------------------------------------------------------------ */

void mpk_reader_init(struct mpk_reader *r, const struct mpk_rope *rope)
{
	r->rope = rope;
	r->piece = 0;
	r->at = 0;
	r->window = (struct mpk_window){ 0 };
}

void mpk_reader_fini(struct mpk_reader *r)
{
	mpk_window_close(&r->window);
}

enum mpk_code mpk_reader_next(struct mpk_reader *r, struct mpk_span *out, struct mpk_error *err)
{
	mpk_reader_fini(r);
	/* pieces may be empty */
	while (r->piece < r->rope->count && r->at == r->rope->pieces[r->piece].len) {
		r->piece++;
		r->at = 0;
	}
	if (r->piece == r->rope->count) {
		*out = mpk_span_of(NULL, 0);
		return MPK_OK;
	}

	const struct mpk_piece *p = &r->rope->pieces[r->piece];
	uint64_t left = p->len - r->at;
	if (p->data) {
		*out = mpk_span_of(p->data + r->at, (size_t)left);
		r->at = p->len;
		return MPK_OK;
	}
	if (mpk_window_open(p->fd, p->off + r->at, left, &r->window)) {
		*out = r->window.bytes;
		r->at += out->len;
		return MPK_OK;
	}

	/* A range that cannot be mapped is read. If the file ends within the range, somebody has
	 * shortened it. */
	size_t len = left < sizeof r->buffer ? (size_t)left : sizeof r->buffer;
	ssize_t n;

	do
		n = pread(p->fd, r->buffer, len, (off_t)(p->off + r->at));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read an input file");
	if (n == 0)
		return mpk_fail(err, MPK_E_IO, "an input file became shorter while it was read");
	*out = mpk_span_of(r->buffer, (size_t)n);
	r->at += (size_t)n;
	return MPK_OK;
}

/* Copies all pieces, one after the other, into room for rope->len bytes that the caller
 * provides. */
static enum mpk_code reader_load(struct mpk_reader *r, char *to, struct mpk_error *err)
{
	for (;;) {
		struct mpk_span some;

		MPK_TRY(mpk_reader_next(r, &some, err));
		if (!some.len)
			return MPK_OK;
		memcpy(to, some.data, some.len);
		to += some.len;
	}
}

/* Returns a rope of one piece in memory as it is, so that no payload is copied. */
enum mpk_code mpk_rope_load(const struct mpk_rope *rope, struct mpk_arena *arena,
			    struct mpk_span *out, struct mpk_error *err)
{
	MPK_TRY(mpk_rope_status(rope, err));
	if (rope->count == 1 && rope->pieces[0].data) {
		*out = mpk_span_of(rope->pieces[0].data, (size_t)rope->len);
		return MPK_OK;
	}

	char *data = rope->len < SIZE_MAX ? mpk_arena_alloc(arena, (size_t)rope->len + 1) : NULL;
	struct mpk_reader *r = malloc(sizeof *r);
	enum mpk_code code = data && r ? MPK_OK : mpk_fail_nomem(err);
	if (code == MPK_OK) {
		mpk_reader_init(r, rope);
		code = reader_load(r, data, err);
		mpk_reader_fini(r);
	}
	free(r);
	if (code == MPK_OK)
		*out = mpk_span_of(data, (size_t)rope->len);
	return code;
}

/* --- as one run ---------------------------------------------------------------- */

/* A payload usually is one large file range with a few small pieces around it. The address run is
 * placed so that this range is page-aligned and can be mapped; only its two ends and the other
 * pieces are copied. Pages that are not written to stay read-only, because writable pages would
 * count as memory. */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Finds the largest range of a file and its offset in the rope; returns rope->count when there
 * is none. */
static size_t largest_range(const struct mpk_rope *rope, uint64_t *at)
{
	size_t found = rope->count;
	uint64_t off = 0;

	for (size_t i = 0; i < rope->count; i++) {
		const struct mpk_piece *p = &rope->pieces[i];

		if (!p->data && (found == rope->count || p->len > rope->pieces[found].len)) {
			found = i;
			*at = off;
		}
		off += p->len;
	}
	return found;
}

static enum mpk_code flat_copy(const struct mpk_piece *p, uint64_t skip, uint8_t *to, size_t len,
			       struct mpk_error *err)
{
	uintptr_t low = (uintptr_t)to & ~(uintptr_t)(page_bytes() - 1);

	if (!len)
		return MPK_OK;
	if (mprotect((void *)low, (uintptr_t)to + len - low, PROT_READ | PROT_WRITE) != 0)
		return mpk_fail_errno(err, MPK_E_NOMEM, errno, "cannot get memory");
	if (!p->data) {
		/* Read the ends from the file, because the pages at the ends of the range cannot
		 * be mapped. */
		ssize_t n = mpk_read_at(p->fd, to, len, p->off + skip);

		if (n < 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read");
		if ((size_t)n < len)
			return mpk_fail(err, MPK_E_IO, "a file became shorter while it was read");
		return MPK_OK;
	}
	memcpy(to, p->data + skip, len);
	return MPK_OK;
}

/* Maps the range where its pages match pages of the file, and copies its two ends. */
static enum mpk_code map_range(const struct mpk_piece *p, uint8_t *to, struct mpk_error *err)
{
	size_t page = page_bytes(), head = (page - (uintptr_t)to % page) % page;
	size_t whole = p->len > head ? (size_t)(p->len - head) / page * page : 0;

	struct stat st;

	if (!whole)
		return flat_copy(p, 0, to, (size_t)p->len, err);
	if (fstat(p->fd, &st) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read");
	if ((uint64_t)st.st_size < p->off + p->len) /* Reading the mapping would raise SIGBUS. */
		return mpk_fail(err, MPK_E_IO, "a file became shorter while it was read");
	if (mmap(to + head, whole, PROT_READ, MAP_PRIVATE | MAP_FIXED, p->fd,
		 (off_t)(p->off + head)) == MAP_FAILED)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot map");
	MPK_TRY(flat_copy(p, 0, to, head, err));
	return flat_copy(p, head + whole, to + head + whole, (size_t)p->len - head - whole, err);
}

static enum mpk_code flat_fill(const struct mpk_rope *rope, size_t range, uint8_t *to,
			       struct mpk_error *err)
{
	for (size_t i = 0; i < rope->count; i++) {
		const struct mpk_piece *p = &rope->pieces[i];

		if (i == range)
			MPK_TRY(map_range(p, to, err));
		else
			MPK_TRY(flat_copy(p, 0, to, (size_t)p->len, err));
		to += p->len;
	}
	return MPK_OK;
}

enum mpk_code mpk_flat_open(const struct mpk_rope *rope, struct mpk_flat *out,
			    struct mpk_error *err)
{
	struct mpk_flat flat = { 0 };
	size_t page = page_bytes(), shift = 0, range;
	uint64_t at = 0;

	MPK_TRY(mpk_rope_status(rope, err));
	if (!rope->count || (rope->count == 1 && rope->pieces[0].data)) {
		flat.bytes =
			mpk_span_of(rope->count ? rope->pieces[0].data : NULL, (size_t)rope->len);
		*out = flat;
		return MPK_OK;
	}
	/* a size beyond the address space is reported as lack of memory */
	if (rope->len > SIZE_MAX / 2)
		return mpk_fail_nomem(err);
	range = largest_range(rope, &at);
	if (range < rope->count)
		shift = (size_t)((rope->pieces[range].off - at) % page);
	flat.mapped = (size_t)rope->len + shift;
	/* reserve addresses only; pages become readable or writable when they are filled */
	flat.base = mmap(NULL, flat.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);
	if (flat.base == MAP_FAILED)
		return mpk_fail_nomem(err);
	flat.bytes = mpk_span_of((uint8_t *)flat.base + shift, (size_t)rope->len);

	enum mpk_code code = flat_fill(rope, range, (uint8_t *)flat.base + shift, err);
	if (code != MPK_OK) {
		mpk_flat_close(&flat);
		return mpk_failed(code);
	}
	*out = flat;
	return MPK_OK;
}

void mpk_flat_close(struct mpk_flat *flat)
{
	if (flat->base)
		(void)munmap(flat->base, flat->mapped);
	*flat = (struct mpk_flat){ 0 };
}

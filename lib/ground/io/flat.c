/* SPDX-License-Identifier: Apache-2.0 */
/* A payload is a few small pieces around one large file, as a rule. The run of addresses for it
 * begins so that this file's pages fall onto pages: they are mapped in their place, and only its
 * two ends and the other pieces are copied. What is not written to is never made writable, as that
 * would count as memory. */
#include "io/flat.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The largest range of a file, and its offset in the rope; rope->count: there is none. */
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

/* From the file, as the page at an end of the range cannot be mapped in its place. */
static enum mpk_code read_range(const struct mpk_piece *p, uint64_t skip, uint8_t *to, size_t len,
				struct mpk_error *err)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(p->fd, to + done, len - done, (off_t)(p->off + skip + done));

		if (n < 0 && errno != EINTR)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read");
		if (n == 0)
			return mpk_fail(err, MPK_E_IO, "a file became shorter while it was read");
		done += n > 0 ? (size_t)n : 0;
	}
	return MPK_OK;
}

static enum mpk_code flat_copy(const struct mpk_piece *p, uint64_t skip, uint8_t *to, size_t len,
			       struct mpk_error *err)
{
	uintptr_t low = (uintptr_t)to & ~(uintptr_t)(page_bytes() - 1);

	if (!len)
		return MPK_OK;
	if (mprotect((void *)low, (uintptr_t)to + len - low, PROT_READ | PROT_WRITE) != 0)
		return mpk_fail_errno(err, MPK_E_NOMEM, errno, "cannot get memory");
	if (!p->data)
		return read_range(p, skip, to, len, err);
	memcpy(to, p->data + skip, len);
	return MPK_OK;
}

/* The range whose pages fall onto pages: its two ends are copied. */
static enum mpk_code map_range(const struct mpk_piece *p, uint8_t *to, struct mpk_error *err)
{
	size_t page = page_bytes(), head = (page - (uintptr_t)to % page) % page;
	size_t whole = p->len > head ? (size_t)(p->len - head) / page * page : 0;

	struct stat st;

	if (!whole)
		return flat_copy(p, 0, to, (size_t)p->len, err);
	if (fstat(p->fd, &st) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read");
	if ((uint64_t)st.st_size < p->off + p->len) /* mapped, that would end in a signal */
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
	/* what is no address space is no memory */
	if (rope->len > SIZE_MAX / 2)
		return mpk_fail_nomem(err);
	range = largest_range(rope, &at);
	if (range < rope->count)
		shift = (size_t)((rope->pieces[range].off - at) % page);
	flat.mapped = (size_t)rope->len + shift;
	/* only addresses so far; parts are made readable or writable when something is put
	 * there */
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

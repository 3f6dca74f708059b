/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - the host memory of tensors: small blocks from the heap, large and shared ones in
 * pages of their own, which the kernel zeroes at first touch and takes back at once */
#include "value/storage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/num.h"

static void release_heap(struct mpk_storage *s)
{
	free(s->data);
	free(s);
}

static void release_pages(struct mpk_storage *s)
{
	(void)munmap(s->data, (size_t)(s->bytes ? s->bytes : 1));
	free(s);
}

/* Zeroed by hand, as aligned_alloc does not: results must not show what was in the heap. */
static enum mpk_code take_heap(struct mpk_storage *s, struct mpk_error *err)
{
	uint64_t room;

	MPK_TRY_ALLOC(mpk_align_up(s->bytes ? s->bytes : 1, MPK_STORAGE_ALIGN, &room), err);
	s->data = aligned_alloc(MPK_STORAGE_ALIGN, (size_t)room);
	MPK_TRY_ALLOC(s->data, err);
	memset(s->data, 0, (size_t)room);
	s->release = release_heap;
	return MPK_OK;
}

/* MAP_SHARED pages are seen by the child that writes outputs and by the parent that reads them. */
static enum mpk_code take_pages(struct mpk_storage *s, int sharing, struct mpk_error *err)
{
	void *data = mmap(NULL, (size_t)(s->bytes ? s->bytes : 1), PROT_READ | PROT_WRITE,
			  MAP_ANONYMOUS | sharing, -1, 0);

	if (data == MAP_FAILED)
		return mpk_fail_errno(err, MPK_E_NOMEM, errno, "a tensor of %llu bytes",
				      (unsigned long long)s->bytes);
	s->data = data;
	s->release = release_pages;
	return MPK_OK;
}

/* Small outputs are not shared: a page each would cost more than sending them back. */
enum mpk_code mpk_storage_create(uint64_t bytes, enum mpk_storage_memory memory,
				 struct mpk_storage **out, struct mpk_error *err)
{
	struct mpk_storage *s = calloc(1, sizeof *s);
	enum mpk_code code;

	MPK_TRY_ALLOC(s, err);
	atomic_init(&s->refs, 1);
	s->device.type = MPK_DL_CPU;
	s->bytes = bytes;
	s->is_shared = memory == MPK_STORAGE_SHARED && bytes >= MPK_LARGE_BYTES;
	if (bytes >= MPK_LARGE_BYTES)
		code = take_pages(s, s->is_shared ? MAP_SHARED : MAP_PRIVATE, err);
	else
		code = take_heap(s, err);
	if (code != MPK_OK) {
		free(s);
		return mpk_failed(code);
	}
	*out = s;
	return MPK_OK;
}

/* Memory of others, with what gives it back. */
struct wrapped {
	struct mpk_storage storage;
	void (*release)(void *owner);
};

static void release_wrapped(struct mpk_storage *s)
{
	struct wrapped *w = (struct wrapped *)s;

	if (w->release)
		w->release(s->owner);
	free(w);
}

enum mpk_code mpk_storage_wrap(void *data, uint64_t bytes, struct mpk_dldevice device, void *owner,
			       void (*release)(void *owner), struct mpk_storage **out,
			       struct mpk_error *err)
{
	struct wrapped *w = calloc(1, sizeof *w);

	MPK_TRY_ALLOC(w, err);
	atomic_init(&w->storage.refs, 1);
	w->storage.device = device;
	w->storage.data = data;
	w->storage.bytes = bytes;
	w->storage.owner = owner;
	w->storage.release = release_wrapped;
	w->release = release;
	*out = &w->storage;
	return MPK_OK;
}

struct mpk_storage *mpk_storage_hold(struct mpk_storage *s)
{
	if (s)
		(void)atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void mpk_storage_drop(struct mpk_storage *s)
{
	if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
		s->release(s);
}

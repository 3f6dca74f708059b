/* SPDX-License-Identifier: Apache-2.0 */
/* constant.c - makes a library's constants available to kernels, with as few copies as possible
 *
 * A model may have gigabytes of constants. If they are aligned in the mapped file and have the
 * machine's byte order, kernels use the file's pages, and loading costs nothing. Constants that are
 * not aligned are copied, and the file's pages are then released. On big-endian machines the copies
 * are reversed. For devices, constants are sent directly from the mapping. */
#include "executor/machine.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/native.h"
#include "runtime/devices.h"
#include "runtime/parallel.h"

enum {
	COPY_TASKS = 4,        /* more threads do not copy faster, because memory is the limit */
	COPY_LEAST = 4 << 20,  /* from this many bytes on, starting threads pays */
	GIVE_LEAST = 1 << 18,  /* from this many bytes on, pages of the file are released */
	PIECE_BYTES = 1 << 20, /* bytes that are copied before pages are released */
	PAGE_LEAST = 4096,
};

/* Bits of a page's entry in /proc/self/pagemap. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61) /* the page belongs to a file or is shared */

static void release_host(void *host)
{
	mpk_host_drop(host);
}

/* A constant that is being copied, by several threads if it is large. */
struct copy {
	uint8_t *to;
	struct mpk_span from;
	size_t each; /* bytes of each task except the last */
	int count;   /* number of tasks */
	int pages;   /* descriptor of /proc/self/pagemap; -1: pages are not released */
};

/* Releases pages of the file after they were copied, so that the content is not in memory twice; they
 * are read again when needed. Only pages that the kernel reports as the file's own are released, so
 * memory of this process is not affected. A first page with other data stays, because another
 * thread may be writing to it; so does a last page that is not copied completely. */
static void give_pages_back(const struct copy *c, const uint8_t *begin, const uint8_t *end)
{
	uint64_t known[PIECE_BYTES / PAGE_LEAST + 1];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t first = (uintptr_t)(begin == c->from.data ? begin + page - 1 : begin) / page;
	size_t last = (uintptr_t)end / page, count = last > first ? last - first : 0;

	if (pread(c->pages, known, count * sizeof known[0], (off_t)(first * sizeof known[0])) !=
	    (ssize_t)(count * sizeof known[0]))
		return;
	for (size_t i = 0; i < count; i++)
		if (known[i] & (PAGE_PRESENT | PAGE_SWAPPED) && !(known[i] & PAGE_OF_FILE))
			return;
	(void)madvise((void *)(first * page), count * page, MADV_DONTNEED);
}

static void copy_part(void *data, size_t task)
{
	const struct copy *c = data;
	size_t at = task * c->each;
	size_t end = task == (size_t)c->count - 1 ? c->from.len : at + c->each;

	for (size_t len; at < end; at += len) {
		len = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
		memcpy(c->to + at, c->from.data + at, len);
		if (c->pages >= 0)
			give_pages_back(c, c->from.data + at, c->from.data + at + len);
	}
}

static int copy_task(int task, struct mpk_parallel_env *env, void *data)
{
	(void)env;
	copy_part(data, (size_t)task);
	return 0;
}

/* Copies with the threads that the caller allows the runtime. */
static void copy_all(struct copy *c, const struct mpk_runtime_options *options)
{
	unsigned threads = options->threads ? options->threads : mpk_parallel_cores();

	c->count = c->from.len < COPY_LEAST ? 1 : threads < COPY_TASKS ? (int)threads : COPY_TASKS;
	c->each = c->from.len / (size_t)c->count / MPK_STORAGE_ALIGN * MPK_STORAGE_ALIGN;
	if (c->count > 1 && options->parallel_for) {
		options->parallel_for(options->parallel_user, (size_t)c->count, copy_part, c);
		return;
	}
	if (c->count > 1 && mpk_parallel_launch(copy_task, c, c->count) == 0)
		return;
	c->count = 1;
	copy_part(c, 0);
}

/* Returns private memory with the content in the machine's byte order. */
static enum mpk_code copied(const struct mpk_runtime *runtime, struct mpk_span content, size_t unit,
			    struct mpk_storage **out, struct mpk_error *err)
{
	MPK_TRY(mpk_storage_create(content.len, MPK_STORAGE_PRIVATE, out, err));
	if (content.len) {
		/* Most time is spent in page faults of source and copy, which several cores share. */
		struct copy c = { .to = (*out)->data, .from = content, .pages = -1 };

		if (content.len >= GIVE_LEAST)
			c.pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
		copy_all(&c, mpk_runtime_options(runtime));
		if (c.pages >= 0)
			(void)close(c.pages);
	}
	mpk_native_from_little((*out)->data, content.len, unit);
	return MPK_OK;
}

static enum mpk_code sent(struct mpk_devices *devices, struct mpk_span content,
			  struct mpk_dldevice where, struct mpk_storage **out,
			  struct mpk_error *err)
{
	struct mpk_allocator *allocator;
	struct mpk_storage *storage;
	struct mpk_device *device;
	enum mpk_code code;

	MPK_TRY(mpk_devices_get(devices, where, &device, err));
	MPK_TRY(mpk_devices_allocator(devices, where, &allocator, err));
	MPK_TRY(mpk_allocator_storage(allocator, content.len, &storage, err));
	code = mpk_device_write(device, storage->data, 0, content, err);
	if (code != MPK_OK) {
		mpk_storage_drop(storage);
		return mpk_failed(code);
	}
	*out = storage;
	return MPK_OK;
}

/* Sends content to a device of a big-endian machine, which has the machine's byte order. */
static enum mpk_code sent_turned(struct mpk_runtime *runtime, struct mpk_span content, size_t unit,
				 struct mpk_dldevice where, struct mpk_storage **out,
				 struct mpk_error *err)
{
	struct mpk_storage *turned;
	enum mpk_code code;

	MPK_TRY(copied(runtime, content, unit, &turned, err));
	code = sent(mpk_runtime_devices(runtime), mpk_span_of(turned->data, content.len), where,
		    out, err);
	mpk_storage_drop(turned);
	return code;
}

/* Chooses the cheapest correct way: in place, sent, or copied. */
static enum mpk_code constant_load(struct mpk_host *host, struct mpk_span content, size_t unit,
				   struct mpk_dldevice where, struct mpk_storage **out,
				   struct mpk_error *err)
{
	bool is_native = !MPK_BIG_ENDIAN || unit == 1;

	if (!mpk_dldevice_is_host(where) && !is_native)
		return sent_turned(host->runtime, content, unit, where, out, err);
	if (!mpk_dldevice_is_host(where))
		return sent(mpk_runtime_devices(host->runtime), content, where, out, err);
	if (is_native && content.len && (uintptr_t)content.data % MPK_STORAGE_ALIGN == 0) {
		/* A storage over the mapped file, which the host keeps open as long as the storage lives. */
		struct mpk_host *owner = mpk_host_hold(host);
		enum mpk_code code = mpk_storage_wrap((void *)(uintptr_t)content.data, content.len,
						      (struct mpk_dldevice){ MPK_DL_CPU, 0 }, owner,
						      release_host, out, err);

		if (code != MPK_OK)
			mpk_host_drop(owner);
		return code;
	}
	return copied(host->runtime, content, unit, out, err);
}

enum mpk_code mpk_constant_storage(struct mpk_host *host, struct mpk_span content,
				   struct mpk_dtype type, struct mpk_dldevice where,
				   struct mpk_storage **out, struct mpk_error *err)
{
	if (host->code.moved.find)
		content = host->code.moved.find(host->code.moved.user, content);
	enum mpk_purpose before = mpk_purpose_swap(MPK_PURPOSE_WEIGHTS);
	enum mpk_code rc =
		constant_load(host, content, mpk_dtype_number_bytes(type), where, out, err);

	(void)mpk_purpose_swap(before);
	MPK_TRY(rc);
	mpk_runtime_loaded(host->runtime, content.len);
	return MPK_OK;
}

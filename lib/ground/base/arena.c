/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - allocates zeroed bytes in blocks, and grows arrays
 *
 * A large request gets a block of its own.
 *
 * Under AddressSanitizer an unreadable gap follows every allocation. Otherwise a reader could run
 * from one array into the next one of the same block, and no test or fuzzer would notice. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#if MPK_IS_ADDRESS_SANITIZED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

/* The first block is small: many arenas hold little, and not for long. */
enum { FIRST_BYTES = 4096, BLOCK_BYTES = 16384, GAP_BYTES = MPK_IS_ADDRESS_SANITIZED ? 16 : 0 };

struct mpk_arena_block {
	struct mpk_arena_block *next;
	size_t used, size; /* bytes of data[]; used <= size */
	alignas(max_align_t) unsigned char data[];
};

static struct mpk_arena_block *block_create(size_t size)
{
	if (size > SIZE_MAX - sizeof(struct mpk_arena_block))
		return NULL;

	/* calloc: fresh pages of large blocks come zeroed from the kernel */
	struct mpk_arena_block *b = calloc(1, sizeof *b + size);
	if (b) {
		b->size = size;
		ASAN_POISON_MEMORY_REGION(b->data, size);
	}
	return b;
}

void *mpk_arena_alloc(struct mpk_arena *arena, size_t asked)
{
	const size_t align = alignof(max_align_t);
	size_t size;

	if (asked > SIZE_MAX - align - GAP_BYTES)
		return NULL;
	size = (asked ? (asked + align - 1) / align * align : align) + GAP_BYTES;

	struct mpk_arena_block *b = arena->head;
	if (!b || b->size - b->used < size) {
		bool large = size > FIRST_BYTES;

		b = block_create(large ? size : arena->head ? BLOCK_BYTES : FIRST_BYTES);
		if (!b) {
			mpk_memory_failed();
			return NULL;
		}
		if (large && arena->head) {
			/* The current small block stays the one that is filled next. */
			b->next = arena->head->next;
			arena->head->next = b;
		} else {
			b->next = arena->head;
			arena->head = b;
		}
	}
	void *p = b->data + b->used;
	b->used += size;
	ASAN_UNPOISON_MEMORY_REGION(p, asked);
	return p;
}

void *mpk_arena_array(struct mpk_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return mpk_arena_alloc(arena, bytes);
}

void *mpk_arena_keep(struct mpk_arena *arena, const void *items, size_t count, size_t size)
{
	void *copy = mpk_arena_array(arena, count, size);

	if (copy && count)
		memcpy(copy, items, count * size);
	return copy;
}

char *mpk_arena_copy(struct mpk_arena *arena, const void *data, size_t len)
{
	if (len == SIZE_MAX)
		return NULL;

	char *p = mpk_arena_alloc(arena, len + 1);
	if (p && len)
		memcpy(p, data, len);
	return p;
}

char *mpk_arena_vprintf(struct mpk_arena *arena, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	char *p = n < 0 ? NULL : mpk_arena_alloc(arena, (size_t)n + 1);

	if (p)
		(void)vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

char *mpk_arena_printf(struct mpk_arena *arena, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *p = mpk_arena_vprintf(arena, fmt, ap);
	va_end(ap);
	return p;
}

void mpk_arena_fini(struct mpk_arena *arena)
{
	struct mpk_arena_block *b = arena->head;

	arena->head = NULL;
	while (b) {
		struct mpk_arena_block *next = b->next;
		free(b);
		b = next;
	}
}

/* --- arrays that grow by doubling, and whether memory was out at any time (vec.h) --- */

/* Readers try one format after another, so a failed allocation in one of them would look like "not
 * this format". The failure is noted here, and an output checks the note before it is committed. */

/* Relaxed, as it is a flag that only ever becomes true. */
static atomic_bool failed;

void mpk_memory_failed(void)
{
	atomic_store_explicit(&failed, true, memory_order_relaxed);
}

enum mpk_code mpk_memory_check(struct mpk_error *err)
{
	return atomic_load_explicit(&failed, memory_order_relaxed) ? mpk_fail_nomem(err) : MPK_OK;
}

/* Pointers of any type are moved by memcpy, as a void ** to them would break the aliasing rules of C. */
bool mpk_vec_reserve(void *data, size_t *cap, size_t need, size_t size)
{
	size_t grown = *cap ? *cap : 8, bytes;
	void *old, *fresh;

	/* The usual case: nothing to do. */
	if (need <= *cap)
		return true;
	while (grown < need)
		if (__builtin_mul_overflow(grown, (size_t)2, &grown))
			return false;
	/* a count from a file may ask for more than there are addresses */
	if (__builtin_mul_overflow(grown, size, &bytes))
		return false;
	memcpy(&old, data, sizeof old);
	fresh = realloc(old, bytes);
	if (!fresh) {
		mpk_memory_failed();
		return false;
	}
	memcpy(data, &fresh, sizeof fresh);
	*cap = grown;
	return true;
}

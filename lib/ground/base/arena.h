/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that lives as long as one document and is freed at once */
#ifndef MPK_BASE_ARENA_H
#define MPK_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/span.h"

struct mpk_arena_block;

/* Zero-initialise, use, mpk_arena_fini. Not thread-safe. */
struct mpk_arena {
	struct mpk_arena_block *head;
};

/* mpk_arena_alloc - size zeroed bytes, aligned for any type; NULL when memory is out. AddressSanitizer
 * watches what follows them. */
void *mpk_arena_alloc(struct mpk_arena *arena, size_t size);

/* mpk_arena_array - count zeroed elements of size bytes; NULL also when the product overflows */
void *mpk_arena_array(struct mpk_arena *arena, size_t count, size_t size);

/* MPK_TRY_ARRAY - p = count zeroed elements of what p points to; returns MPK_E_NOMEM from the function without memory
 * p is evaluated several times. Needs base/error.h. */
#define MPK_TRY_ARRAY(p, arena, count, err)                                                        \
	do {                                                                                       \
		(p) = mpk_arena_array(arena, count, sizeof *(p));                                  \
		MPK_TRY_ALLOC(p, err);                                                             \
	} while (0)

/* mpk_arena_copy - a copy of len bytes followed by a NUL; NULL when memory is out */
char *mpk_arena_copy(struct mpk_arena *arena, const void *data, size_t len);

/* mpk_arena_keep - a copy of an array that was made elsewhere; NULL when memory is out
 * @items   count elements of size bytes; may be NULL when count is 0 */
void *mpk_arena_keep(struct mpk_arena *arena, const void *items, size_t count, size_t size);

/* mpk_arena_text - a copy of the span as a C string; NULL when memory is out */
static inline char *mpk_arena_text(struct mpk_arena *arena, struct mpk_span s)
{
	return mpk_arena_copy(arena, s.data, s.len);
}

/* mpk_arena_printf, mpk_arena_vprintf - a formatted C string; NULL when memory is out */
char *mpk_arena_printf(struct mpk_arena *arena, const char *fmt, ...) MPK_PRINTF(2, 3);
char *mpk_arena_vprintf(struct mpk_arena *arena, const char *fmt, va_list ap) MPK_PRINTF(2, 0);

/* mpk_arena_fini - free everything allocated from the arena; safe to call twice */
void mpk_arena_fini(struct mpk_arena *arena);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A command line that grows. It lies in an arena and keeps a NULL at its end all the time,
 * so that it can be given to exec at any moment; a failure is remembered and asked for
 * once, at the end. */
#include "process/argv.h"

#include <stdarg.h>
#include <string.h>

void mpk_argv_add(struct mpk_argv *v, const char *arg)
{
	if (!arg)
		v->failed = true;
	if (v->failed)
		return;
	if (v->count + 2 > v->cap) {
		/* old arrays stay in the arena, which is freed with the command */
		size_t cap = v->cap ? v->cap * 2 : 32;
		const char **longer = mpk_arena_array(v->arena, cap, sizeof *longer);

		if (!longer) {
			v->failed = true;
			return;
		}
		if (v->count)
			memcpy(longer, v->items, v->count * sizeof *longer);
		v->items = longer;
		v->cap = cap;
	}
	v->items[v->count++] = arg;
	v->items[v->count] = NULL;
}

void mpk_argv_add_all(struct mpk_argv *v, const struct mpk_words *args)
{
	for (size_t i = 0; i < args->count; i++)
		mpk_argv_add(v, args->items[i]);
}

void mpk_argv_printf(struct mpk_argv *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	mpk_argv_add(v, mpk_arena_vprintf(v->arena, fmt, ap));
	va_end(ap);
}

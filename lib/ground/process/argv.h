/* SPDX-License-Identifier: Apache-2.0 */
/* argv.h - the arguments of a program, collected in an arena */
#ifndef MPK_PROCESS_ARGV_H
#define MPK_PROCESS_ARGV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"

/* Arguments that somebody else owns. */
struct mpk_words {
	const char *const *items;
	size_t count;
};

struct mpk_argv {
	struct mpk_arena *arena;
	const char **items; /* NULL-terminated */
	size_t count, cap;
	bool failed;
};

/* mpk_argv_add, _add_all, _printf - append; a failed allocation sets `failed` */
void mpk_argv_add(struct mpk_argv *v, const char *arg);
void mpk_argv_add_all(struct mpk_argv *v, const struct mpk_words *args);
void mpk_argv_printf(struct mpk_argv *v, const char *fmt, ...) MPK_PRINTF(2, 3);

#endif

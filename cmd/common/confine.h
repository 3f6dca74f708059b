/* SPDX-License-Identifier: Apache-2.0 */
/* confine.h - the program in the sandbox of its action: it reads what was named and writes one place */
#ifndef MPK_CMD_COMMON_CONFINE_H
#define MPK_CMD_COMMON_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

enum { MPK_CONFINE_MAX = 5 };

/* Zero-initialise; fill by the functions below; mpk_confine. */
struct mpk_confine {
	const char **readable; /* from malloc */
	size_t readable_count, readable_cap;
	char *writable[MPK_CONFINE_MAX]; /* folders, from malloc */
	size_t writable_count;
	char *emptied; /* a folder whose content may be removed, from malloc */
	bool failed;   /* memory is out */
};

/* mpk_confine_options - every input and output that the options which were given name, by their rows. Those that
 * depend on more than one option, and the operands, are added by the functions below. */
void mpk_confine_options(struct mpk_confine *c, const struct mpk_option *options);

/* mpk_confine_input - a file, or a folder with all below it, that will be read; NULL is fine. Of
 * "lib.a(devc.o)" and "app.whl!/lib.so" the archive. Borrowed.
 * mpk_confine_output - a file or folder that will appear, through a temporary name beside it; NULL and
 * "-" are fine */
void mpk_confine_input(struct mpk_confine *c, const char *path);
void mpk_confine_output(struct mpk_confine *c, const char *path);

/* mpk_confine - enter the sandbox, unless --no-sandbox was given; c is emptied
 * Where a system has no sandbox, the program goes on without one, and -v says so. */
void mpk_confine(struct mpk_confine *c);

#endif

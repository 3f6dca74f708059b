/* SPDX-License-Identifier: Apache-2.0 */
/* workdir.h - a directory of its own for each test, as the working directory, and files in it */
#ifndef MPK_TESTS_UNIT_WORKDIR_H
#define MPK_TESTS_UNIT_WORKDIR_H

#include <check.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "harness.h"

static char dir[64];
static struct mpk_arena arena;

/* A command of the shell that is to succeed. */
HARNESS_FN void run(const char *fmt, ...) MPK_PRINTF(1, 2);

HARNESS_FN void run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	ck_assert_msg(system(command) == 0, "failed: %s", command);
}

HARNESS_FN void workdir_enter(void)
{
	strcpy(dir, "/tmp/mpk-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
}

HARNESS_FN void workdir_leave(void)
{
	mpk_arena_fini(&arena);
	run("rm -rf %s", dir);
}

HARNESS_FN void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

/* Its bytes in the arena. */
HARNESS_FN struct mpk_span read_file(const char *name)
{
	FILE *f = fopen(name, "r");

	ck_assert_msg(f != NULL, "%s is missing", name);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	size_t len = (size_t)ftell(f);
	char *data = mpk_arena_alloc(&arena, len + 1);
	ck_assert_ptr_nonnull(data);
	rewind(f);
	ck_assert_uint_eq(fread(data, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
	return mpk_span_of(data, len);
}

/* How many there are in a directory, "." and ".." aside. */
HARNESS_FN size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count - 2;
}

#endif

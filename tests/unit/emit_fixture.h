/* emit_fixture.h - a directory of its own for each test of emit/, and files in it */
#ifndef MPK_TESTS_EMIT_FIXTURE_H
#define MPK_TESTS_EMIT_FIXTURE_H

#include <check.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/rope.h"
#include "base/span.h"

static char dir[64];
static struct mpk_arena arena;

static void run(const char *fmt, ...) MPK_PRINTF(1, 2);

static void run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	ck_assert_msg(system(command) == 0, "failed: %s", command);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static struct mpk_span read_file(const char *name)
{
	FILE *f = fopen(name, "r");

	ck_assert_msg(f != NULL, "%s is missing", name);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	size_t len = (size_t)ftell(f);
	char *data = mpk_arena_alloc(&arena, len + 1);
	rewind(f);
	ck_assert_uint_eq(fread(data, 1, len, f), len);
	fclose(f);
	return mpk_span_of(data, len);
}

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count - 2;
}

static void setup(void)
{
	strcpy(dir, "/tmp/mpk-emit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("tmp", 0700), 0);
}

static void teardown(void)
{
	mpk_arena_fini(&arena);
	run("rm -rf %s", dir);
}

static struct mpk_rope bytes_rope(size_t len, struct mpk_span *bytes)
{
	struct mpk_rope rope = mpk_rope_of(&arena);
	uint8_t *data = mpk_arena_alloc(&arena, len + 1);

	/* Every byte, trigraphs, digits behind escapes, newlines. */
	for (size_t i = 0; i < len; i++)
		data[i] = i % 7 == 0 ? '?' : i % 11 == 0 ? '7' : (uint8_t)(i * 151 + (i >> 8));
	*bytes = mpk_span_of(data, len);
	mpk_rope_put_view(&rope, mpk_span_of(data, len / 3));
	mpk_rope_put_view(&rope, mpk_span_of(data + len / 3, len - len / 3));
	return rope;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h - what the unit tests of the codecs share: fixtures, guard pages, random numbers
 *
 * Programs run in the repository's root. Everything here is for tests only and stops the
 * test on failure.
 */
#ifndef MPK_TESTS_UNIT_HARNESS_H
#define MPK_TESTS_UNIT_HARNESS_H

#include <check.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/span.h"

#define HARNESS_FN static inline __attribute__((unused))

/* A copy of some bytes that ends where an unreadable page begins: reading one byte too many
 * is a crash, not luck. */
struct guarded {
	uint8_t *map;
	size_t map_len, room; /* bytes mapped, bytes before the guard page */
};

HARNESS_FN struct guarded guarded_create(size_t room)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded g = { .room = (room + page) / page * page };

	g.map_len = g.room + page;
	g.map = mmap(NULL, g.map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(g.map, MAP_FAILED);
	ck_assert_int_eq(mprotect(g.map + g.room, page, PROT_NONE), 0);
	return g;
}

/* guarded_put - a copy of s whose last byte is the last readable one; replaces the one before */
HARNESS_FN struct mpk_span guarded_put(struct guarded *g, struct mpk_span s)
{
	uint8_t *at = g->map + (g->room - s.len);

	ck_assert_uint_le(s.len, g->room);
	if (s.len)
		memcpy(at, s.data, s.len);
	return mpk_span_of(at, s.len);
}

HARNESS_FN void guarded_free(struct guarded *g)
{
	munmap(g->map, g->map_len);
}

HARNESS_FN int folder_remove_entry(const char *path, const struct stat *st, int type,
				   struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* folder_remove - a directory with all that is in it */
HARNESS_FN void folder_remove(const char *path)
{
	(void)nftw(path, folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* fixture_load - the whole file tests/data/<name>; fixture_free() it */
HARNESS_FN struct mpk_span fixture_load(const char *name)
{
	char path[512];
	uint8_t *data;
	long len;

	snprintf(path, sizeof path, "tests/data/%s", name);
	FILE *f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s is missing", path);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	len = ftell(f);
	ck_assert_int_ge(len, 0);
	rewind(f);
	data = malloc((size_t)len + 1);
	ck_assert_ptr_nonnull(data);
	ck_assert_uint_eq(fread(data, 1, (size_t)len, f), (size_t)len);
	fclose(f);
	return mpk_span_of(data, (size_t)len);
}

HARNESS_FN void fixture_free(struct mpk_span s)
{
	free((void *)(uintptr_t)s.data);
}

/* xorshift64*: the same numbers on every machine. Seed with anything but 0. */
HARNESS_FN uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

HARNESS_FN uint64_t random_below(uint64_t *state, uint64_t bound)
{
	return random_next(state) % bound;
}

#endif

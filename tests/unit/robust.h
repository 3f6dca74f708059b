/* SPDX-License-Identifier: Apache-2.0 */
/* robust.h - what every reader of untrusted bytes must survive
 *
 * Inputs are handed to the reader from the end of a page that no readable page follows,
 * so that reading one byte too many kills the test, with or without a sanitizer.
 */
#ifndef MPK_TESTS_UNIT_ROBUST_H
#define MPK_TESTS_UNIT_ROBUST_H

#include <check.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* A reader under test: any answer is fine, a failure must carry a code and a sentence. */
typedef enum mpk_code (*robust_reader)(struct mpk_span bytes, struct mpk_error *err);

/* robust_load - a file of the source tree, in the arena */
static inline struct mpk_span robust_load(struct mpk_arena *arena, const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long len;

	ck_assert_msg(f != NULL, "cannot open %s", path);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	len = ftell(f);
	ck_assert_int_ge(len, 0);
	rewind(f);
	data = mpk_arena_alloc(arena, (size_t)len + 1);
	ck_assert_ptr_nonnull(data);
	ck_assert_uint_eq(fread(data, 1, (size_t)len, f), (size_t)len);
	fclose(f);
	return mpk_span_of(data, (size_t)len);
}

struct robust_page {
	uint8_t *map;
	size_t room;
};

static inline struct robust_page robust_page_of(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct robust_page p = { .room = (len + page) / page * page };

	p.map = mmap(NULL, p.room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	ck_assert_ptr_ne(p.map, MAP_FAILED);
	ck_assert_int_eq(mprotect(p.map + p.room, page, PROT_NONE), 0);
	return p;
}

static inline void robust_try(robust_reader read, struct mpk_span bytes, const char *what)
{
	struct mpk_error err = { .code = MPK_OK };
	enum mpk_code code = read(bytes, &err);

	ck_assert_msg(code == MPK_OK || (err.code == code && err.text[0]),
		      "%s: failed without saying why", what);
	ck_assert_msg(code != MPK_E_INTERNAL && code != MPK_E_NOMEM, "%s: %s", what, err.text);
}

/* robust_flip - bits of the bytes from, from + 1 ... below to flipped, one byte at a time */
static inline void robust_flip(robust_reader read, uint8_t *bytes, size_t len, size_t from,
			       size_t to)
{
	char what[64];

	for (size_t i = from; i < to && i < len; i++)
		for (unsigned mask = 1; mask < 256; mask = mask * 2 + 1) {
			bytes[i] ^= (uint8_t)mask;
			snprintf(what, sizeof what, "byte %zu ^ 0x%02x", i, mask);
			robust_try(read, mpk_span_of(bytes, len), what);
			bytes[i] ^= (uint8_t)mask;
		}
}

/* robust_damage - bytes made in a test: the prefixes of less than dense bytes and each step-th of the
 * others, and bits flipped of the first changed bytes */
static inline void robust_damage(robust_reader read, struct mpk_span good, size_t dense,
				 size_t step, size_t changed)
{
	struct robust_page page = robust_page_of(good.len);
	uint8_t *at;
	char what[64];

	for (size_t n = 0; n <= good.len; n += n < dense ? 1 : step) {
		at = page.map + page.room - n;
		memcpy(at, good.data, n);
		snprintf(what, sizeof what, "cut to %zu bytes", n);
		robust_try(read, mpk_span_of(at, n), what);
	}
	at = page.map + page.room - good.len;
	memcpy(at, good.data, good.len);
	robust_flip(read, at, good.len, 0, changed);
	munmap(page.map, page.room + (size_t)sysconf(_SC_PAGESIZE));
}

/* robust_check - every prefix, every byte replaced by a few others; about @budget reads */
static inline void robust_check(const char *path, robust_reader read, size_t budget)
{
	static const uint8_t masks[] = { 0xff, 0x01, 0x80, 0x20 };
	struct mpk_arena arena = { 0 };
	struct mpk_span good = robust_load(&arena, path);
	struct robust_page page = robust_page_of(good.len);
	size_t step = good.len * (1 + sizeof masks) / budget + 1;
	uint8_t *at;
	char what[300];

	for (size_t n = 0; n <= good.len; n += n < 256 ? 1 : step) {
		at = page.map + page.room - n;
		memcpy(at, good.data, n);
		snprintf(what, sizeof what, "%s cut to %zu bytes", path, n);
		robust_try(read, mpk_span_of(at, n), what);
	}
	at = page.map + page.room - good.len;
	memcpy(at, good.data, good.len);
	for (size_t i = 0; i < good.len; i += i < 256 ? 1 : step)
		for (size_t m = 0; m < sizeof masks; m++) {
			at[i] ^= masks[m];
			snprintf(what, sizeof what, "%s, byte %zu ^ 0x%02x", path, i, masks[m]);
			robust_try(read, mpk_span_of(at, good.len), what);
			at[i] ^= masks[m];
		}
	munmap(page.map, page.room + (size_t)sysconf(_SC_PAGESIZE));
	mpk_arena_fini(&arena);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* archive_made.h - what the tests of archives share (data: tests/data/archive) */
#ifndef MPK_TESTS_UNIT_ARCHIVE_MADE_H
#define MPK_TESTS_UNIT_ARCHIVE_MADE_H

#include <stdlib.h>

#include "base/rope.h"
#include "robust.h"

#define DATA "tests/data/archive/"

static const char long_path[] =
	"a_directory_name_of_thirty_chars/another_directory_with_a_long_name_too/"
	"and_a_file_whose_name_makes_it_more_than_a_hundred.o";

static struct mpk_arena arena;

static inline void clear(void)
{
	mpk_arena_fini(&arena);
}

static inline struct mpk_rope content_of(struct mpk_span bytes)
{
	struct mpk_rope rope = mpk_rope_of(&arena);

	mpk_rope_put_view(&rope, bytes);
	return rope;
}

static inline void assert_same(const struct mpk_rope *rope, const char *path)
{
	struct mpk_span want = robust_load(&arena, path), got;

	ck_assert_int_eq(mpk_rope_flat(rope, &got, NULL), MPK_OK);
	ck_assert_uint_eq(got.len, want.len);
	size_t i = 0;
	while (i < got.len && got.data[i] == want.data[i])
		i++;
	if (i < got.len)
		ck_abort_msg("%s: byte %zu is %02x, want %02x", path, i, got.data[i], want.data[i]);
}

#endif

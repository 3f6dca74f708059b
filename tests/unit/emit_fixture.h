/* SPDX-License-Identifier: Apache-2.0 */
/* emit_fixture.h - a directory of its own for each test of emit/, and files in it */
#ifndef MPK_TESTS_EMIT_FIXTURE_H
#define MPK_TESTS_EMIT_FIXTURE_H

#include <sys/stat.h>

#include "base/rope.h"
#include "workdir.h"

static void setup(void)
{
	workdir_enter();
	ck_assert_int_eq(mkdir("tmp", 0700), 0);
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

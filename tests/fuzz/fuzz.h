/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what every target has in common: any bytes in, an arena that is freed behind it
 *
 * A target is one file, fuzz_<format>.c, that defines fuzz_one; entry.c is linked to each. The longest input
 * that makes sense, and the number of runs of the smoke test, stand in the table `targets`. */
#ifndef MPK_TESTS_FUZZ_FUZZ_H
#define MPK_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/report.h"
#include "base/rope.h"
#include "base/span.h"
#include "base/strbuf.h"

/* fuzz_one - whatever the bytes are: no crash, no leak, no promise broken */
void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena);

#define FUZZ_REQUIRE(x) ((x) ? (void)0 : abort())

/* fuzz_rest - what follows the first byte, which chooses; none of an empty input */
static inline struct mpk_span fuzz_rest(struct mpk_span bytes)
{
	return bytes.len ? mpk_span_of(bytes.data + 1, bytes.len - 1) : bytes;
}

/* fuzz_choice - a number below count from the first byte */
static inline unsigned fuzz_choice(struct mpk_span bytes, size_t count)
{
	return bytes.len ? bytes.data[0] % (unsigned)count : 0;
}

/* fuzz_fill - a place of len bytes, at most what is left, becomes the next of the input */
static inline struct mpk_span fuzz_take(struct mpk_span *bytes, size_t len)
{
	struct mpk_span taken = mpk_span_of(bytes->data, len < bytes->len ? len : bytes->len);

	*bytes = mpk_span_of(bytes->data + taken.len, bytes->len - taken.len);
	return taken;
}

/* fuzz_touch - every byte of a span that was handed out is there */
static inline void fuzz_touch(struct mpk_span s)
{
	static volatile uint8_t sum;

	if (s.len)
		sum = (uint8_t)(sum + s.data[0] + s.data[s.len / 2] + s.data[s.len - 1]);
}

/* fuzz_printable - what is printed cannot command a terminal */
static inline void fuzz_printable(const struct mpk_strbuf *out)
{
	for (size_t i = 0; i < out->len; i++)
		FUZZ_REQUIRE((unsigned char)out->data[i] >= 0x20 || out->data[i] == '\n' ||
			     out->data[i] == '\t');
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.c - whether two SPIR-V modules differ in more than names, source and lines
 *
 * Instructions that only describe are passed over; everything else must be equal word by word. A compiler that
 * numbers its results in another order makes other code here. */
#include "compare/spirv.h"

#include <string.h>

#include "base/cursor.h"

enum {
	HEADER_WORDS = 5, /* magic, version, generator, bound, schema */
	HEADER_BYTES = 4 * HEADER_WORDS,
	GENERATOR = 2,
	/* OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine */
	FIRST_DEBUG = 2,
	LAST_DEBUG = 8,
	NO_LINE = 317,
	MODULE_PROCESSED = 330,
};

static const uint32_t MAGIC = 0x07230203;

static bool is_debug(uint32_t op)
{
	return (op >= FIRST_DEBUG && op <= LAST_DEBUG) || op == NO_LINE || op == MODULE_PROCESSED;
}

/* The next instruction that runs; false: there is none, or it is broken (then *at stays in front). */
static bool spirv_next(struct mpk_span s, size_t *at, struct mpk_span *out)
{
	while (s.len - *at >= 4) {
		uint32_t word = mpk_load_u32(s.data + *at);

		if (!(word >> 16) || !mpk_span_sub(s, *at, (uint64_t)(word >> 16) * 4, out))
			return false;
		*at += out->len;
		if (!is_debug(word & 0xffff))
			return true;
	}
	return false;
}

/* The generator word names the compiler and its version (SPIR-V specification, 2.3), which is no
 * code. The bound stays compared: other numbers of results are other code here. */
static bool same_header(struct mpk_span a, struct mpk_span b)
{
	if (a.len < HEADER_BYTES || b.len < HEADER_BYTES || mpk_load_u32(a.data) != MAGIC)
		return false;
	for (size_t i = 0; i < HEADER_WORDS; i++)
		if (i != GENERATOR && memcmp(a.data + 4 * i, b.data + 4 * i, 4) != 0)
			return false;
	return true;
}

bool mpk_spirv_same_code(struct mpk_span a, struct mpk_span b)
{
	size_t x = HEADER_BYTES, y = x;
	struct mpk_span p, q;

	if (!same_header(a, b))
		return false;
	for (;;) {
		bool more = spirv_next(a, &x, &p);

		if (more != spirv_next(b, &y, &q))
			return false;
		if (!more)
			return x == a.len && y == b.len;
		if (!mpk_span_equal(p, q))
			return false;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire - the reply of a child that ran hostile code: values, or an error; what is read can be
 * printed */
#include <string.h>

#include "fuzz.h"
#include "session/wire.h"
#include "value/parse.h"

enum { PAGE = 4096, LONGEST = 16 * PAGE };

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	/* as it is mapped: from a page's start; and at the end of memory that may be read */
	uint8_t *copy = mpk_arena_alloc(arena, bytes.len + PAGE);
	struct mpk_wire_map m;
	struct mpk_value v = { 0 };

	if (!copy || bytes.len > LONGEST)
		return;
	copy += (PAGE - (uintptr_t)copy % PAGE) % PAGE;
	if (bytes.len)
		memcpy(copy, bytes.data, bytes.len);
	m = (struct mpk_wire_map){ .bytes = { copy, bytes.len } };
	atomic_init(&m.refs, 2); /* it is not the wire's to free */
	while (mpk_wire_get_value(&m, &v, NULL) == MPK_OK && m.pos < bytes.len) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

		mpk_value_print(&out, &v, 64);
		fuzz_printable(&out);
		mpk_value_drop(&v);
	}
	mpk_value_drop(&v);
}

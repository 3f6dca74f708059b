/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire - any bytes as the reply of a child that ran hostile code: values, or an error; what is read
 * can be printed and compared with itself */
#include "fuzz.h"

#include <string.h>

#include "session/wire.h"
#include "value/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* as it is mapped: from a page's start, and of its length alone */
	uint8_t *copy = aligned_alloc(4096, (size + 4096) / 4096 * 4096);
	struct mpk_wire_map m = { .bytes = { copy, size } };
	struct mpk_value v = { 0 };

	FUZZ_REQUIRE(copy != NULL);
	memcpy(copy, data, size);
	atomic_init(&m.refs, 2); /* it is not the wire's to free */
	while (mpk_wire_get_value(&m, &v, NULL) == MPK_OK && m.pos < size) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

		mpk_value_print(&out, &v, 64);
		mpk_value_drop(&v);
	}
	mpk_value_drop(&v);
	free(copy);
	return 0;
}

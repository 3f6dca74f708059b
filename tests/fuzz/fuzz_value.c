/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_value - any text as --input or --expect, any bytes as .npy or .npz. The first byte chooses. */
#include "fuzz.h"

#include <string.h>

#include "npy/npy.h"
#include "value/parse.h"

/* At most: the product of all numbers. */
static double elements(const char *at)
{
	double product = 1;

	for (; *at; at++)
		if (*at >= '0' && *at <= '9') {
			char *end;
			double n = (double)strtoull(at, &end, 10);

			product *= n > 1 ? n : 1;
			at = end - 1;
		}
	return product;
}

static void text(const uint8_t *data, size_t size, bool is_out)
{
	char *copy = strndup((const char *)data, size);
	struct mpk_value v = { 0 };
	struct mpk_span name;

	FUZZ_REQUIRE(copy != NULL);
	/* no file of this machine, and no terabyte that was asked for in good faith */
	if (!strchr(copy, '@') && elements(copy) < 1e5 &&
	    mpk_value_parse_argument(copy, is_out, &name, &v, NULL) == MPK_OK) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

		mpk_value_print(&out, &v, 64);
		mpk_value_drop(&v);
	}
	free(copy);
}

static void archive(struct mpk_span bytes)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_zip_member *members;
	struct mpk_span content;
	struct mpk_npy npy;
	size_t count;

	if (mpk_npz_list(bytes, &arena, &members, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count && i < 8; i++)
		if (mpk_npz_read(bytes, &members[i], &arena, &content, NULL) == MPK_OK)
			(void)!mpk_npy_read(content, &npy, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpk_span bytes = mpk_span_of(data + 1, size ? size - 1 : 0);
	struct mpk_npy npy;

	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0:
	case 1:
		text(bytes.data, bytes.len, data[0] % 4);
		break;
	case 2:
		(void)!mpk_npy_read(bytes, &npy, NULL);
		break;
	default:
		archive(bytes);
	}
	return 0;
}

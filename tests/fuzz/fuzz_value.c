/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_value - a text as --input or --out: the first byte chooses; what is printed parses again */
#include <string.h>

#include "fuzz.h"
#include "value/parse.h"

static const double most_elements = 4096;

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

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const char *text = mpk_arena_text(arena, fuzz_rest(bytes));
	struct mpk_value v = { 0 };
	struct mpk_span name;
	struct mpk_dldevice where;

	/* no file of this machine, and no terabyte that was asked for in good faith */
	if (!text || strchr(text, '@') || elements(text) > most_elements ||
	    mpk_value_parse_argument(text, fuzz_choice(bytes, 2), &name, &where, &v, NULL) !=
		    MPK_OK)
		return;

	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	mpk_value_print(&out, &v, 64);
	fuzz_printable(&out);
	mpk_value_drop(&v);
}

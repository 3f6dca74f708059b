/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_itanium - the name that a C++ compiler gives a kernel */
#include "fuzz.h"
#include "itanium/itanium.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const struct mpk_demangle_form whole = { .returns = true };
	static const struct mpk_demangle_form brief = { .no_params = true, .deepest = 1 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_itanium_function f;

	(void)mpk_itanium_is(bytes);
	(void)!mpk_itanium_read(bytes, arena, &f, NULL);
	(void)mpk_demangle(bytes, whole, &text);
	(void)mpk_demangle(bytes, brief, &text);
}

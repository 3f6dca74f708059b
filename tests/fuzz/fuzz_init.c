/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_init - a file of kernels or host code that becomes a manifest; the first byte chooses its name */
#include "fuzz.h"
#include "package/package.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const char *const names[] = { "k.cl",     "k.cu",  "k.ptx",   "k.cubin",
					     "k.fatbin", "k.spv", "k.metal", "k.wgsl",
					     "h.c",      "h.cc",  "h.ll" };
	const struct mpk_init_file file = { names[fuzz_choice(bytes, MPK_ARRAY_COUNT(names))],
					    fuzz_rest(bytes) };
	struct mpk_strbuf out = { 0 };

	(void)!mpk_init_manifest(&file, 1, arena, &out, NULL);
	mpk_strbuf_fini(&out);
}

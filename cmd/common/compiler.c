/* SPDX-License-Identifier: Apache-2.0 */
#include "common/compiler.h"

#include <stdlib.h>
#include <string.h>

static enum mpk_code split_words(struct mpk_arena *arena, const char *text, struct mpk_words *out,
				 struct mpk_error *err)
{
	char *copy = mpk_arena_copy(arena, text, strlen(text)), *rest = NULL;
	struct mpk_argv v = { .arena = arena };

	MPK_TRY_ALLOC(copy, err);
	for (char *w = strtok_r(copy, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest))
		mpk_argv_add(&v, w);
	if (v.failed)
		return mpk_fail_nomem(err);
	*out = (struct mpk_words){ v.items, v.count };
	return v.count ? MPK_OK : mpk_fail(err, MPK_E_USAGE, "--cc names no program");
}

/* Of a compiler of C that was named, the driver of C++ beside it: aarch64-linux-gnu-gcc-12 has
 * aarch64-linux-gnu-g++-12. */
static const char *cxx_of(struct mpk_arena *arena, const char *cc)
{
	static const char *const pairs[][2] = { { "gcc", "g++" },
						{ "clang", "clang++" },
						{ "cc", "c++" } };

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const char *at = NULL;

		/* the last: folders and launchers may be called so, too */
		for (const char *p = cc; (p = strstr(p, pairs[i][0])); p++)
			at = p;
		if (at)
			return mpk_arena_printf(arena, "%.*s%s%s", (int)(at - cc), cc, pairs[i][1],
						at + strlen(pairs[i][0]));
	}
	return cc;
}

enum mpk_code mpk_compiler_find(struct mpk_arena *arena, const char *cc, const char *cxx,
				struct mpk_words *cc_out, struct mpk_words *cxx_out,
				struct mpk_error *err)
{
	if (!cxx && !cc)
		cxx = getenv("CXX");
	if (!cc)
		cc = getenv("CC");
	if (!cc || !*cc)
		cc = "cc";
	if (!cxx || !*cxx)
		cxx = cxx_of(arena, cc);
	MPK_TRY_ALLOC(cxx, err);
	MPK_TRY(split_words(arena, cxx, cxx_out, err));
	return split_words(arena, cc, cc_out, err);
}

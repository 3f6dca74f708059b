/* SPDX-License-Identifier: Apache-2.0 */
/* The environments that both programs look into: minspect for a library to run with, both for headers of sources
 * that they compile. Only here is the environment asked for them. */
#include "common/tvmffi.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Python environments keep it with the package tvm_ffi. */
static const struct {
	const char *variable; /* a directory; NULL: the pattern is absolute */
	const char *pattern;
} candidates[] = {
	{ "VIRTUAL_ENV", "lib/python3*/site-packages" },
	{ "CONDA_PREFIX", "lib/python3*/site-packages" },
	{ "HOME", ".local/lib/python3*/site-packages" },
	{ NULL, "/usr/local/lib/python3*/dist-packages" },
	{ NULL, "/usr/local/lib/python3*/site-packages" },
	{ NULL, "/usr/lib/python3/dist-packages" },
};

static enum mpk_code add_candidate(glob_t *found, size_t i, struct mpk_arena *arena,
				   struct mpk_error *err)
{
	const char *root = candidates[i].variable ? getenv(candidates[i].variable) : "";
	char *pattern;
	/* a pattern without a file stays in the list: the message names every pattern */
	int flags = GLOB_NOCHECK | (found->gl_pathc ? GLOB_APPEND : 0);

	if (!root || (candidates[i].variable && !root[0]))
		return MPK_OK;
	pattern = mpk_arena_printf(arena, "%s%s%s/tvm_ffi/lib/libtvm_ffi.so", root,
				   root[0] ? "/" : "", candidates[i].pattern);
	if (!pattern || glob(pattern, flags, NULL, found) == GLOB_NOSPACE)
		return mpk_fail_nomem(err);
	return MPK_OK;
}

enum mpk_code mpk_tvm_ffi_find(struct mpk_arena *arena, struct mpk_words *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(globfree) glob_t found = { 0 };
	struct mpk_argv paths = { .arena = arena };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(candidates); i++)
		MPK_TRY(add_candidate(&found, i, arena, err));
	for (size_t i = 0; i < found.gl_pathc; i++)
		mpk_argv_printf(&paths, "%s", found.gl_pathv[i]);
	*out = (struct mpk_words){ paths.items, paths.count };
	return paths.failed ? mpk_fail_nomem(err) : MPK_OK;
}

static void add_folder(struct mpk_argv *flags, const char *root, size_t len, const char *folder)
{
	const char *path = mpk_arena_printf(flags->arena, "%.*s%s", (int)len, root, folder);

	flags->failed |= !path;
	if (path && access(path, F_OK) == 0)
		mpk_argv_printf(flags, "-idirafter%s", path);
}

enum mpk_code mpk_tvm_headers_find(struct mpk_arena *arena, struct mpk_words *out,
				   struct mpk_error *err)
{
	static const char library[] = "/tvm_ffi/lib/libtvm_ffi.so";
	struct mpk_argv flags = { .arena = arena };
	struct mpk_words found;

	MPK_TRY(mpk_tvm_ffi_find(arena, &found, err));
	for (size_t i = 0; i < found.count; i++) {
		size_t len = strlen(found.items[i]), tail = sizeof library - 1;

		if (len < tail || strcmp(found.items[i] + len - tail, library) != 0)
			continue;
		add_folder(&flags, found.items[i], len - tail, "/tvm_ffi/include");
		add_folder(&flags, found.items[i], len - tail, "/tvm/include");
	}
	*out = (struct mpk_words){ flags.items, flags.count };
	return flags.failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds external programs and libraries: compilers, the plug-ins installed with the program, the
 * package tvm_ffi of a Python environment. lib/ never reads the environment, so environment
 * variables are read here and passed on as paths. */
#include "common/find.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config.h"

/* --- compilers --------------------------------------------------------------------------- */

static enum mpk_code split_words(struct mpk_arena *arena, const char *text, struct mpk_words *out,
				 struct mpk_error *err)
{
	char *copy = mpk_arena_copy(arena, text, strlen(text)), *rest = NULL;
	struct mpk_argv v = { .arena = arena };

	MPK_TRY_ALLOC(copy, err);
	/* CC="ccache gcc -m64" is usual, so a compiler is a list of words. */
	for (char *w = strtok_r(copy, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest))
		mpk_argv_add(&v, w);
	if (v.failed)
		return mpk_fail_nomem(err);
	*out = (struct mpk_words){ v.items, v.count };
	return v.count ? MPK_OK : mpk_fail(err, MPK_E_USAGE, "--cc names no program");
}

/* Returns the C++ compiler that belongs to a C compiler: aarch64-linux-gnu-gcc-12 has
 * aarch64-linux-gnu-g++-12. */
static const char *cxx_of(struct mpk_arena *arena, const char *cc)
{
	static const char *const pairs[][2] = { { "gcc", "g++" },
						{ "clang", "clang++" },
						{ "cc", "c++" } };

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const char *at = NULL;

		/* the last match: folders and launchers may contain the name too */
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
	/* $CXX belongs to $CC; a compiler named by --cc has its own C++ compiler. */
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

/* --- parts of the installed program ------------------------------------------------------ */

const char *mpk_libexec_find(struct mpk_arena *arena, const char *name)
{
	/* paths from the program to its parts: in the build folder, and in a moved installation */
	static const char *const ways[] = { "../libexec", MPK_LIBEXEC_FROM_BIN };
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *slash = NULL, *path;

	if (len > 0) {
		self[len] = '\0';
		slash = strrchr(self, '/');
	}
	for (size_t i = 0; slash && i < MPK_ARRAY_COUNT(ways); i++) {
		path = mpk_arena_printf(arena, "%.*s/%s/%s", (int)(slash - self), self, ways[i],
					name);
		if (path && access(path, R_OK) == 0)
			return path;
	}
	return mpk_arena_printf(arena, MPK_LIBEXECDIR "/%s", name);
}

/* --- Python environments ----------------------------------------------------------------- */

/* Places of the package tvm_ffi in Python environments. */
static const struct {
	/* environment variable with a directory; NULL if the pattern is absolute */
	const char *variable;
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
	/* a pattern without a match stays in the list, since the message names every pattern */
	int flags = GLOB_NOCHECK | (found->gl_pathc ? GLOB_APPEND : 0);

	/* If the variable is not set, there is no environment to search. */
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

		/* A pattern without a match is in the list unchanged; it has no
		 * folder. */
		if (len < tail || strcmp(found.items[i] + len - tail, library) != 0)
			continue;
		add_folder(&flags, found.items[i], len - tail, "/tvm_ffi/include");
		add_folder(&flags, found.items[i], len - tail, "/tvm/include");
	}
	*out = (struct mpk_words){ flags.items, flags.count };
	return flags.failed ? mpk_fail_nomem(err) : MPK_OK;
}

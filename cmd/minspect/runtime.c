/* SPDX-License-Identifier: Apache-2.0 */
/* Where the libraries are that --run opens. Only here is the environment asked for them. */
#include "minspect/run.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/libexec.h"

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

enum mpk_code minspect_tvm_ffi_paths(struct mpk_arena *arena, struct mpk_tvm_ffi_search *out,
				     struct mpk_error *err)
{
	const char *set = getenv("MPK_TVM_FFI");
	MPK_CLEANUP(globfree) glob_t found = { 0 };
	const char **paths;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(candidates); i++)
		MPK_TRY(add_candidate(&found, i, arena, err));
	paths = mpk_arena_array(arena, found.gl_pathc + 1, sizeof *paths);
	MPK_TRY_ALLOC(paths, err);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		paths[i] = mpk_arena_text(arena, mpk_span_str(found.gl_pathv[i]));
		MPK_TRY_ALLOC(paths[i], err);
	}
	out->paths = paths;
	out->path_count = found.gl_pathc;
	out->explicit_path = set && set[0] ? set : NULL;
	return MPK_OK;
}

static unsigned thread_count(void)
{
	const char *text = getenv("TVM_NUM_THREADS");
	long count = text ? strtol(text, NULL, 10) : 0;

	return count > 0 && count < 4096 ? (unsigned)count : 0;
}

/* As NVIDIA's tools and build systems name it. */
static const char *cuda_home(void)
{
	const char *home = getenv("CUDA_HOME");

	if (!home || !*home)
		home = getenv("CUDA_PATH");
	return home && *home ? home : NULL;
}

enum mpk_code run_runtime_fill(const struct minspect_options *o, struct mpk_arena *arena,
			       struct mpk_runtime_options *out, struct mpk_error *err)
{
	MPK_TRY(minspect_tvm_ffi_paths(arena, &out->tvm_ffi, err));
	if (o->tvm_ffi)
		out->tvm_ffi.explicit_path = o->tvm_ffi;
	out->stub_dir = mpk_libexec_find(arena, "minspect");
	MPK_TRY_ALLOC(out->stub_dir, err);
	out->threads = thread_count();
	out->cuda_home = cuda_home();
	return MPK_OK;
}

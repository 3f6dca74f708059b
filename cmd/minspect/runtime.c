/* Where the parts that --run opens are; the only place that asks the environment for
 * them. */
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
} places[] = {
	{ "VIRTUAL_ENV", "lib/python3*/site-packages" },
	{ "CONDA_PREFIX", "lib/python3*/site-packages" },
	{ "HOME", ".local/lib/python3*/site-packages" },
	{ NULL, "/usr/local/lib/python3*/dist-packages" },
	{ NULL, "/usr/local/lib/python3*/site-packages" },
	{ NULL, "/usr/lib/python3/dist-packages" },
};

static enum mpk_code add_place(glob_t *found, size_t i, struct mpk_arena *arena,
			       struct mpk_error *err)
{
	const char *root = places[i].variable ? getenv(places[i].variable) : "";
	char *pattern;
	/* a pattern without a file stays in the list: the message names every place */
	int flags = GLOB_NOCHECK | (found->gl_pathc ? GLOB_APPEND : 0);

	if (!root || (places[i].variable && !root[0]))
		return MPK_OK;
	pattern = mpk_arena_printf(arena, "%s%s%s/tvm_ffi/lib/libtvm_ffi.so", root,
				   root[0] ? "/" : "", places[i].pattern);
	if (!pattern || glob(pattern, flags, NULL, found) == GLOB_NOSPACE)
		return mpk_fail_nomem(err);
	return MPK_OK;
}

static enum mpk_code find_tvm_ffi(struct mpk_arena *arena, struct mpk_tvm_ffi_search *out,
				  struct mpk_error *err)
{
	MPK_CLEANUP(globfree) glob_t found = { 0 };
	const char **paths;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(places); i++)
		MPK_TRY(add_place(&found, i, arena, err));
	paths = mpk_arena_array(arena, found.gl_pathc + 1, sizeof *paths);
	if (!paths)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		paths[i] = mpk_arena_text(arena, mpk_span_str(found.gl_pathv[i]));
		if (!paths[i])
			return mpk_fail_nomem(err);
	}
	out->paths = paths;
	out->path_count = found.gl_pathc;
	return MPK_OK;
}

static unsigned thread_count(void)
{
	const char *text = getenv("TVM_NUM_THREADS");
	long count = text ? strtol(text, NULL, 10) : 0;

	return count > 0 && count < 4096 ? (unsigned)count : 0;
}

enum mpk_code run_runtime_fill(const struct minspect_options *o, struct mpk_arena *arena,
			       struct mpk_runtime_options *out, struct mpk_error *err)
{
	const char *set = getenv("MPK_TVM_FFI");

	out->stub_dir = mpk_libexec_find(arena, "minspect");
	if (!out->stub_dir)
		return mpk_fail_nomem(err);
	out->threads = thread_count();
	out->tvm_ffi.explicit_path = o->tvm_ffi ? o->tvm_ffi : set && set[0] ? set : NULL;
	return find_tvm_ffi(arena, &out->tvm_ffi, err);
}

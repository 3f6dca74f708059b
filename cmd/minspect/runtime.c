/* SPDX-License-Identifier: Apache-2.0 */
/* Where the libraries are that --run opens. Only here is the environment asked for them. */
#include "minspect/run.h"

#include <stdlib.h>
#include <string.h>

#include "common/libexec.h"
#include "common/tvmffi.h"

enum mpk_code minspect_tvm_ffi_paths(struct mpk_arena *arena, struct mpk_tvm_ffi_search *out,
				     struct mpk_error *err)
{
	const char *set = getenv("MPK_TVM_FFI");
	struct mpk_words found;

	MPK_TRY(mpk_tvm_ffi_find(arena, &found, err));
	out->paths = found.items;
	out->path_count = found.count;
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

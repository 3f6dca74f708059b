/* SPDX-License-Identifier: Apache-2.0 */
/* The environment in which code of FILE runs: the runtime and its search paths, taken from
 * environment variables only here; a library linked from FILE, as mpack build would, if it is an
 * object or archive; and with --isolate a sandbox. An observer cannot tell whether a
 * function of hostile code was really called. But code that can neither read the expected results
 * nor ask anyone for them has to compute them. */
#include "minspect/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/find.h"

/* --- search paths ------------------------------------------------------------------------ */

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

enum mpk_code run_runtime_fill(const struct minspect_options *o, struct mpk_arena *arena,
			       struct mpk_runtime_options *out, struct mpk_error *err)
{
	MPK_TRY(minspect_tvm_ffi_paths(arena, &out->tvm_ffi, err));
	if (o->tvm_ffi)
		out->tvm_ffi.explicit_path = o->tvm_ffi;

	/* The variable of TVM's own runtime. */
	const char *text = getenv("TVM_NUM_THREADS");
	long count = text ? strtol(text, NULL, 10) : 0;

	out->threads = count > 0 && count < 4096 ? (unsigned)count : 0;

	/* The environment variables of NVIDIA's tools and of build systems. */
	const char *home = getenv("CUDA_HOME");

	if (!home || !*home)
		home = getenv("CUDA_PATH");
	out->cuda_home = home && *home ? home : NULL;
	return MPK_OK;
}

/* --- objects ----------------------------------------------------------------------------- */

/* "lib.a(devc.o)" means a member of lib.a, and only its functions; "lib.so(alpha_)" means a model
 * in lib.so. */
const char *run_file_path(struct minspect_file *file)
{
	const char *open = strrchr(file->name, '(');

	if ((!file->member_alone && !file->image.by_prefix) || !open)
		return file->name;
	return mpk_arena_copy(&file->arena, file->name, (size_t)(open - file->name));
}

static enum mpk_code link_objects(struct minspect_file *file, struct mpk_loadable *out,
				  struct mpk_error *err)
{
	const char *tmp = getenv("TMPDIR");
	struct mpk_loadable_options options = {
		.path = run_file_path(file),
		.image = &file->image,
		.member_alone = file->member_alone,
		.tmpdir = tmp && *tmp ? tmp : "/tmp",
		.llvm = mpk_libexec_find(&file->arena, "mpack/llvm.so"),
	};

	MPK_TRY_ALLOC(options.path && options.llvm, err);
	MPK_TRY(mpk_tvm_headers_find(&file->arena, &options.headers, err));
	MPK_TRY(mpk_compiler_find(&file->arena, NULL, NULL, &options.cc, &options.cxx, err));
	return mpk_loadable_link(&options, out, err);
}

enum mpk_code run_file_link(struct minspect_file *file, struct mpk_error *err)
{
	struct mpk_loadable linked = { 0 };
	enum mpk_code code;
	char *name;

	if (!mpk_loadable_is_needed(&file->image))
		return MPK_OK;
	code = link_objects(file, &linked, err);
	if (code != MPK_OK) {
		mpk_loadable_close(&linked);
		return code;
	}
	/* From now on the linked library is the file. */
	if (asprintf(&name, file->image.by_prefix ? "%s(%s)" : "%s", linked.path,
		     file->image.prefix) < 0) {
		mpk_loadable_close(&linked);
		return mpk_fail_nomem(err);
	}
	minspect_file_close(file);
	code = minspect_file_open(name, file, err);
	file->name = file->image.by_prefix ? mpk_arena_text(&file->arena, mpk_span_str(name))
					   : linked.path;
	free(name);
	if (!file->name) {
		file->name = linked.path;
		code = mpk_fail_nomem(err);
	}
	file->loadable = linked;
	if (code != MPK_OK && err)
		err->at.file[0] = '\0'; /* the user does not know the linked file */
	return code;
}

/* --- --isolate --------------------------------------------------------------------------- */

enum { PATHS_MAX = 64 };

enum mpk_code isolate_hide(struct mpk_option_list *expects, struct mpk_error *err)
{
	size_t len = 1, at = 0;
	char *hidden;

	for (size_t i = 0; i < expects->count; i++)
		len += strlen(expects->items[i].value) + 1;
	/* lives until the process ends */
	/* A separate mapping, because madvise() works on whole pages; MADV_DONTFORK keeps these out
	 * of child processes. */
	hidden = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hidden == MAP_FAILED || madvise(hidden, len, MADV_DONTFORK) != 0)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < expects->count; i++) {
		const char *text = expects->items[i].value;
		size_t n = strlen(text);

		memcpy(hidden + at, text, n + 1);
		expects->items[i].value = hidden + at;
		at += n + 1;
		/* an argument of main, which the program may change */
		memset((char *)(uintptr_t)text, 'x', n);
	}
	return MPK_OK;
}

static void add_path(const char **paths, size_t *count, const char *path)
{
	if (path && *path && *count < PATHS_MAX)
		paths[(*count)++] = path;
}

enum mpk_code isolate_fill(struct mpk_library_options *library, struct mpk_arena *arena,
			   struct mpk_error *err)
{
	/* Files that the dynamic loader and the C library need, and the description of the
	 * processors. */
	static const char *const system[] = {
		"/lib",           "/lib64",           "/usr/lib",           "/usr/lib64",
		"/usr/local/lib", "/etc/ld.so.cache", "/etc/ld.so.preload", "/sys/devices/system",
		"/dev/null",      "/dev/zero",        "/dev/urandom",       "/proc/self/fd",
	};
	const char **paths = mpk_arena_array(arena, PATHS_MAX, sizeof *paths);
	struct mpk_sandbox *s = mpk_arena_alloc(arena, sizeof *s);
	const char *dirs = getenv("LD_LIBRARY_PATH");
	char *copy = dirs ? mpk_arena_text(arena, mpk_span_str(dirs)) : NULL, *rest = NULL;
	const struct mpk_tvm_ffi_search *ffi = &library->runtime.tvm_ffi;
	size_t count = 0;

	MPK_TRY_ALLOC(paths && s && (copy || !dirs), err);
	add_path(paths, &count, library->path);
	for (size_t i = 0; i < library->provider_count; i++)
		add_path(paths, &count, library->providers[i]);
	add_path(paths, &count, ffi->explicit_path);
	for (size_t i = 0; i < ffi->path_count; i++)
		add_path(paths, &count, ffi->paths[i]);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(system); i++)
		add_path(paths, &count, system[i]);
	/* tells whether pages of the file can be released after a constant was copied */
	add_path(paths, &count, "/proc/self/pagemap");
	for (char *dir = copy ? strtok_r(copy, ":", &rest) : NULL; dir;
	     dir = strtok_r(NULL, ":", &rest))
		add_path(paths, &count, dir);
	*s = (struct mpk_sandbox){ .readable = paths,
				   .readable_count = count,
				   .runs_code = true,
				   .memory_bytes = minspect_memory_given() };
	library->sandbox = s;
	return MPK_OK;
}

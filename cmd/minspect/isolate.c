/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a function of hostile code was called at all cannot be seen from outside of its process. But
 * code that can neither read what is expected nor ask anybody has to compute it. */
#include "minspect/isolate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PATHS_MAX = 64 };

enum mpk_code isolate_hide(struct mpk_option_list *expects, struct mpk_error *err)
{
	size_t len = 1, at = 0;
	char *hidden;

	for (size_t i = 0; i < expects->count; i++)
		len += strlen(expects->items[i].value) + 1;
	/* stays until the process ends */
	hidden = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hidden == MAP_FAILED || madvise(hidden, len, MADV_DONTFORK) != 0)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < expects->count; i++) {
		const char *text = expects->items[i].value;
		size_t n = strlen(text);

		memcpy(hidden + at, text, n + 1);
		expects->items[i].value = hidden + at;
		at += n + 1;
		/* an argument of main, which is ours to change */
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
	static const char *const system[] = {
		"/lib",           "/lib64",           "/usr/lib",           "/usr/lib64",
		"/usr/local/lib", "/etc/ld.so.cache", "/etc/ld.so.preload", "/sys/devices/system",
		"/dev/null",      "/dev/zero",        "/dev/urandom",
	};
	const char **paths = mpk_arena_array(arena, PATHS_MAX, sizeof *paths);
	struct mpk_sandbox *s = mpk_arena_alloc(arena, sizeof *s);
	const char *dirs = getenv("LD_LIBRARY_PATH");
	char *copy = dirs ? mpk_arena_text(arena, mpk_span_str(dirs)) : NULL, *rest = NULL;
	const struct mpk_tvm_ffi_search *ffi = &library->runtime.tvm_ffi;
	size_t count = 0;

	MPK_TRY_ALLOC(paths && s && (copy || !dirs), err);
	add_path(paths, &count, library->path);
	add_path(paths, &count, library->runtime.stub_dir);
	add_path(paths, &count, ffi->explicit_path);
	for (size_t i = 0; i < ffi->path_count; i++)
		add_path(paths, &count, ffi->paths[i]);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(system); i++)
		add_path(paths, &count, system[i]);
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

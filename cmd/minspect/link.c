/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and archives whose functions are called: linked first, as mpack build would. */
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "common/libexec.h"
#include "minspect/run.h"

/* "lib.a(devc.o)" is a member of lib.a, whose functions alone are asked for. */
static const char *path_of(struct minspect_file *file)
{
	const char *open = strrchr(file->name, '(');

	if (!file->member_alone || !open)
		return file->name;
	return mpk_arena_copy(&file->arena, file->name, (size_t)(open - file->name));
}

/* C that TVM exported includes TVM's headers: those of the package that libtvm_ffi.so is looked for
 * in, unless the compiler finds others. */
static enum mpk_code add_headers(const struct mpk_tvm_ffi_search *search, struct mpk_argv *cflags,
				 struct mpk_error *err)
{
	static const char library[] = "/tvm_ffi/lib/libtvm_ffi.so";

	for (size_t i = 0; i < search->path_count; i++) {
		size_t len = strlen(search->paths[i]), tail = sizeof library - 1;

		if (len < tail || strcmp(search->paths[i] + len - tail, library) != 0)
			continue;
		mpk_argv_printf(cflags, "-idirafter%.*s/tvm_ffi/include", (int)(len - tail),
				search->paths[i]);
		mpk_argv_printf(cflags, "-idirafter%.*s/tvm/include", (int)(len - tail),
				search->paths[i]);
	}
	return cflags->failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code link_objects(const struct minspect_options *o, struct minspect_file *file,
				  struct mpk_loadable *out, struct mpk_error *err)
{
	struct mpk_argv cflags = { .arena = &file->arena };
	struct mpk_runtime_options runtime = { 0 };
	const char *tmp = getenv("TMPDIR");
	struct mpk_loadable_options options = {
		.path = path_of(file),
		.image = &file->image,
		.member_alone = file->member_alone,
		.tmpdir = tmp && *tmp ? tmp : "/tmp",
		.llvm = mpk_libexec_find(&file->arena, "mpack/llvm.so"),
	};

	MPK_TRY_ALLOC(options.path && options.llvm, err);
	MPK_TRY(run_runtime_fill(o, &file->arena, &runtime, err));
	MPK_TRY(add_headers(&runtime.tvm_ffi, &cflags, err));
	options.cflags = (struct mpk_words){ cflags.items, cflags.count };
	MPK_TRY(mpk_compiler_find(&file->arena, NULL, NULL, &options.cc, &options.cxx, err));
	return mpk_loadable_link(&options, out, err);
}

enum mpk_code run_file_link(const struct minspect_options *o, struct minspect_file *file,
			    struct mpk_error *err)
{
	struct mpk_loadable linked = { 0 };
	enum mpk_code code;

	if (!mpk_loadable_is_needed(&file->image))
		return MPK_OK;
	code = link_objects(o, file, &linked, err);
	if (code != MPK_OK) {
		mpk_loadable_close(&linked);
		return code;
	}
	minspect_file_close(file);
	code = minspect_file_open(linked.path, file, err);
	file->loadable = linked;
	if (code != MPK_OK && err)
		err->at.file[0] = '\0'; /* the user has never heard of that one */
	return code;
}

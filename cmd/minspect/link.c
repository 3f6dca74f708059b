/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and archives whose functions are called: linked first, as mpack build would. */
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "common/libexec.h"
#include "common/tvmffi.h"
#include "minspect/run.h"

/* "lib.a(devc.o)" is a member of lib.a, whose functions alone are asked for. */
static const char *path_of(struct minspect_file *file)
{
	const char *open = strrchr(file->name, '(');

	if (!file->member_alone || !open)
		return file->name;
	return mpk_arena_copy(&file->arena, file->name, (size_t)(open - file->name));
}

static enum mpk_code link_objects(struct minspect_file *file, struct mpk_loadable *out,
				  struct mpk_error *err)
{
	const char *tmp = getenv("TMPDIR");
	struct mpk_loadable_options options = {
		.path = path_of(file),
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

	if (!mpk_loadable_is_needed(&file->image))
		return MPK_OK;
	code = link_objects(file, &linked, err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* mpack build FILE... -o OUT.fatbin: code for several GPUs in one file. No compiler and no toolkit runs. */
#include "common/diag.h"
#include "common/files.h"
#include "io/mapping.h"
#include "io/output.h"
#include "mpack/build.h"
#include "package/images.h"
#include "toolchain/toolchain.h"

static enum mpk_code write_fatbin(const struct mpk_build_options *o, const struct mpk_rope *rope,
				  struct mpk_error *err)
{
	struct mpk_output *out = NULL;
	enum mpk_code code;

	MPK_TRY(mpk_output_open(o->output, 0666, &out, err));
	code = mpk_output_write_rope(out, rope, NULL, err);
	if (code == MPK_OK)
		code = mpk_confirm_output(out, NULL, err);
	return mpk_output_finish(out, code, err);
}

static enum mpk_code fatbin_run(const struct mpk_build_options *o, const char *const *paths,
				struct mpk_mapping *maps, size_t count, struct mpk_arena *arena,
				struct mpk_error *err)
{
	struct mpk_image_file *files = mpk_arena_array(arena, count, sizeof *files);
	struct mpk_rope rope = mpk_rope_of(arena);

	MPK_TRY_ALLOC(files, err);
	for (size_t i = 0; i < count; i++) {
		if (mpk_mapping_open(paths[i], &maps[i], err) != MPK_OK) {
			mpk_error_at_file(err, paths[i]);
			return mpk_failed(err->code);
		}
		files[i] = (struct mpk_image_file){ .name = paths[i], .bytes = maps[i].bytes };
	}
	MPK_TRY(mpk_images_join(files, count, &rope, err));
	return write_fatbin(o, &rope, err);
}

int mpk_build_fatbin(const struct mpk_build_options *o, const struct mpk_option *options,
		     const char *const *paths, size_t count)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_mapping *maps = mpk_arena_array(&arena, count, sizeof *maps);
	struct mpk_confine c = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code;

	if (o->fsync)
		mpk_output_make_durable();
	for (size_t i = 0; i < count; i++)
		mpk_confine_input(&c, paths[i]);
	mpk_confine(&c, options);
	code = maps ? fatbin_run(o, paths, maps, count, &arena, &err) : mpk_fail_nomem(&err);
	for (size_t i = 0; maps && i < count; i++)
		mpk_mapping_close(&maps[i]);
	if (code != MPK_OK)
		return mpk_diag_error(&err);
	return MPK_EXIT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mpack init prints a manifest for kernels and host code, which lib/pack/package makes. It writes
 * only to standard output, so that it never overwrites files of a project. */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "common/print.h"
#include "io/mapping.h"
#include "mpack/cubins.h"
#include "mpack/mpack.h"
#include "package/package.h"

static struct mpk_cubins_options cubin_options;

static int init_print(const struct mpk_strbuf *text)
{
	struct mpk_error err = { 0 };

	/* If memory ran out, a part of the text may be missing, so it must not be printed. */
	if (mpk_memory_check(&err) != MPK_OK)
		return mpk_diag_error(&err);
	int failed = mpk_print_text(MPK_STDOUT, mpk_strbuf_text(text), text->len);
	if (!failed)
		return MPK_EXIT_OK;
	mpk_print_error(failed, &err);
	return mpk_diag_error(&err);
}

/* Users of tvm-ffi without TVM's runtime are warned here rather than by an error at the first
 * load. */
static void hint_loader(const struct mpk_strbuf *text)
{
	static const char *const kinds[] = { "opencl", "cuda", "hip", "vulkan", "metal" };
	char row[32];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++) {
		(void)snprintf(row, sizeof row, "= \"%s\"\n", kinds[i]);
		if (!strstr(mpk_strbuf_text(text), row))
			continue;
		mpk_closing_hint(
			"TVM's runtime loads modules of kind \"%s\"; tvm-ffi alone has no loader "
			"for them.\nA library that brings its own: mpack build --standalone "
			"-o LIBRARY.so\n",
			kinds[i]);
		return;
	}
}

static enum mpk_code fill_in(char **paths, size_t count, struct mpk_mapping *maps,
			     struct mpk_arena *arena, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_init_file *files = mpk_arena_array(arena, count, sizeof *files);

	MPK_TRY_ALLOC(files, err);
	for (size_t i = 0; i < count; i++) {
		enum mpk_code code = mpk_mapping_open(paths[i], &maps[i], err);

		if (code != MPK_OK) {
			mpk_error_at_file(err, paths[i]);
			return code;
		}
		files[i] = (struct mpk_init_file){ paths[i], maps[i].bytes };
	}
	return mpk_init_manifest(files, count, arena, out, err);
}

static int init(char **paths, size_t count)
{
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_mapping *maps = mpk_arena_array(&arena, count, sizeof *maps);
	enum mpk_code code = maps ? MPK_OK : mpk_fail_nomem(&err);

	for (size_t i = 0; maps && i < count; i++)
		/* So that all can be closed, however many were opened. */
		maps[i].fd = -1;
	if (code == MPK_OK)
		code = fill_in(paths, count, maps, &arena, &text, &err);
	int status = code == MPK_OK ? init_print(&text) : mpk_diag_error(&err);

	if (status == MPK_EXIT_OK)
		hint_loader(&text);
	for (size_t i = 0; maps && i < count; i++)
		mpk_mapping_close(&maps[i]);
	mpk_strbuf_fini(&text);
	mpk_arena_fini(&arena);
	return status;
}

/* Cubins with notes next to them. */
static int init_cubins(const char *const *paths, size_t count)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_cubins_close) struct mpk_cubins kernels = { 0 };
	struct mpk_confine c = { 0 };
	struct mpk_error err = { 0 };
	int status = mpk_cubins_find(&cubin_options, paths, count, &kernels);

	/* Allows reading all files. */
	for (size_t i = 0; i < kernels.count; i++) {
		mpk_confine_input(&c, kernels.files[i].path);
		mpk_confine_input(&c, kernels.files[i].meta);
		mpk_confine_input(&c, kernels.files[i].ir);
	}
	for (size_t i = 0; i < kernels.source_count; i++) {
		mpk_confine_input(&c, kernels.sources[i].path);
		mpk_confine_input(&c, kernels.sources[i].library);
	}

	mpack_memory_begin();
	mpk_confine(&c, NULL);
	if (status != MPK_EXIT_OK)
		return status;
	if (mpk_cubins_manifest(&cubin_options, &kernels, paths[0], &arena, &text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return init_print(&text);
}

int mpack_init(int argc, char **argv)
{
	static const struct mpk_option options[] = { MPK_CUBINS_OPTIONS(cubin_options), { 0 } };
	static const struct mpk_command command = {
		.name = "init",
		.usage = "mpack init FILE... | FILE.cubin --meta FILE.json | FOLDER",
		.summary =
			"Print a manifest that packs these files: kernels and C functions, their\n"
			"types and launch tags, launch functions. It builds as it is; what only you can\n"
			"know is marked \"decide\".",
		.examples = "  mpack init vadd.cl >" MPACK_MANIFEST "\n"
			    "  mpack init host.c kernels.ptx >" MPACK_MANIFEST "\n"
			    "  mpack init add.cubin --meta add.json >" MPACK_MANIFEST "\n",
		.options = options,
	};
	int first, status;

	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (first == argc)
		return mpk_diag_usage("no file given: name kernels, objects or sources");
	const char *const *operands = (const char *const *)(argv + first);

	if (mpk_cubins_are_meant(&cubin_options, operands, (size_t)(argc - first)))
		return init_cubins(operands, (size_t)(argc - first));

	struct mpk_confine c = { 0 };

	for (int i = first; i < argc; i++)
		mpk_confine_input(&c, argv[i]);
	mpack_memory_begin();
	mpk_confine(&c, NULL);
	mpk_progress_all_begin("reading", 0, 0);
	status = init(argv + first, (size_t)(argc - first));
	mpk_progress_all_end();
	return status;
}

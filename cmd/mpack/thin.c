/* SPDX-License-Identifier: Apache-2.0 */
/* mpack thin writes a library or a wheel with less GPU code. It needs no CUDA toolkit and executes
 * nothing: one process in a sandbox parses the input and writes the output. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "common/print.h"
#include "io/digest.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/path.h"
#include "mpack/mpack.h"
#include "text/escape.h"
#include "thin/thin.h"
#include "toolchain/toolchain.h"
#include "zip/zip.h"

static const char *output;
static bool drop_debug, drop_relocatable, compress, allow_missing, durable, force;
static struct mpk_option_list keep, devices;

static const struct mpk_option options[] = {
	{ 'o', "output", MPK_OPT_TEXT, "OUT",
	  "write OUT, of the same sort as the input, or into a folder", .target = &output,
	  .path = MPK_WRITES_FILE },
	{ 0, "keep", MPK_OPT_LIST, "ARCH[,ARCH]...",
	  "architectures to keep: sm_90, compute_80, gfx90a", .target = &keep },
	{ 0, "device-arch", MPK_OPT_LIST, "ARCH[,ARCH]...",
	  "devices for which to keep what a driver takes", .target = &devices },
	{ 0, "drop-debug", MPK_OPT_FLAG, NULL, "drop line tables and debug sections of cubins",
	  .target = &drop_debug },
	{ 0, "drop-relocatable", MPK_OPT_FLAG, NULL,
	  "drop device code that is input of a linker (__nv_relfatbin)",
	  .target = &drop_relocatable },
	{ 0, "compress", MPK_OPT_FLAG, NULL, "pack stored images with zstd (CUDA 12.4 and later)",
	  .target = &compress },
	{ 0, "allow-missing", MPK_OPT_FLAG, NULL,
	  "write it even if kernels lose their code for a kept architecture",
	  .target = &allow_missing },
	{ 0, "force", MPK_OPT_FLAG, NULL, "overwrite what mpack did not write", .target = &force,
	  .path = MPK_WRITES_FORCE },
	{ 0, "fsync", MPK_OPT_FLAG, NULL, "return when the output is on the disk",
	  .target = &durable },
	{ 0 },
};

static const struct mpk_command command = {
	.name = "thin",
	.usage = "mpack thin LIB|WHEEL -o OUT --keep ARCH...|--device-arch ARCH...",
	.summary = "Take GPU code of other architectures out of a library or wheel.",
	.examples =
		"  mpack thin libnccl.so.2 -o thin/libnccl.so.2 --keep sm_90 --drop-relocatable\n"
		"  mpack thin app.whl -o thin/app.whl --keep sm_80,sm_90,compute_90\n"
		"  mpack thin app.whl -o thin --device-arch sm_90\n"
		"  minspect size thin/libnccl.so.2\n",
	.options = options,
};

struct thinning {
	struct mpk_arena arena;
	struct mpk_mapping file;
	struct mpk_thin_options o;
	struct mpk_thin_report report;
	struct mpk_span *words; /* malloc'ed */
	size_t count, cap;
};

/* --- options ------------------------------------------------------------------------------- */

/* "--keep a,b --keep c" is a list of three. */
static enum mpk_code read_words(struct thinning *t, const char *option,
				const struct mpk_option_list *list, struct mpk_error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *at = list->items[i].value, *end;

		for (;; at = end + 1) {
			end = strchrnul(at, ',');

			struct mpk_span word = mpk_span_of(at, (size_t)(end - at));

			MPK_TRY(mpk_thin_check_word(option, word, err));
			MPK_TRY_ALLOC(MPK_VEC_ROOM(t->words, t->count, t->cap), err);
			t->words[t->count++] = word;
			if (!*end)
				break;
		}
	}
	return MPK_OK;
}

/* Checks that every word of --keep was found in the file. */
static enum mpk_code check_used(const struct thinning *t, struct mpk_error *err)
{
	const struct mpk_thin_options *o = &t->o;
	const struct mpk_thin_report *r = &t->report;
	struct mpk_span there = mpk_span_str(mpk_strbuf_text(&r->present));
	char names[512];

	for (size_t i = 0; i < o->keep_count && i < MPK_THIN_USED_WORDS && !o->allow_missing; i++) {
		if (r->keep_used >> i & 1)
			continue;
		if (!there.len)
			return mpk_fail(err, MPK_E_USAGE, "there is no device code in it");
		if (i < o->device_count)
			return mpk_fail(err, MPK_E_USAGE,
					"there is no image that %s runs; there are those for%s",
					MPK_QUOTE(o->keep[i]),
					mpk_escape_to(mpk_span_of(there.data, there.len - 1), names,
						      sizeof names));
		return mpk_fail(
			err, MPK_E_USAGE, "there is no image for %s; there are those for%s",
			MPK_QUOTE(o->keep[i]),
			mpk_escape_to(mpk_span_of(there.data, there.len - 1), names, sizeof names));
	}
	return MPK_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Reads the output again as input of the same command: nothing more may be removable. */
static enum mpk_code confirm(const struct thinning *t, const struct mpk_output *o,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	MPK_TRY(mpk_confirm_output(o, NULL, err));
	if (mpk_output_is_through(o))
		return MPK_OK;
	MPK_TRY(mpk_mapping_of_fd(mpk_output_fd(o), "output", &map, err));
	return mpk_thin_confirm(map.bytes, &t->o, err);
}

static enum mpk_code confirm_wheel(const struct thinning *t, const struct mpk_output *o,
				   const struct mpk_thin_scratch *scratch, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	if (mpk_output_is_through(o))
		return MPK_OK;
	MPK_TRY(mpk_mapping_of_fd(mpk_output_fd(o), "output", &map, err));
	return mpk_thin_confirm_wheel(&t->file, &map, scratch, &t->o, err);
}

static enum mpk_code write_library(struct thinning *t, struct mpk_error *err)
{
	struct mpk_rope rope = mpk_rope_of(&t->arena);
	struct mpk_output *o = NULL;
	enum mpk_code code;

	MPK_TRY(mpk_thin_library(t->file.bytes, &t->o, &t->arena, &rope, &t->report, err));
	MPK_TRY(check_used(t, err));
	mpk_mapping_use_file(&t->file, &rope);
	MPK_TRY(mpk_output_open(output, t->report.is_input ? 0666 : 0777, &o, err));
	mpk_progress_begin("writing", rope.len);
	code = mpk_output_write_rope(o, &rope, NULL, err);
	mpk_progress_end();
	if (code == MPK_OK)
		code = confirm(t, o, err);
	return mpk_output_finish(o, code, err);
}

/* Creates unnamed files next to the output; an output is unnamed until it is finished, but these
 * stay so. */
static enum mpk_code write_wheel(struct thinning *t, struct mpk_error *err)
{
	struct mpk_output *plain = NULL, *packed = NULL, *o = NULL;
	struct mpk_rope rope = mpk_rope_of(&t->arena);
	struct mpk_thin_scratch scratch;
	enum mpk_code code = mpk_output_open(output, 0600, &plain, err);

	if (code == MPK_OK && mpk_output_is_through(plain))
		code = mpk_fail(err, MPK_E_UNSUPPORTED,
				"a wheel does not go into a pipe or a device");
	if (code == MPK_OK)
		code = mpk_output_open(output, 0600, &packed, err);
	if (code == MPK_OK) {
		scratch = (struct mpk_thin_scratch){ mpk_output_fd(plain), mpk_output_fd(packed) };
		code = mpk_thin_wheel(&t->file, &scratch, &t->o, &t->arena, &rope, &t->report, err);
	}
	if (code == MPK_OK)
		code = check_used(t, err);
	if (code == MPK_OK) {
		mpk_mapping_use_file(&t->file, &rope);
		code = mpk_output_open(output, 0666, &o, err);
	}
	if (code == MPK_OK) {
		code = mpk_output_write_rope(o, &rope, NULL, err);
		if (code == MPK_OK)
			code = confirm_wheel(t, o, &scratch, err);
		code = mpk_output_finish(o, code, err);
	}
	mpk_output_abandon(packed);
	mpk_output_abandon(plain);
	return code;
}

/* Whether a name is one for a library: a wheel must not have it, since it could not be loaded. */
static bool names_library(const char *path)
{
	const char *dot = strrchr(mpk_path_name(path), '.');

	return dot && (strcmp(dot, ".so") == 0 || strcmp(dot, ".o") == 0 || strcmp(dot, ".a") == 0);
}

static enum mpk_code thin_run(struct thinning *t, const char *path, struct mpk_error *err)
{
	t->o.drop_debug = drop_debug;
	t->o.drop_relocatable = drop_relocatable;
	t->o.compress = compress;
	t->o.allow_missing = allow_missing;

	/* Devices first. */
	MPK_TRY(read_words(t, "--device-arch", &devices, err));
	t->o.device_count = t->count;
	MPK_TRY(read_words(t, "--keep", &keep, err));
	t->o.keep = t->words;
	t->o.keep_count = t->count;

	MPK_TRY(mpk_mapping_open(path, &t->file, err));

	if (mpk_zip_is(t->file.bytes) && names_library(output)) {
		(void)mpk_fail(err, MPK_E_USAGE,
			       "'%s' is an archive, and so is what is left of it: name the output "
			       "as one, or a folder, not '%s'; one library of it: unzip it first",
			       MPK_QUOTE(mpk_span_str(path)), MPK_QUOTE(mpk_span_str(output)));
		return MPK_E_USAGE;
	}

	enum mpk_code code = (mpk_zip_is(t->file.bytes) ? write_wheel : write_library)(t, err);

	if (code != MPK_OK && code != MPK_E_USAGE)
		mpk_error_at_file(err, path);
	return code;
}

static int thin(const char *path)
{
	struct thinning t = { .file = { .fd = -1 } };
	struct mpk_error err = { 0 };
	enum mpk_code code;

	mpk_progress_all_begin("thinning", 0, 0);
	code = thin_run(&t, path, &err);
	mpk_progress_all_end();
	int status = code == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);

	if (status == MPK_EXIT_OK)
		mpk_diag_note("%s: %zu of %zu images in %zu containers taken out, %" PRIu64
			      " bytes",
			      MPK_QUOTE(mpk_span_str(path)), t.report.dropped, t.report.images,
			      t.report.containers, t.report.dropped_bytes);
	if (status == MPK_EXIT_OK && t.report.left)
		mpk_diag_warn(
			"%s: images of other devices stay, as no table was found that registers them with SYCL's runtime: %zu sections",
			MPK_QUOTE(mpk_span_str(path)), t.report.left);
	if (status == MPK_EXIT_OK && t.report.found)
		mpk_diag_warn(
			"%s: GPU code for other devices stays where it is embedded among other data, as host code may have its size and its end: %zu container%s",
			MPK_QUOTE(mpk_span_str(path)), t.report.found,
			t.report.found == 1 ? "" : "s");
	if (status == MPK_EXIT_OK && t.report.had_origin)
		mpk_diag_warn(
			"%s: its signature and provenance told of the file before, and were taken out; 'mpack sign' signs it anew",
			MPK_QUOTE(mpk_span_str(path)));
	if (status == MPK_EXIT_OK && t.report.had_record_signature)
		mpk_diag_warn("%s: its RECORD was signed; the signature was taken out",
			      MPK_QUOTE(mpk_span_str(path)));
	if (status == MPK_EXIT_OK)
		mpk_closing_line(output, t.file.bytes.len, "; %zu images kept, %zu taken out",
				 t.report.images - t.report.dropped, t.report.dropped);
	mpk_mapping_close(&t.file);
	mpk_strbuf_fini(&t.report.present);
	mpk_arena_fini(&t.arena);
	free(t.words);
	return status;
}

/* For "-o folder", the file keeps its name, as a wheel must. Checks again whether a file there may
 * be replaced. */
static int name_in_folder(char *const *operands, char **joined)
{
	size_t len = strlen(output);
	const char *between = len && output[len - 1] == '/' ? "" : "/";
	struct mpk_error err = { 0 };
	struct stat st;

	if (stat(output, &st) != 0 || !S_ISDIR(st.st_mode))
		return MPK_EXIT_OK;
	if (asprintf(joined, "%s%s%s", output, between, mpk_path_name(operands[0])) < 0) {
		*joined = NULL;
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	}
	output = *joined;
	return mpk_outputs_check(options, operands, 1);
}

int mpack_thin(int argc, char **argv)
{
	int first, status;
	char *joined = NULL;

	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (argc - first != 1)
		status = mpk_diag_usage("thin takes one file, not %d", argc - first);
	else if (!output)
		status = mpk_diag_usage("no output given: name it with -o");
	else if (!keep.count && !devices.count && !drop_debug && !drop_relocatable && !compress)
		status = mpk_diag_usage(
			"nothing to take out: name the architectures to keep with --keep, or the devices with --device-arch");
	if (status == MPK_EXIT_OK)
		status = name_in_folder(argv + first, &joined);
	if (status == MPK_EXIT_OK) {
		if (durable)
			mpk_output_make_durable();
		mpk_digest_prepare(MPK_DIGEST_SHA256); /* only needed for wheels */
		mpack_memory_begin();
		mpk_confine_to(argv[first], options);
		status = thin(argv[first]);
	}
	mpk_options_fini(&command);
	free(joined);
	return status;
}

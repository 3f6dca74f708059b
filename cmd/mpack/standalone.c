/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - mpack build --standalone: a library that contains its executor
 *
 * A finished library is embedded unchanged. From a manifest, a library is built first; objects and
 * archives are linked to one. Both happen in a child process, because a process that has built
 * cannot start programs any more; its output is in a folder that is removed when this process ends.
 * The objects of such a library are available, so they are linked in, and no library has to be
 * opened from memory.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ar/ar.h"
#include "common/diag.h"
#include "common/find.h"
#include "common/options.h"
#include "deflate/deflate.h"
#include "elf/image.h"
#include "io/output.h"
#include "io/path.h"
#include "mpack/build.h"
#include "process/process.h"
#include "tar/tar.h"
#include "toolchain/toolchain.h"

/* --- the library that is carried ---------------------------------------------------------------- */

struct first_step {
	struct mpk_build_options *o;
	const char *input, *library, *objects;
	bool links; /* link objects; else build a manifest */
};

/* Options about the whole output apply to the containing library, not to this one. */
static enum mpk_code make_library(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct first_step *s = data;
	int status;

	(void)self;
	if (s->links) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
		struct mpk_loadable linked = { 0 };
		struct mpk_mapping file = { 0 }, made = { 0 };
		struct mpk_image image;
		struct mpk_loadable_options how = { .path = s->input,
						    .image = &image,
						    .objects = s->objects };
		const char *tmp = getenv("TMPDIR");
		enum mpk_code code;

		how.tmpdir = tmp && *tmp ? tmp : "/tmp";
		how.llvm = mpk_libexec_find(&arena, "mpack/llvm.so");
		MPK_TRY_ALLOC(how.llvm, err);
		MPK_TRY(mpk_compiler_find(&arena, s->o->cc, s->o->cxx, &how.cc, &how.cxx, err));
		MPK_TRY(mpk_tvm_headers_find(&arena, &how.headers, err));
		MPK_TRY(mpk_mapping_open(s->input, &file, err));
		code = mpk_image_open(file.bytes, NULL, &arena, &image, err);
		if (code == MPK_OK)
			code = mpk_image_check_single(&image, err);
		if (code == MPK_OK)
			code = mpk_loadable_link(&how, &linked, err);
		if (code == MPK_OK)
			code = mpk_mapping_open(linked.path, &made, err);
		if (code == MPK_OK)
			code = mpk_output_store(s->library, made.bytes, err);
		mpk_mapping_close(&made);
		mpk_loadable_close(&linked);
		mpk_mapping_close(&file);
		if (code != MPK_OK)
			mpk_error_at_file(err, s->input);
		return code;
	}
	s->o->output = s->library;
	s->o->keep = s->objects;
	s->o->sign = s->o->save_temps = s->o->compress = NULL;
	s->o->standalone = s->o->provenance = s->o->fsync = false;
	s->o->plain = true;
	status = mpk_build_run(s->o, MPK_EMIT_SO, s->input, NULL, NULL);
	(void)fflush(NULL);
	_exit(status);
}

static int run_first(struct first_step *s)
{
	struct mpk_process first = { .run = make_library, .data = s, .in_foreground = true };
	struct mpk_process_end end;
	struct mpk_error err = { 0 };

	if (mpk_process_run(&first, 1, 1, &end, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (end.how == MPK_PROCESS_QUIT)
		return end.status;
	if (end.how == MPK_PROCESS_RETURNED)
		return end.error.code == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&end.error);
	(void)mpk_fail(&err, MPK_E_INTERNAL, "the process that makes the library was ended");
	return mpk_diag_error(&err);
}

/* --- both steps ----------------------------------------------------------------------------------- */

static enum mpk_code plan_first(struct mpk_scratch *scratch, struct mpk_arena *arena,
				const char *name, struct first_step *s, struct mpk_error *err)
{
	const char *tmp = getenv("TMPDIR"), *base = mpk_path_name(name ? name : s->input);
	const char *dot = name ? NULL : strchr(base, '.');

	MPK_TRY(mpk_scratch_open(tmp && *tmp ? tmp : "/tmp", NULL, scratch, err));
	base = mpk_arena_printf(arena, "%.*s.so",
				dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
	s->library = base ? mpk_scratch_file(scratch, arena, base) : NULL;
	s->objects = mpk_scratch_file(scratch, arena, "objects");
	MPK_TRY_ALLOC(s->library && s->objects, err);
	if (mkdir(s->objects, 0700) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make '%s'", s->objects);
	return MPK_OK;
}

static int in_two_steps(struct mpk_build_options *o, const char *input, const char *name,
			bool links)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_scratch_close) struct mpk_scratch scratch = { 0 };
	struct first_step s = { .o = o, .input = input, .links = links };
	struct mpk_error err = { 0 };
	const char *made = o->output;
	bool is_named = !made;
	int status;

	if (o->provenance)
		return mpk_diag_usage(
			"--provenance tells of one build: build the library with it, then carry that");
	if (plan_first(&scratch, &arena, name, &s, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (!made)
		made = mpk_arena_text(&arena, mpk_span_str(mpk_path_name(s.library)));
	if (!made || (o->dry_run && !(o->output = made)))
		return mpk_diag_error(
			&(struct mpk_error){ .code = MPK_E_NOMEM, .text = "out of memory" });
	o->output = made;
	o->depfile_of = made;
	if (links && o->depfile &&
	    mpk_depfile_write(o->depfile, made, &(struct mpk_words){ &input, 1 }, NULL, &err) !=
		    MPK_OK)
		return mpk_diag_error(&err);
	status = run_first(&s);
	if (status != MPK_EXIT_OK || o->dry_run)
		return status;
	o->says_output = is_named;
	o->depfile = NULL; /* The first step wrote it. */
	o->objects = s.objects;
	return mpk_build_run(o, MPK_EMIT_SO, s.library, mpk_version_number(), NULL);
}

/* The first bytes of a file, not its name, tell whether it is a finished library. */
static enum mpk_code look_at(const char *input, bool *is_library, bool *is_linked,
			     struct mpk_error *err)
{
	struct mpk_mapping map = { 0 };

	*is_library = *is_linked = false;
	if (strcmp(input, "-") == 0)
		return MPK_OK; /* a manifest */
	MPK_TRY(mpk_mapping_open(input, &map, err));
	if (map.bytes.len > 18 && mpk_span_starts(map.bytes, ELFMAG)) {
		bool big = map.bytes.data[EI_DATA] == ELFDATA2MSB;
		unsigned type = map.bytes.data[big ? 17 : 16];

		*is_library = type != ET_REL;
		*is_linked = type == ET_REL;
	} else {
		*is_linked =
			mpk_ar_is(map.bytes) || mpk_tar_is(map.bytes) || mpk_gzip_is(map.bytes);
	}
	mpk_mapping_close(&map);
	return MPK_OK;
}

int mpk_build_carrying(struct mpk_build_options *o, const char *input, const char *name)
{
	return in_two_steps(o, input, name, false);
}

int mpk_build_standalone(struct mpk_build_options *o, const char *input)
{
	struct mpk_error err = { 0 };
	bool is_library, is_linked;
	char *name = NULL;
	int status;

	if (look_at(input, &is_library, &is_linked, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (is_library)
		return mpk_build_run(o, MPK_EMIT_SO, input, mpk_version_number(), NULL);
	if (is_linked || o->output)
		return in_two_steps(o, input, NULL, is_linked);
	if (strcmp(input, "-") == 0)
		return mpk_diag_usage(
			"a manifest on standard input is read once: name the output with -o");
	/* The output is named after the package, so the manifest is read for the name first. */
	status = mpk_build_run(o, MPK_EMIT_SO, input, NULL, &name);
	if (status == MPK_EXIT_OK && name)
		status = in_two_steps(o, input, name, false);
	free(name);
	return status;
}

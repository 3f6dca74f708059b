/* SPDX-License-Identifier: Apache-2.0 */
/* carry.c - mpack build --standalone: a library that carries its executor
 *
 * A finished library is carried as it is. A manifest is built to a library first, objects and archives are linked to
 * one, in a process of its own, because a process that has built can start no program any more; what it
 * makes lies in a folder that goes with us. Of such a library the objects are at hand: they are linked in, so that
 * nothing of it has to be opened from memory.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ar/ar.h"
#include "base/cursor.h"
#include "common/diag.h"
#include "common/find.h"
#include "common/options.h"
#include "deflate/deflate.h"
#include "elf/image.h"
#include "io/output.h"
#include "io/path.h"
#include "mpack/build.h"
#include "mpack/mpack.h"
#include "process/process.h"
#include "tar/tar.h"
#include "text/escape.h"
#include "toolchain/loadable.h"
#include "toolchain/toolchain.h"

/* --- the archive -------------------------------------------------------------------------------- */

/* What the run library needs, and what keeps the new library to itself: its own functions are called by itself
 * whatever others export, and results may outlive the handle of a caller. */
static const char *const link_flags[] = {
	"-Wl,-Bsymbolic", "-Wl,--gc-sections", "-Wl,-z,nodelete", "-lm", "-ldl", "-pthread",
};

const char *mpk_build_archive(struct mpk_arena *arena, const struct mpk_target *target)
{
	const char *name = target->is_native ? "mpack/libmpkrun-pic.a"
					     : mpk_arena_printf(arena, "mpack/%s/libmpkrun-pic.a",
								target->triple);

	return name ? mpk_libexec_find(arena, name) : NULL;
}

/* Object number i of what is carried; NULL: there are no more. */
static const char *find_object(struct mpk_arena *arena, const char *folder, size_t i,
			       enum mpk_source_kind *kind)
{
	static const enum mpk_source_kind kinds[] = { MPK_SOURCE_OBJECT, MPK_SOURCE_ARCHIVE };

	for (size_t k = 0; k < MPK_ARRAY_COUNT(kinds); k++) {
		const char *path = mpk_arena_printf(arena, "%s/%zu.%c", folder, i, "oa"[k]);

		*kind = kinds[k];
		if (path && access(path, R_OK) == 0)
			return path;
	}
	return NULL;
}

static size_t count_objects(struct mpk_arena *arena, const char *folder)
{
	enum mpk_source_kind ignored;
	size_t count = 0;

	while (folder && find_object(arena, folder, count, &ignored))
		count++;
	return count;
}

/* Its archive, so that nothing but libc and libm is needed where the library runs. */
static const char *const packed_flags[] = { "-l:libzstd.a", "-Wl,--exclude-libs,libzstd.a" };

static void say_unlinked(const struct mpk_emit *e, struct mpk_arena *arena, const char *why)
{
	const char *text = mpk_arena_printf(
		arena,
		"the host code is carried, to be opened by way of /proc, and not linked in: %s",
		MPK_QUOTE(mpk_span_str(why)));

	if (text)
		e->tools.hooks->note(e->tools.hooks->data, text);
}

enum mpk_code mpk_build_add_executor(const struct mpk_build_options *o,
				     const struct mpk_handover *parts, struct mpk_arena *arena,
				     struct mpk_emit *e, struct mpk_error *err)
{
	size_t objects = parts->unlinked ? 0 : count_objects(arena, o->objects);
	struct mpk_compile_source *sources =
		mpk_arena_array(arena, e->source_count + objects + 1, sizeof *sources);
	const char *archive = mpk_build_archive(arena, &e->tools.target);
	struct mpk_argv flags = { .arena = arena };

	MPK_TRY_ALLOC(sources && archive, err);
	if (parts->unlinked)
		say_unlinked(e, arena, parts->unlinked);
	if (parts->packing)
		mpk_diag_warn("%s", parts->packing);
	e->tools.links_cxx = objects && parts->needs_cxx;
	if (access(archive, R_OK) != 0)
		return mpk_fail(
			err, MPK_E_LOAD,
			"there is no run library for %s: '%s' is missing; 'make run-for TARGET=%s' builds it",
			e->tools.target.triple, archive, e->tools.target.triple);
	for (size_t i = 0; i < e->source_count; i++)
		sources[i] = e->sources[i];
	for (size_t i = 0; i < objects; i++) {
		struct mpk_compile_source *s = &sources[e->source_count++];

		s->path = find_object(arena, o->objects, i, &s->kind);
		MPK_TRY_ALLOC(s->path, err);
	}
	sources[e->source_count++] =
		(struct mpk_compile_source){ .path = archive, .kind = MPK_SOURCE_ARCHIVE };
	e->sources = sources;
	e->align = 64; /* tensors are aligned to it, counted from the beginning */
	mpk_argv_add_all(&flags, &e->tools.ldflags);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(link_flags); i++)
		mpk_argv_add(&flags, link_flags[i]);
	for (size_t i = 0; parts->is_packed && i < MPK_ARRAY_COUNT(packed_flags); i++)
		mpk_argv_add(&flags, packed_flags[i]);
	e->tools.ldflags = (struct mpk_words){ flags.items, flags.count };
	return flags.failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- the library that is carried ---------------------------------------------------------------- */

struct first_step {
	struct mpk_build_options *o;
	const char *input, *library, *objects;
	bool links; /* objects; else a manifest is built */
};

static enum mpk_code link_objects(const struct first_step *s, struct mpk_error *err)
{
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

/* What is asked for of the whole is done to the library that carries. */
static enum mpk_code make_library(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct first_step *s = data;
	int status;

	(void)self;
	if (s->links)
		return link_objects(s, err);
	s->o->output = s->library;
	s->o->keep = s->objects;
	s->o->sign = s->o->save_temps = s->o->compress = NULL;
	s->o->standalone = s->o->provenance = s->o->fsync = false;
	s->o->plain = true;
	status = mpk_build_run(MPK_EMIT_SO, s->input, NULL);
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
	if (links && o->depfile && mpk_depfile_write(o->depfile, made, &input, 1, &err) != MPK_OK)
		return mpk_diag_error(&err);
	status = run_first(&s);
	if (status != MPK_EXIT_OK || o->dry_run)
		return status;
	o->depfile = NULL; /* what was read, the first step told */
	o->objects = count_objects(&arena, s.objects) ? s.objects : NULL;
	return mpk_build_run(MPK_EMIT_SO, s.library, mpk_version_number());
}

/* How a file begins says whether it is finished: not its name. */
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

int mpk_build_carried(struct mpk_build_options *o, const char *input, const char *name)
{
	struct mpk_error err = { 0 };
	bool is_library, is_linked;

	if (look_at(input, &is_library, &is_linked, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return is_library ? mpk_build_run(MPK_EMIT_SO, input, mpk_version_number())
			  : in_two_steps(o, input, name, is_linked);
}

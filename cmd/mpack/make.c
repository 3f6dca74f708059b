/* SPDX-License-Identifier: Apache-2.0 */
/* make.c - one build of mpack, from the input to the output
 *
 * A confined process reads the input (reader.c). Then compilers and linkers run, unconfined.
 * When the last has ended, this process enters the sandbox. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/num.h"
#include "common/diag.h"
#include "common/files.h"
#include "common/find.h"
#include "common/options.h"
#include "common/print.h"
#include "common/signals.h"
#include "elf/image.h"
#include "io/output.h"
#include "io/path.h"
#include "mpack/build.h"
#include "mpack/mpack.h"
#include "process/process.h"
#include "standalone/standalone.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "toolchain/toolchain.h"

/* --- Warns of a package whose parts are all valid but of which nothing can be called. */

/* Reading a pipe would take data from its other reader. */
static enum mpk_code open_output(const struct mpk_emit *e, struct mpk_mapping *map)
{
	struct stat st;

	return stat(e->out, &st) == 0 && S_ISREG(st.st_mode) ? mpk_mapping_open(e->out, map, NULL)
							     : MPK_E_IO;
}

/* Examines the library that the linker made of the sources. */
static void look_at_code(const struct mpk_emit *e)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	if (open_output(e, &map) != MPK_OK)
		return;
	mpk_emit_judge(e, map.bytes, &why);
	if (why.len)
		mpk_diag_warn("%s: %s", e->out, mpk_strbuf_text(&why));
}

static bool leads_nowhere(const struct mpk_image *image, const char *entry)
{
	for (size_t i = 0; i < image->function_count; i++)
		if (strcmp(image->functions[i].name, entry) == 0)
			return false;
	return true;
}

/* Warns of parts of a package that cannot be called: host code without a
 * function in the calling convention, host code that this output does not contain, or all of it
 * @e       the output that was written or, in a dry run, would be */
static void warn_uncallable(const struct mpk_input *in, const struct mpk_emit *e)
{
	/* An object holds only the blob; C source and a bare blob have no host code. */
	bool whole = e->kind == MPK_EMIT_SO || e->kind == MPK_EMIT_A || e->kind == MPK_EMIT_TAR;
	const struct mpk_request *parts = &in->parts;

	if (whole && !e->tools.dry_run && parts->entry) {
		MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
		const char *entry = in->parts.entry;
		struct mpk_image image;

		if (open_output(e, &map) == MPK_OK &&
		    mpk_image_open(map.bytes, NULL, &arena, &image, NULL) == MPK_OK &&
		    leads_nowhere(&image, entry))
			mpk_diag_warn(
				"%s: the host code exports no function '%s' for the entry to be",
				e->out, entry);
	}
	if (e->kind == MPK_EMIT_SO && parts->has_host && !parts->source_count && !parts->base)
		mpk_diag_warn(
			"%s: there are no host sources: the library gets no code but what --ldflag names",
			e->out);
	else if (e->kind == MPK_EMIT_OBJ && e->source_count)
		mpk_diag_warn(
			"%s: an object holds the blob alone: the host code of %zu source%s is not in it; build a .a or .tar, or link it yourself",
			e->out, e->source_count, e->source_count == 1 ? "" : "s");
	else if (whole && parts->has_sources && !e->tools.dry_run)
		look_at_code(e);
	else if (!parts->is_blob && !parts->base && !e->source_count && !parts->has_callable)
		mpk_diag_warn("%s: nothing in this package can be called", e->out);
}

/* --- the output's name ----------------------------------------------------------- */

/* Without -o, the output has the package's name, in the current folder. */
static enum mpk_code choose_output(const struct mpk_build_options *o, struct mpk_input *in,
				   enum mpk_emit_kind kind, const char **out, struct mpk_error *err)
{
	const char *path = o->output;

	if (!path) {
		path = mpk_arena_printf(&in->arena, "%s%s", in->parts.name,
					mpk_emit_name(kind)->suffix);
		MPK_TRY_ALLOC(path, err);
	}
	*out = path;
	return MPK_OK;
}

static enum mpk_code list_args(struct mpk_arena *arena, const struct mpk_option_list *list,
			       struct mpk_words *out, struct mpk_error *err)
{
	struct mpk_argv v = { .arena = arena };

	for (size_t i = 0; i < list->count; i++)
		mpk_argv_add(&v, list->items[i].value);
	*out = (struct mpk_words){ v.items, v.count };
	return v.failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- telling what happens -------------------------------------------------------- */

static enum mpk_stream command_stream(const struct mpk_build_options *o)
{
	return o->dry_run ? MPK_STDOUT : MPK_STDERR;
}

/* A name may contain a line end, and this output is pasted into shells. */
static void print_line(enum mpk_stream stream, const char *before, const char *name,
		       const char *after)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_escape(&text, mpk_span_str(name));
	(void)mpk_print(stream, "%s%s%s\n", before, mpk_strbuf_text(&text), after);
}

static void on_command(void *data, const char *const *argv)
{
	const struct mpk_build_options *o = data;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };

	if (!o->dry_run && !o->print_commands && mpk_common.verbose < 2)
		return;
	for (size_t i = 0; argv[i]; i++) {
		mpk_strbuf_puts(&line, i ? " " : "");
		mpk_shell_quote(&line, mpk_span_str(argv[i]));
	}
	(void)mpk_print(command_stream(o), "%s\n", mpk_strbuf_text(&line));
}

static void on_step(void *data, const char *text)
{
	const struct mpk_build_options *o = data;

	if (o->dry_run || o->print_commands || mpk_common.verbose > 1)
		print_line(command_stream(o), "# ", text, "");
}

static void on_note(void *data, const char *text)
{
	(void)data;
	mpk_diag_note("%s", text);
}

/* --- signals --------------------------------------------------------------------- */

/* A cleanup process removes the scratch folder. What remains are temporary names of outputs, and
 * the tools, which do not receive a terminal's signals. */
static void on_signal(int sig)
{
	mpk_process_signal_all(SIGTERM);
	mpk_output_abandon_all();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

/* --- the run library that is linked in ------------------------------------------------ */

/* Linker flags for the run library, which also isolate the new library: it calls its own functions
 * whatever others export, and results may outlive the caller's handle. */
static const char *const link_flags[] = {
	"-Wl,-Bsymbolic", "-Wl,--gc-sections", "-Wl,-z,nodelete", "-lm", "-ldl", "-pthread",
};

/* Returns the path of the run library's archive with the code that a model needs; NULL if memory is
 * out. */
static const char *archive_of(struct mpk_arena *arena, const struct mpk_target *target,
			      const struct mpk_request *parts)
{
	const char *name = mpk_arena_printf(
		arena, "mpack/%s%slibmpkrun%s%s-pic.a", target->is_native ? "" : target->triple,
		target->is_native ? "" : "/", parts->is_cpu ? "-cpu" : "",
		parts->has_state ? "-state" : "");

	return name ? mpk_libexec_find(arena, name) : NULL;
}

/* Returns object number i of the embedded library; NULL if there are no more. */
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

/* Links the static archive, so that the library needs only libc and libm at run time. */
static const char *const packed_flags[] = { "-l:libzstd.a", "-Wl,--exclude-libs,libzstd.a" };

/* Adds to a library that contains a model: the archive, the objects of the embedded library if they
 * are linked in, and linker flags. */
static enum mpk_code add_executor(const struct mpk_build_options *o,
				  const struct mpk_request *parts, struct mpk_arena *arena,
				  struct mpk_emit *e, struct mpk_error *err)
{
	size_t objects = parts->unlinked ? 0 : count_objects(arena, o->objects);
	struct mpk_compile_source *sources =
		mpk_arena_array(arena, e->source_count + objects + 1, sizeof *sources);
	const char *archive = archive_of(arena, &e->tools.target, parts);
	struct mpk_argv flags = { .arena = arena };

	MPK_TRY_ALLOC(sources && archive, err);
	if (parts->unlinked) {
		const char *why = parts->unlinked;
		const char *text = mpk_arena_printf(
			arena,
			"the host code is carried, to be opened by way of /proc, and not linked in: %s",
			MPK_QUOTE(mpk_span_str(why)));

		if (text)
			e->tools.hooks->note(e->tools.hooks->data, text);
	}
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
	e->align = 64; /* tensors are aligned to it, relative to the beginning */
	mpk_argv_add_all(&flags, &e->tools.ldflags);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(link_flags); i++)
		mpk_argv_add(&flags, link_flags[i]);
	for (size_t i = 0; parts->is_packed && i < MPK_ARRAY_COUNT(packed_flags); i++)
		mpk_argv_add(&flags, packed_flags[i]);
	e->tools.ldflags = (struct mpk_words){ flags.items, flags.count };
	return flags.failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- the build ------------------------------------------------------------------- */

static bool needs_compiler(const struct mpk_emit *e)
{
	bool compiles = e->kind == MPK_EMIT_SO ||
			(e->via_c && e->kind != MPK_EMIT_C && e->kind != MPK_EMIT_BLOB);
	for (size_t i = 0; i < e->source_count && e->kind != MPK_EMIT_OBJ; i++)
		compiles = compiles || e->sources[i].kind == MPK_SOURCE_C ||
			   e->sources[i].kind == MPK_SOURCE_CXX;
	return compiles;
}

/* Returns the real path of a folder, in the arena; NULL if it does not exist or memory is out. */
static const char *real_folder(struct mpk_arena *arena, const char *folder)
{
	char *path = realpath(*folder ? folder : ".", NULL);
	const char *copy = path ? mpk_arena_text(arena, mpk_span_str(path)) : NULL;

	free(path);
	return copy;
}

/* Without the LLVM plug-in, which is a separate package, code must be generated as C. */
static bool is_via_c(const struct mpk_build_options *o)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const char *plug_in;

	if (o->via || !*mpk_version_llvm())
		return !o->via || strcmp(o->via, "c") == 0;
	plug_in = mpk_libexec_find(&arena, "mpack/llvm.so");
	return plug_in && access(plug_in, R_OK) != 0;
}

static int count_jobs(const struct mpk_build_options *o, unsigned *out)
{
	uint64_t n = 0;
	cpu_set_t set;

	if (o->jobs && (!mpk_parse_u64(mpk_span_str(o->jobs), &n) || n == 0 || n > 1024))
		return mpk_diag_usage("--jobs takes a number from 1 to 1024, not '%s'", o->jobs);
	if (!o->jobs)
		n = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint64_t)CPU_COUNT(&set) : 1;
	*out = (unsigned)n;
	return MPK_EXIT_OK;
}

static enum mpk_code fill_emit(const struct mpk_build_options *o, struct mpk_input *in,
			       struct mpk_emit *e, struct mpk_error *err)
{
	const struct mpk_request *parts = &in->parts;
	const char *tmp = getenv("TMPDIR");

	/* Compilers replace it in the output. */
	e->tools.cwd = real_folder(&in->arena, ".");
	MPK_TRY(choose_output(o, in, e->kind, &e->out, err));
	MPK_TRY(mpk_output_check_path(e->out, err));
	/* checked here, since a later error would name a temporary file */
	if (parts->has_blob && mpk_account_may_write(parts->blob.len, err) != MPK_OK) {
		mpk_error_at_file(err, e->out);
		return MPK_E_UNSUPPORTED;
	}
	e->name = parts->name;
	e->tools.target = mpk_target_parse(o->target ? o->target : parts->target);
	e->gen = parts->gen;
	e->blob = parts->has_blob ? &parts->blob : NULL;
	e->base = parts->base;
	e->symbol = parts->symbol;
	e->sources = parts->sources;
	e->source_count = parts->source_count;
	e->called = parts->called;
	e->called_count = parts->called_count;
	e->manifest = parts->files.items[0];
	e->via_c = is_via_c(o);
	e->page_align = o->page_align;
	e->allow_empty = o->allow_empty;
	e->system_lib = o->system_lib;
	e->prefix = o->prefix ? o->prefix : "";
	e->tools.dir = parts->is_blob ? NULL : real_folder(&in->arena, parts->dir_named);
	e->tools.dir_named = parts->dir_named;
	e->tools.llvm = mpk_libexec_find(&in->arena, "mpack/llvm.so");
	MPK_TRY_ALLOC(e->tools.llvm, err);
	e->tmpdir = tmp && *tmp ? tmp : "/tmp";
	e->save_temps = o->save_temps;
	e->objects = o->keep;
	e->tools.dry_run = o->dry_run;
	e->tools.lists_headers = o->depfile != NULL;
	e->tools.no_sandbox = mpk_common.no_sandbox;
	e->tools.sources_checked = true;
	e->tools.libraries = parts->libraries;
	MPK_TRY(list_args(&in->arena, &o->cflags, &e->tools.cflags, err));
	MPK_TRY(list_args(&in->arena, &o->ldflags, &e->tools.ldflags, err));
	MPK_TRY(mpk_compiler_find(&in->arena, o->cc, o->cxx, &e->tools.cc, &e->tools.cxx, err));
	MPK_TRY(mpk_tvm_headers_find(&in->arena, &e->tools.headers, err));
	if (e->symbol && strcmp(e->symbol, MPK_STANDALONE_SYMBOL) == 0)
		MPK_TRY(add_executor(o, parts, &in->arena, e, err));
	/* A finished library cannot be split into the objects that an archive holds. */
	if (e->base && (e->kind == MPK_EMIT_A || e->kind == MPK_EMIT_TAR))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the code of this package is the finished library '%s', which has no objects; build a .so, .blob, .c or .o",
			e->base);
	if (!e->base && !e->tools.target.is_native && !o->cc && needs_compiler(e))
		return mpk_fail(
			err, MPK_E_USAGE,
			"making this for %s takes a compiler for that machine: name it with --cc",
			e->tools.target.triple);
	return MPK_OK;
}

/* Reads the key before anything is built, so that a mistyped name is reported at once. */
static enum mpk_code prepare_seal(const struct mpk_build_options *o, struct mpk_input *in,
				  struct mpk_emit *e, struct mpk_seal_job *job,
				  struct mpk_secret_key **key, struct mpk_error *err)
{
	if (o->sign) {
		MPK_TRY(mpk_key_open(o->sign, e->out, key, err));
		job->key = *key;
	}
	if (o->provenance && !o->dry_run)
		MPK_TRY(mpk_origin_describe(o, in, e, &job->provenance, err));
	if (o->sign || o->provenance)
		e->seal = job;
	return MPK_OK;
}

/* The files that compilers read, for --depfile. */
struct read_headers {
	struct mpk_arena arena;
	struct mpk_words read;
	enum mpk_code code;
	struct mpk_error err;
};

static int finish_build(const struct mpk_build_options *o, struct mpk_input *in,
			const struct mpk_emit *e, struct read_headers *headers)
{
	char size[64];
	struct mpk_error err = { 0 };

	warn_uncallable(in, e);
	if (o->plain && in->parts.could_load)
		mpk_diag_warn(
			"%s: with --standalone its functions take tensors on the device alone; with 'standalone = true' in the manifest instead, those of the CPU, too",
			MPK_QUOTE(mpk_span_str(e->manifest)));
	if (o->dry_run) {
		(void)snprintf(size, sizeof size, ", blob of %llu bytes",
			       e->blob ? (unsigned long long)e->blob->len : 0ULL);
		print_line(MPK_STDOUT, "# write ", e->out, size);
		return MPK_EXIT_OK;
	}
	if (o->depfile && headers->code != MPK_OK)
		return mpk_diag_error(&headers->err);
	if (o->depfile && mpk_depfile_write(o->depfile, o->depfile_of ? o->depfile_of : e->out,
					    &in->parts.files, &headers->read, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if ((!o->output || o->says_output) && !mpk_common.quiet)
		print_line(MPK_STDERR, "mpack: wrote ", e->out, "");
	return MPK_EXIT_OK;
}

/* From here on the process reads files of the tools and the user, and writes. */
static void confine_build(const struct mpk_build_options *o, const struct mpk_emit *e,
			  const char *scratch)
{
	struct mpk_confine c = { 0 };

	/* a manifest may name any file */
	mpk_confine_input(&c, "/");
	mpk_confine_output(&c, e->out);
	mpk_confine_output(&c, o->depfile);

	/* Allows making and removing files in a folder, and removing the folder; NULL does
	 * nothing. */
	char *folder = scratch && c.writable_count < MPK_CONFINE_MAX ? strdup(scratch) : NULL;

	if (folder)
		c.writable[c.writable_count++] = folder;
	c.emptied = folder ? mpk_path_folder(folder) : NULL;
	c.failed |= scratch && !c.emptied;
	mpk_confine(&c, NULL);
}

static void close_build(struct mpk_build **b)
{
	mpk_emit_close(*b);
}

/* Runs the tools, then gives up the process's rights, then writes the output. */
static enum mpk_code emit_confined(const struct mpk_build_options *o, const struct mpk_emit *e,
				   struct read_headers *headers, struct mpk_error *err)
{
	MPK_CLEANUP(close_build) struct mpk_build *build = NULL;
	const char *scratch;

	MPK_TRY(mpk_emit_make(e, &build, err));
	scratch = mpk_emit_scratch(build);
	if (!o->dry_run)
		confine_build(o, e, scratch);
	/* The list of headers must be read before their folder is removed. */
	if (!o->dry_run && scratch && e->tools.lists_headers)
		headers->code = mpk_headers_read(scratch, e->source_count, &headers->arena,
						 &headers->read, &headers->err);
	return mpk_emit_write(build, err);
}

int mpk_build_run(struct mpk_build_options *o, enum mpk_emit_kind kind, const char *path,
		  const char *executor, char **carried)
{
	struct mpk_input in = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_emit e = { .kind = kind };
	const struct mpk_tool_hooks tool_hooks = { on_command, on_step, on_note, o };
	MPK_CLEANUP(mpk_key_close) struct mpk_secret_key *key = NULL;
	struct mpk_seal_job seal = { 0 };
	struct read_headers headers = { 0 };
	struct mpk_input_options how = { .abi = o->abi,
					 .target = o->target,
					 .system_lib = o->system_lib,
					 .prefix = o->prefix ? o->prefix : "",
					 .via_c = is_via_c(o),
					 .has_flags = o->cflags.count > 0,
					 .granted = &o->granted,
					 .executor = executor };
	int status = count_jobs(o, &e.tools.jobs);
	const struct mpk_target target = mpk_target_parse(o->target);

	if (!executor && mpk_cubins_are_meant(&o->cubins, &path, 1))
		how.cubins = &o->cubins;
	how.compress = executor && o->compress;
	/* all archives give the same host code */
	if (executor && count_objects(&in.arena, o->objects))
		how.archive = archive_of(&in.arena, &target, &in.parts);
	if (status == MPK_EXIT_OK)
		status = mpk_input_load(path, &how, &in);
	e.tools.hooks = &tool_hooks;
	if (status == MPK_EXIT_OK && carried && (in.parts.is_embedded || o->standalone)) {
		if (in.parts.is_packed)
			o->compress = "zstd";
		if (kind != MPK_EMIT_SO)
			status = mpk_diag_usage("a standalone package is built as .so");
		else if (!(*carried = strdup(in.parts.name)))
			status = mpk_diag_error(&(struct mpk_error){ .code = MPK_E_NOMEM,
								     .text = "out of memory" });
		mpk_input_close(&in);
		return status;
	}
	if (status == MPK_EXIT_OK && (fill_emit(o, &in, &e, &err) != MPK_OK ||
				      prepare_seal(o, &in, &e, &seal, &key, &err) != MPK_OK))
		status = mpk_diag_error(&err);
	if (o->fsync)
		mpk_output_make_durable();
	/* From here on there are processes and temporary names to remove. */
	mpk_interrupt_catch(on_signal);
	if (status == MPK_EXIT_OK) {
		mpk_progress_begin("packing", e.blob ? e.blob->len : 0);
		enum mpk_code code = emit_confined(o, &e, &headers, &err);

		mpk_progress_end();
		if (code != MPK_OK)
			status = mpk_diag_error(&err);
	}
	if (status == MPK_EXIT_OK)
		status = finish_build(o, &in, &e, &headers);
	mpk_arena_fini(&headers.arena);
	mpk_input_close(&in);
	return status;
}

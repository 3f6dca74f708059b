/* SPDX-License-Identifier: Apache-2.0 */
/* mpack build: its options, and the number of builds (make.c). With --check-repro it builds twice,
 * and the first build runs in a child process, because a process that has built cannot start
 * programs any more. */
#include "mpack/build.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strmap.h"
#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "common/print.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/path.h"
#include "mpack/mpack.h"
#include "package/images.h"
#include "process/process.h"
#include "standalone/standalone.h"

static struct mpk_build_options opt;

static const struct mpk_option options[] = {
	{ 'o', "output", MPK_OPT_TEXT, "FILE", "by its suffix: .so .o .c .a .tar .blob .fatbin",
	  .target = &opt.output, .path = MPK_WRITES_FILE },
	{ 0, "emit", MPK_OPT_TEXT, "WHAT", "so, obj, c, a, tar or blob, whatever the suffix",
	  .target = &opt.emit },
	{ 0, "via", MPK_OPT_TEXT, "WAY", "how to make the object: llvm (default) or c",
	  .target = &opt.via, .values = "words: llvm c", .decides_bytes = true },
	{ 0, "abi", MPK_OPT_TEXT, "ABI", "ffi, ffi-0.21 or legacy, not the manifest's",
	  .target = &opt.abi, .decides_bytes = true },
	{ 0, "target", MPK_OPT_TEXT, "TRIPLE", "the machine, instead of the manifest's",
	  .target = &opt.target,
	  .values =
		  "words: x86_64-linux-gnu aarch64-linux-gnu arm-linux-gnueabihf i686-linux-gnu riscv64-linux-gnu powerpc64le-linux-gnu s390x-linux-gnu loongarch64-linux-gnu",
	  .decides_bytes = true },
	{ 0, "cc", MPK_OPT_TEXT, "CC", "compiler driver (default: $CC, else cc)",
	  .target = &opt.cc },
	{ 0, "cxx", MPK_OPT_TEXT, "CXX", "the same of C++ (default: $CXX, or as CC says)",
	  .target = &opt.cxx, .decides_bytes = true },
	{ 0, "cflag", MPK_OPT_LIST, "FLAG", "give FLAG to the compiler", .target = &opt.cflags,
	  .decides_bytes = true },
	{ 0, "allow-cflag", MPK_OPT_LIST, "FLAG", "let the manifest give FLAG, whatever it names",
	  .target = &opt.granted },
	{ 0, "ldflag", MPK_OPT_LIST, "FLAG", "give FLAG to the linker's command line",
	  .target = &opt.ldflags, .decides_bytes = true },
	{ 'j', "jobs", MPK_OPT_TEXT, "N", "compile N sources at a time (default: processors)",
	  .target = &opt.jobs },
	{ 0, "standalone", MPK_OPT_FLAG, NULL, "a library of models that needs no runtime",
	  .target = &opt.standalone, .decides_bytes = true },
	{ 0, "compress", MPK_OPT_TEXT, "zstd", "pack the model of a standalone library",
	  .target = &opt.compress, .values = "words: zstd", .decides_bytes = true },
	{ 0, "page-align", MPK_OPT_FLAG, NULL, "begin the largest payload at a page of the file",
	  .target = &opt.page_align, .decides_bytes = true },
	{ 0, "system-lib", MPK_OPT_FLAG, NULL, "register the blob at start, for static linking",
	  .target = &opt.system_lib, .decides_bytes = true },
	{ 0, "prefix", MPK_OPT_TEXT, "P", "prefix of a system library's symbols",
	  .target = &opt.prefix, .decides_bytes = true },
	MPK_CUBINS_OPTIONS(opt.cubins),
	{ 'n', "dry-run", MPK_OPT_FLAG, NULL, "print what would be done, on standard output",
	  .target = &opt.dry_run },
	{ 0, "print-commands", MPK_OPT_FLAG, NULL, "print each command before it is run",
	  .target = &opt.print_commands },
	{ 0, "depfile", MPK_OPT_TEXT, "FILE", "write the files read, in Makefile syntax",
	  .target = &opt.depfile, .path = MPK_WRITES_FILE },
	{ 0, "save-temps", MPK_OPT_TEXT, "DIR", "keep intermediate files in DIR",
	  .target = &opt.save_temps, .path = MPK_WRITES_FOLDER },
	{ 0, "sign", MPK_OPT_TEXT, "KEY", "sign the library with a private Ed25519 key",
	  .target = &opt.sign },
	{ 0, "provenance", MPK_OPT_FLAG, NULL,
	  "note in it what it was made from: tools, options, digests", .target = &opt.provenance,
	  .decides_bytes = true },
	{ 0, "fsync", MPK_OPT_FLAG, NULL, "return when the output is on the disk",
	  .target = &opt.fsync },
	{ 0, "allow-empty", MPK_OPT_FLAG, NULL,
	  "also host code without a function that a loader finds", .target = &opt.allow_empty,
	  .decides_bytes = true },
	{ 0, "force", MPK_OPT_FLAG, NULL, "overwrite what mpack did not write",
	  .target = &opt.force, .path = MPK_WRITES_FORCE },
	{ 0, "check-repro", MPK_OPT_FLAG, NULL,
	  "build twice, under other circumstances, and compare", .target = &opt.check_repro },
	{ 0 },
};

static const struct mpk_command command = {
	.name = "build",
	.usage = "mpack build [MANIFEST|BLOB|LIBRARY|CUBIN...] [OPTION]... [-o OUT]",
	.summary = "Pack what a manifest (./mpack.toml) names into one file, by default NAME.so\n"
		   "in this folder, after the package.",
	.screen = 13,
	.examples = "  mpack build mpack.toml -o deploy.so\n"
		    "  mpack build model.blob -o model.o --target aarch64-linux-gnu\n"
		    "  mpack build model.so --standalone -o deploy.so\n"
		    "  mpack build add.cubin --meta add.json -o add.so\n",
	.options = options,
};

/* --- what the options say together: the kind of output, and what excludes what -------- */

static int find_kind(const struct mpk_build_options *o, enum mpk_emit_kind *out)
{
	struct mpk_span words[MPK_EMIT_KIND_COUNT];
	const char *dot = o->output ? strrchr(o->output, '.') : NULL;

	if (!o->output && !o->emit)
		return MPK_EXIT_OK; /* without a known suffix the output is a library */
	for (unsigned k = 0; k < MPK_EMIT_KIND_COUNT; k++) {
		const struct mpk_emit_name *name = mpk_emit_name((enum mpk_emit_kind)k);

		words[k] = mpk_span_str(name->name);
		if (o->emit ? strcmp(o->emit, name->name) == 0
			    : dot && strcmp(dot, name->suffix) == 0) {
			*out = (enum mpk_emit_kind)k;
			return MPK_EXIT_OK;
		}
	}
	if (!o->emit)
		return mpk_diag_usage(
			"the suffix of '%s' does not say what to write; name it .so, .o, .c, .a, .tar or .blob, or use --emit",
			o->output);
	size_t near = mpk_closest(mpk_span_str(o->emit), words, MPK_EMIT_KIND_COUNT);
	if (near < MPK_EMIT_KIND_COUNT)
		return mpk_diag_usage(
			"--emit takes so, obj, c, a, tar or blob, not '%s'; did you mean %s?",
			o->emit, mpk_emit_name((enum mpk_emit_kind)near)->name);
	return mpk_diag_usage("--emit takes so, obj, c, a, tar or blob, not '%s'", o->emit);
}

static bool is_symbol_part(const char *text)
{
	static const char all[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	const char *letters = all + 10;

	return strspn(text, letters) > 0 && text[strspn(text, all)] == '\0';
}

static bool writes_stdout(const struct mpk_build_options *o)
{
	return o->output && strcmp(o->output, "-") == 0;
}

static bool is_pipe(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int check_words(const struct mpk_build_options *o, enum mpk_emit_kind kind)
{
	if (o->via && strcmp(o->via, "llvm") != 0 && strcmp(o->via, "c") != 0)
		return mpk_diag_usage("--via takes llvm or c, not '%s'", o->via);
	if (o->page_align && (kind != MPK_EMIT_SO || o->standalone))
		return mpk_diag_usage(
			"--page-align is for shared libraries, .so, that are not standalone");
	if (o->compress && strcmp(o->compress, "zstd") != 0)
		return mpk_diag_usage("--compress takes zstd, not '%s'", o->compress);
	if (o->compress && !o->standalone)
		return mpk_diag_usage(
			"--compress is for standalone libraries: TVM's own loaders unpack nothing; add --standalone");
	if (o->standalone && (kind != MPK_EMIT_SO || o->system_lib))
		return mpk_diag_usage(
			"--standalone makes a shared library, .so, that is no system library");
	/* The prefix is part of the blob's symbol, which only a system library may choose. */
	if (o->prefix && !o->system_lib)
		return mpk_diag_usage("--prefix is for system libraries: add --system-lib");
	if (o->prefix && *o->prefix && !is_symbol_part(o->prefix))
		return mpk_diag_usage("--prefix takes letters, digits and '_', not '%s'",
				      o->prefix);
	if (writes_stdout(o) && kind != MPK_EMIT_C && kind != MPK_EMIT_BLOB)
		return mpk_diag_usage("only C source and blobs are written to standard output");
	/* Both are ELF notes. */
	if ((o->sign || o->provenance) && kind != MPK_EMIT_SO && kind != MPK_EMIT_OBJ)
		return mpk_diag_usage("--%s is for .so and .o, which have room for it%s",
				      o->sign ? "sign" : "provenance",
				      o->sign ? "; sign another file beside it: ssh-keygen -Y sign"
					      : "");
	/* Process substitution, as in --sign <(...), makes a pipe, which can be read only once. */
	if (o->check_repro && o->sign && is_pipe(o->sign))
		return mpk_diag_usage("--check-repro builds twice, and '%s' can be read once only",
				      o->sign);
	if (o->check_repro && (!o->output || writes_stdout(o) || o->dry_run))
		return mpk_diag_usage("--check-repro compares files: name one with -o");
	return MPK_EXIT_OK;
}

/* Checks combinations of options; prints errors. */
static int check_options(const struct mpk_build_options *o, enum mpk_emit_kind *kind)
{
	int status = find_kind(o, kind);

	return status == MPK_EXIT_OK ? check_words(o, *kind) : status;
}

/* --- --check-repro --------------------------------------------------------------------- */

/* The second build differs in everything that must not matter: directory, time, time zone, locale,
 * number of jobs, output name. It is a new process of this program, because the environment must be
 * different from its start. */

/* Returns a path that is valid in another directory; the file must exist. NULL if memory is out. */
static const char *absolute(struct mpk_arena *arena, const char *path)
{
	char *full = realpath(path, NULL);
	const char *copy = mpk_arena_text(arena, mpk_span_str(full ? full : path));

	free(full);
	return copy;
}

static void repro_put(struct mpk_argv *v, const char *option, const char *value)
{
	if (!value)
		return;
	mpk_argv_add(v, option);
	mpk_argv_add(v, value);
}

static const char *emit_word(const struct mpk_build_options *o)
{
	const char *dot = strrchr(o->output, '.');

	if (o->emit)
		return o->emit;
	return strcmp(dot, ".o") == 0 ? "obj" : dot + 1;
}

/* Runs the second build in an environment that differs in everything that must not matter,
 * including the second of the time. */
static enum mpk_code run_again(const char *const *argv, const char *dir, int *status,
			       struct mpk_error *err)
{
	/* Fourteen hours ahead of UTC, and a locale in which the lower case of "I" is not "i". */
	static const char *const env[] = { "TZ=Pacific/Kiritimati", "LC_ALL=tr_TR.UTF-8", NULL };
	struct mpk_process again = { .argv = argv, .env = env, .dir = dir };
	struct mpk_process_end end;
	time_t started = time(NULL);

	/* __TIME__ has a resolution of a second, so the second build begins in another one. */
	while (time(NULL) == started)
		(void)usleep(10000);
	MPK_TRY(mpk_process_run(&again, 1, 1, &end, err));
	*status = end.how == MPK_PROCESS_EXITED ? end.status : MPK_EXIT_INTERNAL;
	return MPK_OK;
}

static enum mpk_code repro_compare(const char *first, const char *second, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping a = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping b = { 0 };
	size_t at = 0;

	/* Mapped, not read: outputs may be larger than memory. */
	MPK_TRY(mpk_mapping_open(first, &a, err));
	MPK_TRY(mpk_mapping_open(second, &b, err));
	if (mpk_span_equal(a.bytes, b.bytes))
		return MPK_OK;
	while (at < a.bytes.len && at < b.bytes.len && a.bytes.data[at] == b.bytes.data[at])
		at++;
	(void)mpk_fail_offset(
		err, MPK_E_DIFFERENT, "file", at,
		"a second build gave another file (%zu and %zu bytes); look for __DATE__, __TIME__ or absolute paths in the sources and flags",
		a.bytes.len, b.bytes.len);
	mpk_error_at_file(err, first);
	return MPK_E_DIFFERENT;
}

static enum mpk_code repro_check(const struct mpk_build_options *o, const char *input,
				 const struct mpk_scratch *scratch, int *status,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const char *out = mpk_scratch_file(scratch, &arena, "again");
	struct mpk_argv v = { .arena = &arena };

	/* The same command, except for settings that must not matter: another output, other paths,
	 * another number of jobs. */
	const char *cc = o->cc ? o->cc : getenv("CC");
	bool is_path = cc && strchr(cc, '/') && !strchr(cc, ' ');

	mpk_argv_add(&v, "/proc/self/exe");
	repro_put(&v, "build", absolute(v.arena, input));
	mpk_argv_add(&v, "--quiet"); /* the first build already printed the warnings */
	repro_put(&v, "--output", out);
	repro_put(&v, "--emit", emit_word(o));
	/* Another number than in the first build: one job keeps the order of steps, several may
	 * change it. */
	repro_put(&v, "--jobs", o->jobs && strcmp(o->jobs, "1") == 0 ? "3" : "1");
	repro_put(&v, "--cc", is_path ? absolute(v.arena, cc) : o->cc);
	repro_put(&v, "--sign", o->sign ? absolute(v.arena, o->sign) : NULL);

	/* The options that decide the bytes, as they were given. */
	for (const struct mpk_option *row = options; row->name; row++) {
		for (size_t i = 0; row->decides_bytes && i < mpk_option_count(row); i++) {
			mpk_argv_printf(&v, "--%s", row->name);
			if (row->path == MPK_READS_FILE)
				mpk_argv_add(&v, absolute(v.arena, mpk_option_value(row, i)));
			else if (row->argument)
				mpk_argv_add(&v, mpk_option_value(row, i));
		}
	}

	if (v.failed || !out)
		return mpk_fail_nomem(err);
	MPK_TRY(run_again(v.items, scratch->path, status, err));
	return *status == MPK_EXIT_OK ? repro_compare(o->output, out, err) : MPK_OK;
}

/* Builds again and compares the outputs. */
static int build_again(const struct mpk_build_options *o, const char *input)
{
	MPK_CLEANUP(mpk_scratch_close) struct mpk_scratch scratch = { 0 };
	const char *tmp = getenv("TMPDIR");
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	enum mpk_code code = mpk_scratch_open(tmp && *tmp ? tmp : "/tmp", NULL, &scratch, &err);
	if (code == MPK_OK)
		code = repro_check(o, input, &scratch, &status, &err);
	if (code != MPK_OK)
		return mpk_diag_error(&err);
	if (status == MPK_EXIT_OK)
		mpk_diag_note("two builds gave the same file");
	return status;
}

/* --- the command ---------------------------------------------------------------------- */

static int run(enum mpk_emit_kind kind, const char *input)
{
	char *carried = NULL;
	int status = opt.standalone ? mpk_build_standalone(&opt, input)
				    : mpk_build_run(&opt, kind, input, NULL, &carried);

	/* The manifest of a package with models may say standalone. */
	if (status == MPK_EXIT_OK && carried)
		status = mpk_build_carrying(&opt, input, carried);
	free(carried);
	return status;
}

struct first_build {
	enum mpk_emit_kind kind;
	const char *input;
};

static enum mpk_code build_first(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct first_build *b = data;
	int status = run(b->kind, b->input);

	(void)self;
	(void)err;
	(void)fflush(NULL);
	_exit(status);
}

/* Runs the first build in a child process: a process that has built cannot start programs any
 * more. */
static int build_twice(enum mpk_emit_kind kind, const char *input)
{
	struct first_build b = { kind, input };
	struct mpk_process first = { .run = build_first, .data = &b, .in_foreground = true };
	struct mpk_process_end end;
	struct mpk_error err = { 0 };

	if (mpk_process_run(&first, 1, 1, &end, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (end.how != MPK_PROCESS_QUIT)
		return mpk_diag_error(&(struct mpk_error){ .code = MPK_E_INTERNAL,
							   .text = "the first build was ended" });
	return end.status == MPK_EXIT_OK ? build_again(&opt, input) : end.status;
}

static bool is_fatbin(const char *path)
{
	static const char *const suffixes[] = { ".fatbin", NULL };

	return path && mpk_path_has_suffix(path, suffixes);
}

static enum mpk_code fatbin_run(const char *const *paths, struct mpk_mapping *maps, size_t count,
				struct mpk_arena *arena, struct mpk_error *err)
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

	struct mpk_output *out = NULL;
	enum mpk_code code;

	MPK_TRY(mpk_output_open(opt.output, 0666, &out, err));
	code = mpk_output_write_rope(out, &rope, NULL, err);
	if (code == MPK_OK)
		code = mpk_confirm_output(out, NULL, err);
	return mpk_output_finish(out, code, err);
}

/* Options that have no effect on a fatbin are refused, not ignored. */
static int join_images(const char *const *paths, size_t count)
{
	for (const struct mpk_option *row = options; row->name; row++)
		if (mpk_option_count(row) && row->target != &opt.output &&
		    row->target != &opt.fsync && row->target != &opt.force)
			return mpk_diag_usage("--%s is not for a fatbin", row->name);
	if (!count)
		return mpk_diag_usage("name the cubins and PTX files of the fatbin");

	/* Joins cubins and PTX files to a fatbin, without a compiler or a CUDA toolkit. */
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_mapping *maps = mpk_arena_array(&arena, count, sizeof *maps);
	struct mpk_confine c = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code;

	if (opt.fsync)
		mpk_output_make_durable();
	for (size_t i = 0; i < count; i++)
		mpk_confine_input(&c, paths[i]);
	mpk_confine(&c, options);
	code = maps ? fatbin_run(paths, maps, count, &arena, &err) : mpk_fail_nomem(&err);
	for (size_t i = 0; maps && i < count; i++)
		mpk_mapping_close(&maps[i]);
	if (code != MPK_OK)
		return mpk_diag_error(&err);
	return MPK_EXIT_OK;
}

int mpack_build(int argc, char **argv)
{
	enum mpk_emit_kind kind = MPK_EMIT_SO;
	const char *input;
	int first, status;

	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (is_fatbin(opt.output) && !opt.emit) {
		status = join_images((const char *const *)(argv + first), (size_t)(argc - first));
		mpk_options_fini(&command);
		return status;
	}
	input = first < argc ? argv[first] : MPACK_MANIFEST;
	if (argc - first > 1)
		return mpk_diag_usage("one manifest at a time: '%s' is too much", argv[first + 1]);
	status = check_options(&opt, &kind);
	if (status == MPK_EXIT_OK) {
		mpk_progress_all_begin("building", 0, 0);
		status = opt.check_repro ? build_twice(kind, input) : run(kind, input);
		mpk_progress_all_end();
	}
	if (status == MPK_EXIT_OK && opt.output)
		mpk_closing_line(opt.output, 0, "%s", "");
	mpk_options_fini(&command);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - the steps of a build: the command lines of compilers and of the linker, calls of LLVM, and running all of
 * them in parallel
 *
 * What is compiled must not depend on where and when it is compiled, because the same input must
 * give the same library: every flag of add_flags and add_prefix_maps is there for that. */
#include <string.h>

#include "base/compiler.h"
#include "io/digest.h"
#include "io/mapping.h"
#include "io/path.h"
#include "sandbox/sandbox.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"

/* --- jobs ------------------------------------------------------------------------ */

static enum mpk_code compile_judge(const struct mpk_job *job, const struct mpk_process_end *end,
				   struct mpk_error *err)
{
	const char *tool = job->process.run ? "LLVM" : job->process.argv[0];

	switch (end->how) {
	case MPK_PROCESS_LEFT_OUT:
	case MPK_PROCESS_LATE: /* Jobs have no time limit and no messages. */
	case MPK_PROCESS_STOPPED:
		break;
	case MPK_PROCESS_RETURNED:
		if (end->error.code != MPK_OK && err)
			*err = end->error;
		return end->error.code;
	case MPK_PROCESS_NOT_EXECUTED:
		return mpk_fail(
			err, MPK_E_TOOL,
			"cannot start '%s' (%s); install it, or name another compiler with --cc",
			MPK_QUOTE(mpk_span_str(tool)), strerror(end->status));
	case MPK_PROCESS_KILLED:
		return mpk_fail(err, MPK_E_TOOL, "%s: %s was ended by signal %d (%s)", job->what,
				tool, end->status, strsignal(end->status));
	case MPK_PROCESS_QUIT:
	case MPK_PROCESS_EXITED:
		if (!mpk_process_succeeded(end))
			return mpk_fail(err, MPK_E_TOOL, "%s: %s failed with status %d", job->what,
					tool, end->status);
		break;
	}
	return MPK_OK;
}

enum mpk_code mpk_jobs_run(const struct mpk_job *jobs, size_t count, unsigned parallel,
			   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_process *list = mpk_arena_array(&arena, count, sizeof *list);
	struct mpk_process_end *ends = mpk_arena_array(&arena, count, sizeof *ends);

	MPK_TRY_ALLOC(list && ends, err);
	for (size_t i = 0; i < count; i++)
		list[i] = jobs[i].process;
	MPK_TRY(mpk_process_run(list, count, parallel, ends, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(compile_judge(&jobs[i], &ends[i], err));
	return MPK_OK;
}

static struct mpk_process tool_process(const struct mpk_compilation *c, const char *const *argv)
{
	return (struct mpk_process){
		.argv = argv,
		.env = (const char *const *)c->scratch.env,
		.output = c->tools->log ? MPK_OUTPUT_LOG : MPK_OUTPUT_MESSAGES,
		.fd = c->tools->log,
	};
}

/* Announces and runs one tool; a dry run runs nothing.
 * @what    for messages: "linking" */
static enum mpk_code tool_run(struct mpk_compilation *c, const char *const *argv, const char *what,
			      struct mpk_error *err)
{
	struct mpk_job job = { .process = tool_process(c, argv), .what = what };

	c->tools->hooks->command(c->tools->hooks->data, argv);
	return c->tools->dry_run ? MPK_OK : mpk_jobs_run(&job, 1, 1, err);
}

void mpk_llvm_confine(const struct mpk_compilation *c)
{
	const char *writable[] = { c->scratch.path };
	static const int none;
	const struct mpk_sandbox s = {
		.writable = writable,
		.writable_count = 1,
		.replaces = c->scratch.keep, /* what an earlier build left there */
		.kept = &none,
		.kept_count = 0,
	};

	/* a sanitizer's runtime starts a process to look for leaks */
	if (!c->tools->no_sandbox && !MPK_IS_SANITIZED)
		(void)mpk_sandbox_enter(&s);
}

/* --- compilers ------------------------------------------------------------------- */

/* Folders would get into debug information and __FILE__, so files of the manifest's folder go by
 * their names there. Where several maps fit, compilers take the last. */
static void add_prefix_maps(const struct mpk_compilation *c, struct mpk_argv *v)
{
	const struct mpk_toolchain *t = c->tools;

	mpk_argv_printf(v, "-ffile-prefix-map=%s=.", c->scratch.path);
	if (t->cwd && strcmp(t->cwd, "/") != 0)
		mpk_argv_printf(v, "-ffile-prefix-map=%s=.", t->cwd);
	if (t->dir)
		mpk_argv_printf(v, "-ffile-prefix-map=%s/=", t->dir);
	if (t->dir_named && *t->dir_named)
		mpk_argv_printf(v, "-ffile-prefix-map=%s=", t->dir_named);
}

static void add_flags(const struct mpk_compilation *c, struct mpk_argv *v, const char *seed,
		      const struct mpk_words *own, bool cxx)
{
	const struct mpk_toolchain *t = c->tools;

	mpk_argv_add_all(v, cxx ? &t->cxx : &t->cc);
	mpk_argv_add(v, "-c");
	/* beside the object, where its name tells */
	if (t->lists_headers)
		mpk_argv_add(v, "-MD");
	mpk_argv_add(v, "-O2");
	/* Clang refuses it for Windows, where every object may become part of a library. */
	if (t->target.format != MPK_OBJECT_COFF)
		mpk_argv_add(v, "-fPIC");
	add_prefix_maps(c, v);
	/* GCC puts random numbers into names that must differ between objects */
	/* distcc takes an argument that ends like a source for the source. */
	mpk_argv_printf(v, "-frandom-seed=%s:", seed);
	if (own)
		mpk_argv_add_all(v, own);
	mpk_argv_add_all(v, &t->cflags);
	mpk_argv_add_all(v, &t->headers);
}

enum mpk_code mpk_compile_c(struct mpk_compilation *c, const char *source, const char *object,
			    const struct mpk_words *flags, struct mpk_job *job,
			    struct mpk_error *err)
{
	struct mpk_argv v = { .arena = c->arena };
	const char *name = mpk_path_name(source);
	enum mpk_source_kind kind;

	MPK_TRY(mpk_source_classify(source, &kind, err));
	add_flags(c, &v, name, flags, kind == MPK_SOURCE_CXX);
	mpk_argv_add(&v, source);
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, object);
	job->what = mpk_arena_printf(c->arena, "compiling %s", name);
	job->process = tool_process(c, v.items);
	if (v.failed || !job->what)
		return mpk_fail_nomem(err);
	c->tools->hooks->command(c->tools->hooks->data, v.items);
	return MPK_OK;
}

/* --- LLVM ------------------------------------------------------------------------ */

enum mpk_code mpk_llvm_job(struct mpk_compilation *c, const char *name, const char *from,
			   const char *object, mpk_process_fn *run, void *data, struct mpk_job *job,
			   struct mpk_error *err)
{
	const char *step = mpk_arena_printf(c->arena, "LLVM: %s -> %s", from, object);

	job->what = mpk_arena_printf(c->arena, "compiling %s", name);
	MPK_TRY_ALLOC(job->what && step, err);
	job->process.run = run;
	job->process.data = data;
	c->tools->hooks->step(c->tools->hooks->data, step);
	return MPK_OK;
}

/* --- the link ------------------------------------------------------------------------------
 *
 * The order of its line matters: a blob's object comes after all other objects, so that its
 * section ends with the blob (elf/edit.h), and the user's flags come after that, because a
 * linker takes from a library only what objects before it on the line have asked for. */

/* By its bytes, not its name: the same package may be built from another folder. */
static enum mpk_code hash_file(struct mpk_digest *d, const char *path, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	MPK_TRY(mpk_mapping_open(path, &map, err));
	return mpk_digest_update(d, map.bytes, err);
}

enum mpk_code mpk_link_hash(const struct mpk_compilation *c, const char *symbol, uint8_t *out,
			    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { .state = NULL };
	uint8_t digest[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_digest_init(&d, MPK_DIGEST_XXH128, err));
	for (size_t i = 0; i < c->source_count; i++)
		MPK_TRY(hash_file(&d, c->objects[i], err));
	for (size_t i = 0; i < c->tools->libraries.count; i++) {
		const char *word = c->tools->libraries.items[i];

		MPK_TRY(*word == '-' ? mpk_digest_update(&d, mpk_span_str(word), err)
				     : hash_file(&d, word, err));
	}
	for (size_t i = 0; i < c->tools->ldflags.count; i++)
		MPK_TRY(mpk_digest_update(&d, mpk_span_str(c->tools->ldflags.items[i]), err));
	MPK_TRY(mpk_digest_update(&d, mpk_span_str(symbol), err));
	MPK_TRY(mpk_digest_final(&d, digest, err));
	memcpy(out, digest, MPK_BUILD_ID_BYTES);
	return MPK_OK;
}

/* Links all members of an archive: nothing refers to functions that are looked up by name, so
 * the linker would drop them. Outputs .a and .tar contain them, too. */
static void add_object(struct mpk_argv *v, const struct mpk_toolchain *t, enum mpk_source_kind kind,
		       const char *object)
{
	if (kind != MPK_SOURCE_ARCHIVE) {
		mpk_argv_add(v, object);
	} else if (t->target.format == MPK_OBJECT_MACHO) {
		/* not -Wl: the driver would split a path at its commas */
		mpk_argv_add(v, "-Xlinker");
		mpk_argv_add(v, "-force_load");
		mpk_argv_add(v, "-Xlinker");
		mpk_argv_add(v, object);
	} else {
		mpk_argv_add(v, "-Wl,--whole-archive");
		mpk_argv_add(v, object);
		mpk_argv_add(v, "-Wl,--no-whole-archive");
	}
}

static bool has_cxx(const struct mpk_compilation *c)
{
	for (size_t i = 0; i < c->source_count; i++)
		if (c->sources[i].kind == MPK_SOURCE_CXX)
			return true;
	return c->tools->links_cxx;
}

enum mpk_code mpk_link_run(struct mpk_compilation *c, const struct mpk_link *l,
			   struct mpk_error *err)
{
	const struct mpk_toolchain *t = c->tools;
	struct mpk_argv v = { .arena = c->arena };
	char digits[MPK_DIGEST_TEXT];

	/* The C++ driver knows the libraries that its code needs. */
	mpk_argv_add_all(&v, has_cxx(c) ? &t->cxx : &t->cc);
	mpk_argv_add(&v, "-shared");
	if (t->target.format == MPK_OBJECT_ELF) {
		mpk_argv_add(&v, "-fPIC");
		mpk_argv_printf(&v, "-Wl,--build-id=0x%s",
				mpk_digest_print(l->id, sizeof l->id, digits));
		if (l->no_undefined)
			mpk_argv_add(&v, "-Wl,--no-undefined");
	}
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, l->out);
	for (size_t i = 0; i < c->source_count; i++)
		add_object(&v, t, c->sources[i].kind, c->objects[i]);
	if (l->last)
		mpk_argv_add(&v, l->last);
	mpk_argv_add_all(&v, &t->libraries);
	mpk_argv_add_all(&v, &t->ldflags);
	if (v.failed)
		return mpk_fail_nomem(err);
	return tool_run(c, v.items, "linking", err);
}

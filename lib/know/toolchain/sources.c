/* SPDX-License-Identifier: Apache-2.0 */
/* sources.c - host sources: their kinds, by name, and their compilation to objects */
#include <string.h>

#include "io/mapping.h"
#include "io/output.h"
#include "io/path.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"
#include "llvm/llvm.h"

/* --- sources --------------------------------------------------------------------- */

enum mpk_code mpk_source_classify(const char *path, enum mpk_source_kind *out,
				  struct mpk_error *err)
{
	static const struct {
		const char *suffix;
		enum mpk_source_kind kind;
	} rows[] = {
		{ ".ll", MPK_SOURCE_IR },      { ".bc", MPK_SOURCE_IR },
		{ ".c", MPK_SOURCE_C },        { ".o", MPK_SOURCE_OBJECT },
		{ ".obj", MPK_SOURCE_OBJECT }, { ".a", MPK_SOURCE_ARCHIVE },
		{ ".cc", MPK_SOURCE_CXX },     { ".cpp", MPK_SOURCE_CXX },
		{ ".cxx", MPK_SOURCE_CXX },
	};
	const char *base = mpk_path_name(path);
	const char *dot = strrchr(base, '.'), *suffix = dot ? dot : "";

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (strcmp(suffix, rows[i].suffix) == 0) {
			*out = rows[i].kind;
			return MPK_OK;
		}
	}
	if (strcmp(suffix, ".so") == 0 || strstr(base, ".so."))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a shared library cannot become part of another; give its objects or its .a, or link against it with --ldflag");
	if (strcmp(suffix, ".cu") == 0)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"only C and C++ are compiled here; compile '%s' to an object and name that",
			MPK_QUOTE(mpk_span_str(base)));
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a host source is .ll, .bc, .c, .cc, .cpp, .o or .a, which '%s' is not",
			MPK_QUOTE(mpk_span_str(base)));
}

/* --- LLVM IR -------------------------------------------------------------------- */

struct ir_task {
	const struct mpk_compilation *c;
	const struct mpk_compile_source *source;
	const char *object;
};

/* Runs in a child process, because LLVM ends the process on IR that it cannot compile. */
static enum mpk_code run_ir(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct ir_task *t = data;
	const struct mpk_compile_source *s = t->source;
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	const struct mpk_llvm *llvm;
	struct mpk_span object;

	(void)self;
	MPK_TRY(mpk_llvm_open(t->c->tools->llvm, &llvm, err));
	if (!s->text.data)
		MPK_TRY(mpk_mapping_open(s->path, &map, err));
	mpk_llvm_confine(t->c);

	struct mpk_llvm_source source = { .triple = t->c->tools->target.triple,
					  .name = mpk_path_name(s->path),
					  .bytes = s->text.data ? s->text : map.bytes };
	enum mpk_code code = llvm->compile(&source, &arena, &object, err);
	if (code == MPK_OK)
		return mpk_output_store(t->object, object, err);
	mpk_error_at_file(err, s->path);
	return code;
}

static enum mpk_code compile_ir(struct mpk_compilation *c, const struct mpk_compile_source *s,
				const char *object, struct mpk_job *job, struct mpk_error *err)
{
	struct ir_task *t = mpk_arena_alloc(c->arena, sizeof *t);

	MPK_TRY_ALLOC(t, err);
	*t = (struct ir_task){ c, s, object };
	return mpk_llvm_job(c, mpk_path_name(s->path), s->path, object, run_ir, t, job, err);
}

/* --- all of them ----------------------------------------------------------------- */

/* Writes a text that is in no file to a file of the scratch folder. */
static enum mpk_code store_text(const struct mpk_compilation *c, const struct mpk_compile_source *s,
				const char **file, struct mpk_error *err)
{
	*file = mpk_scratch_file(&c->scratch, c->arena, mpk_path_name(s->path));
	MPK_TRY_ALLOC(*file, err);
	return c->tools->dry_run ? MPK_OK : mpk_output_store(*file, s->text, err);
}

static enum mpk_code compile_source(struct mpk_compilation *c, size_t i, const char **object,
				    struct mpk_job *job, struct mpk_error *err)
{
	const struct mpk_compile_source *s = &c->sources[i];
	const char *name = mpk_arena_printf(c->arena, "lib%zu.o", i), *file;

	*object = name ? mpk_scratch_file(&c->scratch, c->arena, name) : NULL;
	MPK_TRY_ALLOC(*object, err);
	if (s->kind == MPK_SOURCE_IR)
		return compile_ir(c, s, *object, job, err);
	if (!s->text.data)
		return mpk_compile_c(c, s->path, *object, &s->flags, job, err);

	MPK_TRY(store_text(c, s, &file, err));
	return mpk_compile_c(c, file, *object, &s->flags, job, err);
}

enum mpk_code mpk_compile_sources(struct mpk_compilation *c, const struct mpk_job *first,
				  struct mpk_error *err)
{
	size_t most = c->source_count + 1, count = 0;
	struct mpk_job *jobs = mpk_arena_array(c->arena, most, sizeof *jobs);
	const char **objects = mpk_arena_array(c->arena, most, sizeof *objects);

	MPK_TRY_ALLOC(jobs && objects, err);
	c->objects = objects;
	if (first)
		jobs[count++] = *first;
	for (size_t i = 0; i < c->source_count; i++) {
		const struct mpk_compile_source *s = &c->sources[i];

		if (s->kind == MPK_SOURCE_C || s->kind == MPK_SOURCE_CXX ||
		    s->kind == MPK_SOURCE_IR) {
			MPK_TRY(compile_source(c, i, &objects[i], &jobs[count++], err));
			continue;
		}
		objects[i] = s->path;
		if (s->text.data)
			MPK_TRY(store_text(c, s, &objects[i], err));
		else if (!c->tools->sources_checked)
			MPK_TRY(mpk_source_check(s->path, &c->tools->target, err));
	}
	return c->tools->dry_run ? MPK_OK : mpk_jobs_run(jobs, count, c->tools->jobs, err);
}

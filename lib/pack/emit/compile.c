/* SPDX-License-Identifier: Apache-2.0 */
/* What is compiled must not depend on where and when: every flag of add_flags and
 * add_prefix_maps is there for that. */
#include "emit/internal/build.h"
#include "llvm/open.h"

/* Directories would get into debug information and __FILE__: what is named from the
 * manifest's folder goes by its name there. Of several maps that fit, compilers take the
 * last. */
static void add_prefix_maps(struct mpk_build *b, struct mpk_argv *v)
{
	const struct mpk_emit *e = b->e;

	mpk_argv_printf(v, "-ffile-prefix-map=%s=.", b->scratch.path);
	if (e->cwd && strcmp(e->cwd, "/") != 0)
		mpk_argv_printf(v, "-ffile-prefix-map=%s=.", e->cwd);
	if (e->dir)
		mpk_argv_printf(v, "-ffile-prefix-map=%s/=", e->dir);
	if (e->dir_named && *e->dir_named)
		mpk_argv_printf(v, "-ffile-prefix-map=%s=", e->dir_named);
}

static void add_flags(struct mpk_build *b, struct mpk_argv *v, const char *seed, bool cxx)
{
	const struct mpk_emit *e = b->e;

	mpk_argv_add_all(v, cxx ? &e->cxx : &e->cc);
	mpk_argv_add(v, "-c");
	mpk_argv_add(v, "-O2");
	if (e->target.format != MPK_OBJECT_COFF)
		mpk_argv_add(v, "-fPIC");
	add_prefix_maps(b, v);
	mpk_argv_printf(v, "-frandom-seed=%s", seed);
	mpk_argv_add_all(v, &e->cflags);
	mpk_argv_add_all(v, &e->headers);
}

enum mpk_code mpk_build_c_job(struct mpk_build *b, const char *source, const char *object,
			      struct mpk_job *job, struct mpk_error *err)
{
	struct mpk_argv v = { .arena = b->arena };
	const char *name = mpk_path_name(source);
	enum mpk_source_kind kind;

	MPK_TRY(mpk_source_classify(source, &kind, err));
	add_flags(b, &v, name, kind == MPK_SOURCE_CXX);
	mpk_argv_add(&v, source);
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, object);
	job->what = mpk_arena_printf(b->arena, "compiling %s", name);
	job->process = mpk_build_process(b, v.items);
	if (v.failed || !job->what)
		return mpk_fail_nomem(err);
	b->e->hooks->command(b->e->hooks->data, v.items);
	return MPK_OK;
}

enum mpk_code mpk_build_llvm_job(struct mpk_build *b, const struct mpk_emit_source *source,
				 const char *object, mpk_process_fn *run, struct mpk_job *job,
				 struct mpk_error *err)
{
	struct mpk_build_llvm_task *t = mpk_arena_alloc(b->arena, sizeof *t);

	job->what = mpk_arena_printf(b->arena, "compiling %s",
				     source ? mpk_path_name(source->path) : "the blob");
	const char *step = mpk_arena_printf(b->arena, "LLVM: %s -> %s",
					    source ? source->path : b->symbol, object);
	MPK_TRY_ALLOC(t && job->what && step, err);
	*t = (struct mpk_build_llvm_task){ b, source, object };
	job->process.run = run;
	job->process.data = t;
	b->e->hooks->step(b->e->hooks->data, step);
	return MPK_OK;
}

/* In a child. */
static enum mpk_code run_ir(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct mpk_build_llvm_task *t = data;
	const struct mpk_emit_source *s = t->source;
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	const struct mpk_llvm *llvm;
	struct mpk_span object;

	(void)self;
	MPK_TRY(mpk_llvm_open(t->b->e->llvm, &llvm, err));
	if (!s->text.data)
		MPK_TRY(mpk_mapping_open(s->path, &map, err));
	mpk_build_confine_llvm(t->b);

	struct mpk_llvm_source source = { .triple = t->b->e->target.triple,
					  .name = mpk_path_name(s->path),
					  .bytes = s->text.data ? s->text : map.bytes };
	enum mpk_code code = llvm->compile(&source, &arena, &object, err);
	if (code == MPK_OK)
		return mpk_output_store(t->object, object, err);
	mpk_error_at_file(err, s->path);
	return code;
}

enum mpk_code mpk_build_source_job(struct mpk_build *b, size_t i, struct mpk_job *job,
				   struct mpk_error *err)
{
	const struct mpk_emit_source *s = &b->e->sources[i];
	const char *name = mpk_arena_printf(b->arena, "lib%zu.o", i);
	const char *object = name ? mpk_scratch_file(&b->scratch, b->arena, name) : NULL;

	MPK_TRY_ALLOC(object, err);
	b->objects[i] = object;
	if (s->kind == MPK_SOURCE_IR)
		return mpk_build_llvm_job(b, s, object, run_ir, job, err);
	if (!s->text.data)
		return mpk_build_c_job(b, s->path, object, job, err);

	const char *file = mpk_scratch_file(&b->scratch, b->arena, mpk_path_name(s->path));
	MPK_TRY_ALLOC(file, err);
	if (!b->e->dry_run)
		MPK_TRY(mpk_output_store(file, s->text, err));
	return mpk_build_c_job(b, file, object, job, err);
}

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ar/ar.h"
#include "elf/grow.h"
#include "elf/stamp.h"
#include "emit/build.h"
#include "emit/csource.h"
#include "emit/plugin.h"
#include "io/mapping.h"
#include "io/reader.h"
#include "text/escape.h"

/* What a job of ours needs to know; the jobs are forked, so pointers stay valid. */
struct task {
	struct mpk_build *b;
	const struct mpk_emit_source *source; /* NULL: the blob */
	const char *out;
};

static enum mpk_code write_object(const char *path, struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_piece piece = { .data = bytes.data, .fd = -1, .len = bytes.len };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	enum mpk_code code = MPK_OK;

	if (fd >= 0)
		code = mpk_write_pieces(fd, &piece, 1, NULL, err);
	if (fd < 0 || (close(fd) != 0 && code == MPK_OK))
		code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

/* --- jobs that run LLVM, in a child ---------------------------------------------- */

static enum mpk_code run_ir(void *data, struct mpk_error *err)
{
	const struct task *t = data;
	const struct mpk_llvm *llvm;
	struct mpk_mapping map = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_span object;

	MPK_TRY(mpk_llvm_open(t->b->e->llvm, &llvm, err));
	if (!t->source->text.data)
		MPK_TRY(mpk_mapping_open(t->source->path, &map, err));

	struct mpk_llvm_source source = { .triple = t->b->e->target.triple,
					  .name = mpk_path_name(t->source->path),
					  .bytes = t->source->text.data ? t->source->text
									: map.bytes };
	enum mpk_code code = llvm->compile(&source, &arena, &object, err);
	if (code == MPK_OK)
		code = write_object(t->out, object, err);
	else
		mpk_error_at_file(err, t->source->path);
	mpk_mapping_close(&map);
	mpk_arena_fini(&arena);
	return code;
}

static enum mpk_code run_blob(void *data, struct mpk_error *err)
{
	static const uint8_t stub[MPK_STUB_BYTES];
	const struct task *t = data;
	const struct mpk_build *b = t->b;
	const struct mpk_llvm *llvm;
	struct mpk_arena arena = { 0 };
	struct mpk_llvm_blob blob = {
		.triple = b->e->target.triple,
		.symbol = b->symbol,
		.large = b->lrodata,
		.bytes = mpk_span_of(stub, sizeof stub),
		.register_fn = b->register_fn,
		.align = b->placement == MPK_PLACE_FULL ? 16 : 4096,
		.prefix = b->e->prefix,
		.note = { MPK_STAMP_SECTION, MPK_STAMP_OWNER, MPK_STAMP_TYPE, b->stamp },
	};
	struct mpk_span object;

	MPK_TRY(mpk_llvm_open(b->e->llvm, &llvm, err));
	if (b->placement == MPK_PLACE_FULL)
		MPK_TRY(mpk_rope_load(b->e->blob, &arena, &blob.bytes, err));
	enum mpk_code code = llvm->emit_blob(&blob, &arena, &object, err);
	if (code == MPK_OK)
		code = write_object(t->out, object, err);
	mpk_arena_fini(&arena);
	return code;
}

/* --- the blob as C --------------------------------------------------------------- */

static enum mpk_code write_csource(struct mpk_build *b, const struct mpk_csource *c,
				   const char *path, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	if (b->e->dry_run)
		return MPK_OK;
	MPK_TRY(mpk_output_open(path, 0666, &o, err));
	enum mpk_code code = mpk_csource_write(c, o, err);
	if (code == MPK_OK)
		return mpk_output_commit(o, err);
	mpk_output_abandon(o);
	return code;
}

/* Whether the compiler takes file-scope assembly with .incbin for ELF. */
static enum mpk_code probe_incbin(struct mpk_build *b, bool *yes, struct mpk_error *err)
{
	static const char text[] =
		"#if !defined __GNUC__ || !defined __ELF__\n#error\n#endif\n"
		"__asm__(\".section .rodata\\n.incbin \\\"\" __FILE__ \"\\\"\\n.text\\n\");\n";
	const char *path = mpk_scratch_file(&b->scratch, b->arena, "probe.c");
	const char *object = mpk_scratch_file(&b->scratch, b->arena, "probe.o");
	struct mpk_argv v = { .arena = b->arena };

	*yes = true;
	if (b->e->dry_run)
		return MPK_OK;
	if (!path || !object)
		return mpk_fail_nomem(err);
	MPK_TRY(write_object(path, mpk_span_str(text), err));
	mpk_argv_add_all(&v, &b->e->cc);
	mpk_argv_add_all(&v, &b->e->cflags);
	mpk_argv_add(&v, "-c");
	mpk_argv_add(&v, path);
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, object);
	if (v.failed)
		return mpk_fail_nomem(err);
	*yes = mpk_job_try(v.items) == 0;
	return MPK_OK;
}

/* A stub or an included file costs nothing to compile; where the compiler cannot do
 * either, or the blob is small, it is C that any compiler takes. */
static enum mpk_code choose_form(struct mpk_build *b, struct mpk_csource *c, struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	bool can;

	if (e->blob->len <= MPK_CSOURCE_ARRAY_MAX)
		return MPK_OK;
	MPK_TRY(probe_incbin(b, &can, err));
	e->hooks->note(
		e->hooks->data,
		can ? "the blob goes through file-scope assembly, which the compiler takes"
		    : "the blob goes through portable C: the compiler takes no file-scope assembly for ELF");
	if (!can) {
		b->placement = MPK_PLACE_FULL;
		MPK_TRY(mpk_build_stamp(b, err));
		c->stamp = b->stamp;
		return MPK_OK;
	}
	if (b->placement != MPK_PLACE_FULL) {
		c->form = MPK_CSOURCE_STUB;
		c->lrodata = b->lrodata;
		return MPK_OK;
	}
	c->form = MPK_CSOURCE_INCBIN;
	c->size = e->blob->len;
	c->file = mpk_scratch_file(&b->scratch, b->arena, "devc.blob");
	if (!c->file)
		return mpk_fail_nomem(err);
	return mpk_build_write_stamped(b, c->file, 0666, &(struct mpk_stamped){ .rope = e->blob },
				       err);
}

/* --- command lines --------------------------------------------------------------- */

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

static void add_compile_flags(struct mpk_build *b, struct mpk_argv *v, const char *seed)
{
	const struct mpk_emit *e = b->e;

	mpk_argv_add_all(v, &e->cc);
	mpk_argv_add(v, "-c");
	mpk_argv_add(v, "-O2");
	if (e->target.format != MPK_OBJECT_COFF)
		mpk_argv_add(v, "-fPIC");
	add_prefix_maps(b, v);
	mpk_argv_printf(v, "-frandom-seed=%s", seed);
	mpk_argv_add_all(v, &e->cflags);
}

static enum mpk_code c_job(struct mpk_build *b, const char *source, const char *object,
			   struct mpk_job *job, struct mpk_error *err)
{
	struct mpk_argv v = { .arena = b->arena };

	add_compile_flags(b, &v, mpk_path_name(source));
	mpk_argv_add(&v, source);
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, object);
	job->what = mpk_arena_printf(b->arena, "compiling %s", mpk_path_name(source));
	job->argv = v.items;
	if (v.failed || !job->what)
		return mpk_fail_nomem(err);
	b->e->hooks->command(b->e->hooks->data, v.items);
	return MPK_OK;
}

static enum mpk_code llvm_job(struct mpk_build *b, const struct mpk_emit_source *source,
			      const char *object, struct mpk_job *job, struct mpk_error *err)
{
	struct task *t = mpk_arena_alloc(b->arena, sizeof *t);
	const char *name = source ? mpk_path_name(source->path) : "the blob";

	job->what = mpk_arena_printf(b->arena, "compiling %s", name);
	const char *step = mpk_arena_printf(b->arena, "LLVM: %s -> %s",
					    source ? source->path : b->symbol, object);
	if (!t || !job->what || !step)
		return mpk_fail_nomem(err);
	*t = (struct task){ .b = b, .source = source, .out = object };
	job->run = source ? run_ir : run_blob;
	job->data = t;
	b->e->hooks->step(b->e->hooks->data, step);
	return MPK_OK;
}

static enum mpk_code source_job(struct mpk_build *b, size_t i, struct mpk_job *job,
				struct mpk_error *err)
{
	const struct mpk_emit_source *s = &b->e->sources[i];
	const char *name = mpk_arena_printf(b->arena, "lib%zu.o", i);
	const char *object = name ? mpk_scratch_file(&b->scratch, b->arena, name) : NULL;

	if (!object)
		return mpk_fail_nomem(err);
	b->objects[i] = object;
	if (s->kind == MPK_SOURCE_IR)
		return llvm_job(b, s, object, job, err);
	if (!s->text.data)
		return c_job(b, s->path, object, job, err);

	const char *file = mpk_scratch_file(&b->scratch, b->arena, mpk_path_name(s->path));
	if (!file)
		return mpk_fail_nomem(err);
	if (!b->e->dry_run)
		MPK_TRY(write_object(file, s->text, err));
	return c_job(b, file, object, job, err);
}

static enum mpk_code blob_job(struct mpk_build *b, struct mpk_job *job, struct mpk_error *err)
{
	struct mpk_csource c = { .symbol = b->symbol,
				 .bytes = b->e->blob,
				 .register_fn = b->register_fn,
				 .stamp = b->stamp };
	const char *source = mpk_scratch_file(&b->scratch, b->arena, "devc.c");

	b->blob_object = mpk_scratch_file(&b->scratch, b->arena, "devc.o");
	if (!b->blob_object || !source)
		return mpk_fail_nomem(err);
	if (!b->e->via_c)
		return llvm_job(b, NULL, b->blob_object, job, err);
	MPK_TRY(choose_form(b, &c, err));
	MPK_TRY(write_csource(b, &c, source, err));
	return c_job(b, source, b->blob_object, job, err);
}

/* --- objects that are given ------------------------------------------------------ */

static enum mpk_code check_bytes(const struct mpk_target *target, struct mpk_span bytes,
				 struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_ar ar;

	if (!mpk_ar_is(bytes))
		return mpk_target_check(target, bytes, err);
	MPK_TRY(mpk_ar_read(bytes, arena, &ar, err));
	for (size_t i = 0; i < ar.member_count; i++) {
		enum mpk_code code = mpk_target_check(target, ar.members[i].data, err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "%s: ", MPK_QUOTE(ar.members[i].name));
			return code;
		}
	}
	return MPK_OK;
}

static enum mpk_code check_given(struct mpk_build *b, const char *path, struct mpk_error *err)
{
	struct mpk_mapping map = { 0 };

	MPK_TRY(mpk_mapping_open(path, &map, err));
	enum mpk_code code = check_bytes(&b->e->target, map.bytes, b->arena, err);
	mpk_mapping_close(&map);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

static enum mpk_code collect_jobs(struct mpk_build *b, struct mpk_job *jobs, size_t *count,
				  struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;

	/* The blob first: it is the largest and may come from LLVM, which starts slowly. */
	if (b->placement != MPK_PLACE_NONE)
		MPK_TRY(blob_job(b, &jobs[(*count)++], err));
	for (size_t i = 0; i < e->source_count && e->kind != MPK_EMIT_OBJ; i++) {
		const struct mpk_emit_source *s = &e->sources[i];

		if (s->kind == MPK_SOURCE_C || s->kind == MPK_SOURCE_IR) {
			MPK_TRY(source_job(b, i, &jobs[(*count)++], err));
			continue;
		}
		b->objects[i] = s->path;
		MPK_TRY(check_given(b, s->path, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_build_objects(struct mpk_build *b, struct mpk_error *err)
{
	size_t most = b->e->source_count + 1, count = 0;
	struct mpk_job *jobs = mpk_arena_array(b->arena, most, sizeof *jobs);

	b->objects = mpk_arena_array(b->arena, most, sizeof *b->objects);
	if (!jobs || !b->objects)
		return mpk_fail_nomem(err);
	MPK_TRY(collect_jobs(b, jobs, &count, err));
	return b->e->dry_run ? MPK_OK : mpk_jobs_run(jobs, count, b->e->jobs, err);
}

/* --- the finished object --------------------------------------------------------- */

enum mpk_code mpk_build_grow(struct mpk_build *b, const char *path, bool grow,
			     struct mpk_grown *out, struct mpk_error *err)
{
	struct stat st;
	void *p = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	/* Growing patches headers; a private mapping keeps that out of the file. */
	if (fd >= 0 && fstat(fd, &st) == 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	int saved = errno;
	if (fd >= 0)
		(void)close(fd);
	if (p == MAP_FAILED) {
		enum mpk_code code = mpk_fail_errno(err, MPK_E_IO, saved, "cannot map");

		mpk_error_at_file(err, path);
		return code;
	}
	*out = (struct mpk_grown){ .file = p,
				   .len = (size_t)st.st_size,
				   .rope = mpk_rope_of(b->arena) };
	out->stamped = (struct mpk_stamped){ .file = mpk_span_of(p, out->len),
					     .rope = &out->rope,
					     .blob = b->e->blob };
	if (grow)
		MPK_TRY(mpk_stamped_find(out->stamped.file, b->symbol, b->id, b->arena,
					 &out->stamped.stamp, err));
	if (grow)
		return mpk_elf_grow(out->file, out->len, b->symbol, b->e->blob, &out->rope, err);
	mpk_rope_put_view(&out->rope, mpk_span_of(out->file, out->len));
	return MPK_OK;
}

void mpk_build_unmap(struct mpk_grown *g)
{
	if (g->file)
		(void)munmap(g->file, g->len);
	memset(g, 0, sizeof *g);
}

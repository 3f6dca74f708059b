#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>

#include "emit/build.h"
#include "emit/csource.h"
#include "text/escape.h"

static const struct mpk_emit_name names[MPK_EMIT_KIND_COUNT] = {
	[MPK_EMIT_SO] = { "so", ".so" },    [MPK_EMIT_OBJ] = { "obj", ".o" },
	[MPK_EMIT_C] = { "c", ".c" },       [MPK_EMIT_A] = { "a", ".a" },
	[MPK_EMIT_TAR] = { "tar", ".tar" }, [MPK_EMIT_BLOB] = { "blob", ".blob" },
};

const struct mpk_emit_name *mpk_emit_name(enum mpk_emit_kind kind)
{
	return &names[kind];
}

const char *mpk_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

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
	if (strcmp(suffix, ".cc") == 0 || strcmp(suffix, ".cpp") == 0 || strcmp(suffix, ".cu") == 0)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"only C is compiled here; compile '%s' to an object and name that",
				MPK_QUOTE(mpk_span_str(base)));
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a host source is .ll, .bc, .c, .o or .a, which '%s' is not",
			MPK_QUOTE(mpk_span_str(base)));
}

enum mpk_code mpk_build_tool(struct mpk_build *b, const char *const *argv, const char *what,
			     struct mpk_error *err)
{
	struct mpk_job job = { .argv = argv, .what = what };

	b->e->hooks->command(b->e->hooks->data, argv);
	return b->e->dry_run ? MPK_OK : mpk_jobs_run(&job, 1, 1, err);
}

enum mpk_code mpk_build_write_stamped(struct mpk_build *b, const char *path, unsigned mode,
				      const struct mpk_stamped *s, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(mpk_rope_status(s->rope, err));
	if (b->e->dry_run)
		return MPK_OK;
	MPK_TRY(mpk_output_open(path, mode, &o, err));
	enum mpk_code code = mpk_stamped_write(s, b->arena, o, err);
	if (code == MPK_OK)
		return mpk_output_commit(o, err);
	mpk_output_abandon(o);
	return code;
}

enum mpk_code mpk_build_write(struct mpk_build *b, const struct mpk_rope *rope, unsigned mode,
			      struct mpk_error *err)
{
	struct mpk_stamped s = { .rope = rope };

	return mpk_build_write_stamped(b, b->e->out, mode, &s, err);
}

static enum mpk_code emit_c(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_csource c = { .form = MPK_CSOURCE_PLAIN,
				 .symbol = b->symbol,
				 .bytes = b->e->blob,
				 .register_fn = b->register_fn,
				 .stamp = b->stamp };
	struct mpk_output *o = NULL;

	if (b->e->dry_run)
		return MPK_OK;
	MPK_TRY(mpk_output_open(b->e->out, 0666, &o, err));
	enum mpk_code code = mpk_csource_write(&c, o, err);
	if (code == MPK_OK)
		return mpk_output_commit(o, err);
	mpk_output_abandon(o);
	return code;
}

static enum mpk_code emit_object(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_grown g = { 0 };

	MPK_TRY(mpk_build_objects(b, err));
	if (b->e->dry_run)
		return MPK_OK;
	enum mpk_code code =
		mpk_build_grow(b, b->blob_object, b->placement == MPK_PLACE_GROW_OBJECT, &g, err);
	if (code == MPK_OK)
		code = mpk_build_write_stamped(b, b->e->out, 0666, &g.stamped, err);
	mpk_build_unmap(&g);
	return code;
}

/* Which way the blob takes. A stub needs a format that can be grown; .lrodata a machine
 * that has it. TVM moves to .lrodata beyond 1 GiB, and so do objects for other linkers. */
static void place(struct mpk_build *b)
{
	const struct mpk_emit *e = b->e;
	uint64_t size = e->blob ? e->blob->len : 0;
	bool is_elf = e->target.format == MPK_OBJECT_ELF;

	if (!e->blob)
		b->placement = MPK_PLACE_NONE;
	else if (size < MPK_LARGE_BYTES || !is_elf)
		b->placement = MPK_PLACE_FULL;
	else if (e->kind == MPK_EMIT_SO && e->target.has_large)
		b->placement = MPK_PLACE_GROW_LINKED;
	else
		b->placement = MPK_PLACE_GROW_OBJECT;
	b->lrodata = b->placement == MPK_PLACE_GROW_LINKED ||
		     (e->target.has_large && size > (uint64_t)1 << 30);
}

enum mpk_code mpk_build_stamp(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	bool later = b->placement == MPK_PLACE_GROW_LINKED ||
		     (b->placement == MPK_PLACE_GROW_OBJECT && e->kind == MPK_EMIT_OBJ);

	if (!e->blob || !e->name || e->target.format != MPK_OBJECT_ELF)
		return MPK_OK;
	if (!later && !e->dry_run)
		MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, e->blob, NULL, b->digest, err));
	b->stamp = mpk_stamp_text(b->arena, e->name, b->symbol, b->digest);
	if (!b->stamp)
		return mpk_fail_nomem(err);
	if (strlen(b->stamp) >= MPK_STAMP_TEXT_MAX)
		return mpk_fail(
			err, MPK_E_RANGE,
			"the package's name, of %zu bytes, is too long for the note that tells it",
			strlen(e->name));
	return MPK_OK;
}

static enum mpk_code open_scratch(struct mpk_build *b, struct mpk_error *err)
{
	if (!b->e->dry_run)
		return mpk_scratch_open(b->e->tmpdir, b->e->save_temps, &b->scratch, err);
	/* Nothing is made: the paths are only shown. */
	b->scratch = (struct mpk_scratch){
		.path = strdup(b->e->save_temps ? b->e->save_temps : "$TMPDIR/mpack-XXXXXX"),
		.janitor = -1,
		.keep = true,
	};
	return b->scratch.path ? MPK_OK : mpk_fail_nomem(err);
}

static enum mpk_code emit_with_scratch(struct mpk_build *b, struct mpk_error *err)
{
	enum mpk_code code;

	MPK_TRY(open_scratch(b, err));
	if (b->e->kind == MPK_EMIT_OBJ) {
		code = emit_object(b, err);
	} else {
		code = mpk_build_objects(b, err);
		if (code == MPK_OK)
			code = b->e->kind == MPK_EMIT_SO ? mpk_build_library(b, err)
							 : mpk_build_archive(b, err);
	}
	mpk_scratch_close(&b->scratch);
	return code;
}

static enum mpk_code emit(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	const struct mpk_generation_info *gen = mpk_generation_get(e->gen);
	bool blob_only =
		e->kind == MPK_EMIT_C || e->kind == MPK_EMIT_BLOB || e->kind == MPK_EMIT_OBJ;

	b->symbol = mpk_arena_printf(b->arena, "%s%s", e->prefix,
				     e->symbol ? e->symbol : gen->blob_symbol);
	if (!b->symbol)
		return mpk_fail_nomem(err);
	b->register_fn = e->system_lib ? gen->register_symbol : NULL;
	if (!e->blob && blob_only)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a package of host code alone has no blob, so there is nothing to write as %s; build a .so, .a or .tar",
			names[e->kind].suffix);
	if (e->base && e->kind == MPK_EMIT_SO && e->blob)
		return mpk_build_base(b, err);
	place(b);
	if (e->kind != MPK_EMIT_BLOB)
		MPK_TRY(mpk_build_stamp(b, err));
	switch (e->kind) {
	case MPK_EMIT_BLOB:
		return mpk_build_write(b, e->blob, 0666, err);
	case MPK_EMIT_C:
		return emit_c(b, err);
	case MPK_EMIT_SO:
	case MPK_EMIT_OBJ:
	case MPK_EMIT_A:
	case MPK_EMIT_TAR:
	case MPK_EMIT_KIND_COUNT:
		break;
	}
	return emit_with_scratch(b, err);
}

enum mpk_code mpk_emit(const struct mpk_emit *e, struct mpk_error *err)
{
	struct mpk_arena arena = { 0 };
	struct mpk_build b = { .e = e, .arena = &arena };
	enum mpk_code code = emit(&b, err);

	mpk_arena_fini(&arena);
	return code;
}

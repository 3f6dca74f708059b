/* SPDX-License-Identifier: Apache-2.0 */
/* One run of mpk_emit: which way the blob takes into its object, and which steps make the output.
 * The bytes of the output depend on struct mpk_emit alone, never on time, folder or load. */
#include "emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/edit.h"
#include "emit/internal/emit.h"
#include "io/reader.h"
#include "llvm/llvm.h"

/* --- the blob with its note ---------------------------------------------------- */

/* The package note of the blob's object, for the strategy. An object or library that is extended last is given its
 * digest while it is written, any other has it from the start: a digest of zeros is a placeholder of the
 * right length. */
static enum mpk_code build_note(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	bool later = b->strategy == MPK_STRATEGY_EXTEND_LIBRARY ||
		     (b->strategy == MPK_STRATEGY_EXTEND_OBJECT && e->kind == MPK_EMIT_OBJ);

	if (!e->blob || !e->name || e->tools.target.format != MPK_OBJECT_ELF)
		return MPK_OK;
	if (!later && !e->tools.dry_run)
		MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, e->blob, NULL, b->digest, err));
	b->note = mpk_note_text(b->c.arena, e->name, b->symbol, b->digest);
	MPK_TRY_ALLOC(b->note, err);
	if (strlen(b->note) >= MPK_NOTE_TEXT_MAX)
		return mpk_fail(
			err, MPK_E_RANGE,
			"the package's name, of %zu bytes, is too long for the note that tells it",
			strlen(e->name));
	return MPK_OK;
}

/* The blob as plain C. */
static struct mpk_csource plain_csource(const struct mpk_build *b)
{
	return (struct mpk_csource){ .form = MPK_CSOURCE_PLAIN,
				     .symbol = b->symbol,
				     .bytes = b->e->blob,
				     .align = b->e->align ? b->e->align : 16,
				     .register_fn = b->register_fn,
				     .note = b->note };
}

/* --- the object of the blob ------------------------------------------------------- */

/* The blob's object, through LLVM or C. A large blob never goes through either: they get a stub
 * that elf/edit.h extends, or a file that the assembler includes. */

/* In a child. */
static enum mpk_code run_blob(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	static const uint8_t stub[MPK_STUB_BYTES];
	const struct mpk_build *b = data;
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const struct mpk_llvm *llvm;
	struct mpk_llvm_blob blob = {
		.triple = b->e->tools.target.triple,
		.format = b->e->tools.target.format,
		.symbol = b->symbol,
		.large = b->lrodata,
		.bytes = mpk_span_of(stub, sizeof stub),
		.register_fn = b->register_fn,
		.align = b->strategy != MPK_STRATEGY_FULL ? 4096
			 : b->e->align                    ? b->e->align
							  : 16,
		.prefix = b->e->prefix,
		.note = { MPK_NOTE_SECTION, MPK_NOTE_OWNER, MPK_NOTE_TYPE, b->note },
	};
	struct mpk_span object;

	(void)self;
	MPK_TRY(mpk_llvm_open(b->e->tools.llvm, &llvm, err));
	if (b->strategy == MPK_STRATEGY_FULL)
		MPK_TRY(mpk_rope_load(b->e->blob, &arena, &blob.bytes, err));
	mpk_llvm_confine(&b->c);
	MPK_TRY(llvm->emit_blob(&blob, &arena, &object, err));
	return mpk_output_store(b->blob_object, object, err);
}

/* --- as C ------------------------------------------------------------------------ */

/* Whether the compiler takes file-scope assembly with .incbin for ELF. */
static enum mpk_code probe_incbin(struct mpk_build *b, bool *yes, struct mpk_error *err)
{
	static const char text[] =
		"#if !defined __GNUC__ || !defined __ELF__\n#error\n#endif\n"
		"__asm__(\".section .rodata\\n.incbin \\\"\" __FILE__ \"\\\"\\n.text\\n\");\n";
	const char *path = mpk_scratch_file(&b->c.scratch, b->c.arena, "probe.c");
	const char *object = mpk_scratch_file(&b->c.scratch, b->c.arena, "probe.o");
	struct mpk_argv v = { .arena = b->c.arena };
	struct mpk_process_end end;

	*yes = true;
	if (b->e->tools.dry_run)
		return MPK_OK;
	MPK_TRY_ALLOC(path && object, err);
	MPK_TRY(mpk_output_store(path, mpk_span_str(text), err));
	mpk_argv_add_all(&v, &b->e->tools.cc);
	mpk_argv_add_all(&v, &b->e->tools.cflags);
	mpk_argv_add(&v, "-c");
	mpk_argv_add(&v, path);
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, object);
	if (v.failed)
		return mpk_fail_nomem(err);
	struct mpk_process compiler = { .argv = v.items,
					.env = (const char *const *)b->c.scratch.env,
					.output = MPK_OUTPUT_DISCARD };
	MPK_TRY(mpk_process_run(&compiler, 1, 1, &end, err));
	*yes = mpk_process_succeeded(&end);
	return MPK_OK;
}

enum { FILE_PAGE = 4096 };

/* A file system that shares extents between files shares whole pages. Of the blob one file alone can lie as it lies in
 * its own pages, as the distances between them are the format's: the largest. A linked stub begins at a page; with so many
 * bytes before it, that file's bytes do in the library. 0: there is no such file, or the linker copies the blob. */
static unsigned lead_of(const struct mpk_build *b)
{
	const struct mpk_rope *blob = b->e->blob;
	uint64_t at = 0, most = FILE_PAGE, lead = 0;

	if (!b->e->page_align || b->strategy != MPK_STRATEGY_EXTEND_LIBRARY)
		return 0;
	for (size_t i = 0; i < blob->count; i++) {
		const struct mpk_piece *p = &blob->pieces[i];

		if (!p->data && p->len > most) {
			most = p->len;
			lead = p->off - at; /* modulo a page */
		}
		at += p->len;
	}
	return (unsigned)(lead % FILE_PAGE);
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
	e->tools.hooks->note(
		e->tools.hooks->data,
		can ? "the blob goes through file-scope assembly, which the compiler takes"
		    : "the blob goes through portable C: the compiler takes no file-scope assembly for ELF");
	if (!can) {
		b->strategy = MPK_STRATEGY_FULL;
		MPK_TRY(build_note(b, err));
		c->note = b->note;
		return MPK_OK;
	}
	if (b->strategy != MPK_STRATEGY_FULL) {
		c->form = MPK_CSOURCE_STUB;
		c->lrodata = b->lrodata;
		c->lead = lead_of(b);
		return MPK_OK;
	}
	c->form = MPK_CSOURCE_INCBIN;
	c->size = e->blob->len;
	c->file = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.blob");
	MPK_TRY_ALLOC(c->file, err);
	return mpk_build_write(b, c->file, 0666, &(struct mpk_packed){ .rope = e->blob }, err);
}

static enum mpk_code blob_job(struct mpk_build *b, struct mpk_job *job, struct mpk_error *err)
{
	struct mpk_csource c = plain_csource(b);
	const char *source = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.c");

	b->blob_object = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.o");
	MPK_TRY_ALLOC(b->blob_object && source, err);
	if (!b->e->via_c && !lead_of(b))
		return mpk_llvm_job(&b->c, "the blob", b->symbol, b->blob_object, run_blob, b, job,
				    err);
	MPK_TRY(choose_form(b, &c, err));
	if (!b->e->tools.dry_run)
		MPK_TRY(mpk_csource_store(&c, source, err));
	return mpk_compile_c(&b->c, source, b->blob_object, NULL, job, err);
}

/* --- the run ---------------------------------------------------------------------- */

/* Compile the blob and the sources. An object of mpack holds the blob alone. */
static enum mpk_code make_objects(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_job blob = { .what = NULL };
	bool has_blob = b->strategy != MPK_STRATEGY_NONE;

	/* The blob first: it is the largest and may come from LLVM, which starts slowly. */
	if (has_blob)
		MPK_TRY(blob_job(b, &blob, err));
	b->c.sources = b->e->sources;
	b->c.source_count = b->e->kind == MPK_EMIT_OBJ ? 0 : b->e->source_count;
	return mpk_compile_sources(&b->c, has_blob ? &blob : NULL, err);
}

static enum mpk_code emit_object(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_build_file f = { 0 };
	bool extend = b->strategy == MPK_STRATEGY_EXTEND_OBJECT;

	if (b->e->tools.dry_run)
		return MPK_OK;
	mpk_build_settled(b);
	enum mpk_code code = extend ? mpk_build_file_extend(b, b->blob_object, &f, err)
				    : mpk_build_file_open(b, b->blob_object, &f, err);
	if (code == MPK_OK)
		code = mpk_build_write(b, b->e->out, 0666, &f.packed, err);
	mpk_build_file_close(&f);
	return code;
}

static enum mpk_code emit_blob(struct mpk_build *b, struct mpk_error *err)
{
	mpk_build_settled(b);
	return mpk_build_write(b, b->e->out, 0666, &(struct mpk_packed){ .rope = b->e->blob }, err);
}

static enum mpk_code emit_c(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_csource c = plain_csource(b);

	mpk_build_settled(b);
	return b->e->tools.dry_run ? MPK_OK : mpk_csource_store(&c, b->e->out, err);
}

/* mpack's object holds the blob alone. */
static const struct mpk_emitter emitter_obj = { { "obj", ".o" },
						.is_linked = true,
						.is_blob = true,
						.write = emit_object },
				emitter_c = { { "c", ".c" }, .is_blob = true, .write = emit_c },
				emitter_blob = { { "blob", ".blob" },
						 .is_blob = true,
						 .write = emit_blob };

static const struct mpk_emitter *const emitters[MPK_EMIT_KIND_COUNT] = {
	[MPK_EMIT_SO] = &mpk_emitter_so,   [MPK_EMIT_OBJ] = &emitter_obj,
	[MPK_EMIT_C] = &emitter_c,         [MPK_EMIT_A] = &mpk_emitter_a,
	[MPK_EMIT_TAR] = &mpk_emitter_tar, [MPK_EMIT_BLOB] = &emitter_blob,
};

const struct mpk_emit_name *mpk_emit_name(enum mpk_emit_kind kind)
{
	return &emitters[kind]->name;
}

/* The way of the blob. A stub needs a format that can be extended; .lrodata a machine
 * that has it. TVM moves to .lrodata beyond 1 GiB, and so do objects for other linkers. */
static void choose_strategy(struct mpk_build *b)
{
	const struct mpk_emit *e = b->e;
	uint64_t size = e->blob ? e->blob->len : 0;
	bool is_elf = e->tools.target.format == MPK_OBJECT_ELF;

	if (!e->blob)
		b->strategy = MPK_STRATEGY_NONE;
	else if (size < MPK_LARGE_BYTES || !is_elf)
		b->strategy = MPK_STRATEGY_FULL;
	else if (e->kind == MPK_EMIT_SO && e->tools.target.has_large)
		b->strategy = MPK_STRATEGY_EXTEND_LIBRARY;
	else
		b->strategy = MPK_STRATEGY_EXTEND_OBJECT;
	b->lrodata = b->strategy == MPK_STRATEGY_EXTEND_LIBRARY ||
		     (e->tools.target.has_large && size > (uint64_t)1 << 30);
}

/* A dry run shows paths of a folder that is never made. */
static enum mpk_code open_scratch(struct mpk_build *b, struct mpk_error *err)
{
	if (!b->e->tools.dry_run)
		return mpk_scratch_open(b->e->tmpdir, b->e->save_temps, &b->c.scratch, err);
	/* Nothing is made: the paths are only shown. */
	b->c.scratch.keep = true;
	if (b->e->save_temps)
		b->c.scratch.path = strdup(b->e->save_temps);
	else if (asprintf(&b->c.scratch.path, "%s/mpack-XXXXXX", b->e->tmpdir) < 0)
		b->c.scratch.path = NULL;
	return b->c.scratch.path ? MPK_OK : mpk_fail_nomem(err);
}

/* The folder goes in every case, also after failures. */
static enum mpk_code emit_with_scratch(struct mpk_build *b, struct mpk_error *err)
{
	enum mpk_code code;

	MPK_TRY(open_scratch(b, err));
	code = make_objects(b, err);
	if (code == MPK_OK && b->c.source_count && !b->e->tools.dry_run)
		code = mpk_build_check_symbols(b, err);
	if (code == MPK_OK && b->e->objects && b->e->kind != MPK_EMIT_OBJ && !b->e->tools.dry_run)
		code = mpk_objects_keep(&b->c, b->e->objects, err);
	if (code == MPK_OK)
		code = emitters[b->e->kind]->write(b, err);
	mpk_scratch_close(&b->c.scratch);
	return code;
}

static enum mpk_code emit(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	const struct mpk_generation_info *gen = mpk_generation_get(e->gen);
	const struct mpk_emitter *emitter = emitters[e->kind];

	b->symbol = mpk_arena_printf(b->c.arena, "%s%s", e->prefix,
				     e->symbol ? e->symbol : gen->blob_symbol);
	MPK_TRY_ALLOC(b->symbol, err);
	b->register_fn = e->system_lib ? gen->register_symbol : NULL;
	if (!e->blob && emitter->is_blob)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a package of host code alone has no blob, so there is nothing to write as %s; build a .so, .a or .tar",
			emitter->name.suffix);
	/* notes are the only place for a seal, and only ELF has them */
	if (e->seal && ((e->kind != MPK_EMIT_SO && e->kind != MPK_EMIT_OBJ) ||
			e->tools.target.format != MPK_OBJECT_ELF))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"only libraries and objects of ELF have room for a signature and provenance, not %s for %s",
			emitter->name.suffix, e->tools.target.triple);
	if (e->base && emitter->rebase && e->blob)
		return emitter->rebase(b, err);
	choose_strategy(b);
	if (e->kind != MPK_EMIT_BLOB)
		MPK_TRY(build_note(b, err));
	return emitter->is_linked ? emit_with_scratch(b, err) : emitter->write(b, err);
}

/* Everything of one run lies in one arena. */
enum mpk_code mpk_emit(const struct mpk_emit *e, struct mpk_error *err)
{
	struct mpk_arena arena = { 0 };
	struct mpk_build b = { .e = e, .c = { .tools = &e->tools, .arena = &arena } };
	enum mpk_code code = emit(&b, err);

	mpk_arena_fini(&arena);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The blob's object, through LLVM or C. A large blob never goes through either: they get a stub
 * that elf/extend.h extends, or a file that the assembler includes. */
#include "elf/extend.h"
#include "emit/internal/build.h"
#include "emit/internal/csource.h"
#include "io/reader.h"
#include "llvm/open.h"

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
		.align = b->strategy == MPK_STRATEGY_FULL ? 16 : 4096,
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
		MPK_TRY(mpk_build_note(b, err));
		c->note = b->note;
		return MPK_OK;
	}
	if (b->strategy != MPK_STRATEGY_FULL) {
		c->form = MPK_CSOURCE_STUB;
		c->lrodata = b->lrodata;
		return MPK_OK;
	}
	c->form = MPK_CSOURCE_INCBIN;
	c->size = e->blob->len;
	c->file = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.blob");
	MPK_TRY_ALLOC(c->file, err);
	return mpk_build_write_packed(b, c->file, 0666, &(struct mpk_packed){ .rope = e->blob },
				      err);
}

enum mpk_code mpk_build_blob_job(struct mpk_build *b, struct mpk_job *job, struct mpk_error *err)
{
	struct mpk_csource c = mpk_build_csource(b);
	const char *source = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.c");

	b->blob_object = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.o");
	MPK_TRY_ALLOC(b->blob_object && source, err);
	if (!b->e->via_c)
		return mpk_llvm_job(&b->c, "the blob", b->symbol, b->blob_object, run_blob, b, job,
				    err);
	MPK_TRY(choose_form(b, &c, err));
	if (!b->e->tools.dry_run)
		MPK_TRY(mpk_csource_store(&c, source, err));
	return mpk_compile_c(&b->c, source, b->blob_object, job, err);
}

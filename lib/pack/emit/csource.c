/* SPDX-License-Identifier: Apache-2.0 */
/* csource.c - the blob as C source, and its object, made through C or LLVM
 *
 * The form depends on differences between languages and compilers. C++ gives constants internal
 * linkage unless they are declared extern, and requires space for a string's NUL. ISO C guarantees
 * only string literals of up to 4095 characters. File-scope assembly is an extension of GNU C. */
#include "emit/internal/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "elf/edit.h"
#include "elf/note.h"
#include "io/output.h"
#include "io/reader.h"
#include "llvm/llvm.h"

enum { TEXT_BYTES = 64 * 1024, LINE_COLUMNS = 84 };

/* Text on its way to the output; flushed when full and at the end. */
struct printer {
	struct mpk_output *out;
	struct mpk_strbuf text;
	size_t column;
};

/* Writes the text and empties it. At most one piece of the output is in memory, so a blob of
 * gigabytes can be written as C. */
static enum mpk_code flush(struct printer *p, struct mpk_error *err)
{
	MPK_TRY(mpk_strbuf_status(&p->text, err));

	struct mpk_span text = mpk_span_of(p->text.data, p->text.len);
	p->text.len = 0;
	return text.len ? mpk_output_write(p->out, text, err) : MPK_OK;
}

/* Writes bytes as decimal numbers, the shortest spelling in an array. */
static void put_array_bytes(struct printer *p, struct mpk_span bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		char item[8];
		int n = snprintf(item, sizeof item, "%u,", bytes.data[i]);

		if (p->column + (size_t)n > LINE_COLUMNS) {
			mpk_strbuf_puts(&p->text, "\n\t");
			p->column = 0;
		}
		mpk_strbuf_put(&p->text, item, (size_t)n);
		p->column += (size_t)n;
	}
}

/* One byte of a string literal. Octal escapes always have three digits, so that what
 * follows is never part of them; '?' is escaped because of trigraphs. */
static size_t escape(uint8_t byte, char out[5])
{
	if (byte == '\n') {
		out[0] = '\\';
		out[1] = 'n';
		return 2;
	}
	if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' && byte != '?') {
		out[0] = (char)byte;
		return 1;
	}
	out[0] = '\\';
	out[1] = (char)('0' + (byte >> 6));
	out[2] = (char)('0' + (byte >> 3 & 7));
	out[3] = (char)('0' + (byte & 7));
	return 4;
}

/* A line feed in the blob also ends the line of the literal, so that texts in it stay readable. */
static void put_string_bytes(struct printer *p, struct mpk_span bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		char item[5];
		size_t n = escape(bytes.data[i], item);

		if (p->column + n > LINE_COLUMNS) {
			mpk_strbuf_puts(&p->text, "\"\n\t\"");
			p->column = 0;
		}
		mpk_strbuf_put(&p->text, item, n);
		p->column = bytes.data[i] == '\n' ? LINE_COLUMNS : p->column + n;
	}
}

/* Writes the pieces of the rope in chunks, which limit the memory for text. */
static enum mpk_code csource_put_bytes(struct printer *p, const struct mpk_rope *bytes,
				       void (*put)(struct printer *, struct mpk_span),
				       struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;
	struct mpk_span some = { 0 }, chunk;
	struct mpk_reader *r = malloc(sizeof *r);

	MPK_TRY_ALLOC(r, err);
	mpk_reader_init(r, bytes);
	do {
		code = mpk_reader_next(r, &some, err);
		for (size_t at = 0; code == MPK_OK && at < some.len; at += chunk.len) {
			size_t left = some.len - at;

			chunk = mpk_span_of(some.data + at, left < TEXT_BYTES ? left : TEXT_BYTES);
			put(p, chunk);
			code = flush(p, err);
		}
	} while (code == MPK_OK && some.len);
	mpk_reader_fini(r);
	free(r);
	return code;
}

enum { STUB_ALIGN = 4096 };

/* On s390x, gas pads a section to its alignment, and only the last item in a section can be
 * extended. In .lrodata, which only x86-64 has, a stub may be as small as in LLVM's objects. */
static int stub_bytes(const struct mpk_csource *c)
{
	return c->lrodata ? (int)MPK_STUB_BYTES : (int)STUB_ALIGN;
}

/* C has no initialisers that call functions, so a constructor is used; C++ initialises a static
 * variable. */
static void csource_put_registration(struct mpk_strbuf *text, const struct mpk_csource *c)
{
	mpk_strbuf_printf(text,
			  "int %s(const char *name, void *symbol);\n"
			  "#ifdef __cplusplus\n"
			  "static int mpk_registered = %s(\"%s\", (void *)%s);\n"
			  "#else\n"
			  "__attribute__((constructor)) static void mpk_register(void)\n"
			  "{\n\t(void)%s(\"%s\", (void *)%s);\n}\n"
			  "#endif\n",
			  c->register_fn, c->register_fn, c->symbol, c->symbol, c->register_fn,
			  c->symbol, c->symbol);
}

/* The text is JSON in ASCII, so only quotes, backslashes and trigraphs need escapes. The name
 * mpk_stamp gets into symbol tables: while it stays, libraries keep their bytes. */
static void csource_put_note(struct mpk_strbuf *text, const struct mpk_csource *c)
{
	size_t len = strlen(c->note) + 1;

	mpk_strbuf_printf(text,
			  "#if defined __GNUC__ && defined __ELF__\n"
			  "__attribute__((section(\"" MPK_NOTE_SECTION "\"), used, aligned(4)))\n"
			  "static const struct {\n"
			  "\tunsigned int owner_bytes, text_bytes, type;\n"
			  "\tchar owner[4], text[%zu];\n} mpk_stamp = {\n"
			  "\t4, %zu, 0x%" PRIx32 ", \"" MPK_NOTE_OWNER "\",\n\t\"",
			  (len + 3) / 4 * 4, len, MPK_NOTE_TYPE);
	for (const char *at = c->note; *at; at++) {
		if (*at == '"' || *at == '\\' || *at == '?')
			mpk_strbuf_putc(text, '\\');
		mpk_strbuf_putc(text, *at);
	}
	mpk_strbuf_puts(text, "\"\n};\n#endif\n");
}

/* One source serves C and C++, and compilers for Windows, ELF and other formats; the preprocessor
 * distinguishes them. */
static enum mpk_code put_source(struct printer *p, const struct mpk_csource *c,
				struct mpk_error *err)
{
	mpk_strbuf_printf(&p->text, "/* The module blob, made by mpack. */\n"
				    "#if defined _WIN32\n#define MPK_EXPORT __declspec(dllexport)\n"
				    "#elif defined __GNUC__\n"
				    "#define MPK_EXPORT __attribute__((visibility(\"default\")))\n"
				    "#else\n#define MPK_EXPORT\n#endif\n"
				    "/* C++ wants room for a string's NUL. */\n"
				    "#ifdef __cplusplus\n#define MPK_NUL +1\nextern \"C\" {\n"
				    "#else\n#define MPK_NUL\n#endif\n");
	if (c->form == MPK_CSOURCE_PLAIN) {
		mpk_strbuf_printf(&p->text, "MPK_EXPORT extern const unsigned char %s[]",
				  c->symbol);
		if (c->align > 16)
			mpk_strbuf_printf(&p->text, " __attribute__((aligned(%u)))", c->align);
		mpk_strbuf_puts(&p->text, ";\n");

		/* C drops the NUL of a literal that is exactly as long as its array; C++ does not,
		 * so MPK_NUL adds space for it. */
		bool small = c->bytes->len <= MPK_CSOURCE_ARRAY_MAX;

		mpk_strbuf_printf(&p->text,
				  small ? "const unsigned char %s[%" PRIu64 "] = {\n\t"
					: "const unsigned char %s[%" PRIu64 " MPK_NUL] =\n\t\"",
				  c->symbol, c->bytes->len);
		MPK_TRY(csource_put_bytes(p, c->bytes, small ? put_array_bytes : put_string_bytes,
					  err));
		mpk_strbuf_puts(&p->text, small ? "\n};\n" : "\";\n");
	} else {
		/* The symbol has the type and size that a compiler would give it: the dynamic
		 * loader and minspect read both. */
		struct mpk_strbuf *text = &p->text;
		bool stub = c->form == MPK_CSOURCE_STUB;

		mpk_strbuf_printf(text, "__asm__(\".section %s\\n\"\n\t\"\\t.balign %d\\n\"\n",
				  c->lrodata ? ".lrodata,\\\"al\\\",@progbits" : ".rodata",
				  stub ? STUB_ALIGN : (int)c->align);
		if (stub && c->lead)
			mpk_strbuf_printf(text, "\t\"\\t.zero %u\\n\"\n", c->lead);
		mpk_strbuf_printf(text,
				  "\t\"\\t.globl %s\\n\\t.type %s, STT_OBJECT\\n\"\n"
				  "\t\"\\t.size %s, %" PRIu64 "\\n%s:\\n\"\n\t\"\\t",
				  c->symbol, c->symbol, c->symbol,
				  stub ? (uint64_t)stub_bytes(c) : c->size, c->symbol);
		if (stub) {
			mpk_strbuf_printf(text, ".zero %d", stub_bytes(c));
		} else {
			mpk_strbuf_puts(text, ".incbin \\\"");

			const char *name = c->file;

			/* Escapes twice: for the assembler's string and for C's. */
			for (; *name; name++) {
				if (*name == '"' || *name == '\\')
					mpk_strbuf_puts(text, "\\\\\\");
				mpk_strbuf_putc(text, *name);
			}

			mpk_strbuf_puts(text, "\\\"");
		}
		mpk_strbuf_printf(text,
				  "\\n\"\n\t\"\\t.text\\n\");\n"
				  "MPK_EXPORT extern const unsigned char %s[];\n",
				  c->symbol);
	}
	if (c->register_fn)
		csource_put_registration(&p->text, c);
	if (c->note)
		csource_put_note(&p->text, c);
	mpk_strbuf_puts(&p->text, "#ifdef __cplusplus\n}\n#endif\n");
	return flush(p, err);
}

enum mpk_code mpk_csource_store(const struct mpk_csource *c, const char *path,
				struct mpk_error *err)
{
	struct printer p = { 0 };

	MPK_TRY(mpk_output_open(path, 0666, &p.out, err));
	enum mpk_code code = put_source(&p, c, err);
	mpk_strbuf_fini(&p.text);
	return mpk_output_finish(p.out, code, err);
}

/* --- the blob with its note ---------------------------------------------------- */

/* Returns the package note for the blob's object. An object or library that is extended last
 * gets its digest while it is written, so its note holds zeros of the right length; any other
 * note has the digest at once. */
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

/* Writes the blob as plain C. */
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

/* Makes the blob's object, through LLVM or C. A large blob is never passed to either: the compiler
 * gets a stub, which elf/edit.h extends, or the assembler includes a file. */

/* Runs LLVM in a child process. */
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

/* Returns the number of zeros to put before the blob, so that its largest file begins at a page of
 *         the library: a file system can only share extents that consist of whole pages. The format
 *         fixes the distances within a blob, so only one file can be aligned. 0 if there is no such
 *         file, or if the linker copies the blob. */
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

/* A stub or an included file takes no time to compile. If the compiler supports neither, or the
 * blob is small, it is written as plain C, which every compiler accepts. */
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

enum mpk_code mpk_build_blob(struct mpk_build *b, struct mpk_job *job, struct mpk_error *err)
{
	struct mpk_csource c;
	const char *source = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.c");

	b->blob_object = mpk_scratch_file(&b->c.scratch, b->c.arena, "devc.o");
	MPK_TRY_ALLOC(b->blob_object && source, err);
	MPK_TRY(build_note(b, err));
	if (!b->e->via_c && !lead_of(b))
		return mpk_llvm_job(&b->c, "the blob", b->symbol, b->blob_object, run_blob, b, job,
				    err);
	c = plain_csource(b);
	MPK_TRY(choose_form(b, &c, err));
	if (!b->e->tools.dry_run)
		MPK_TRY(mpk_csource_store(&c, source, err));
	return mpk_compile_c(&b->c, source, b->blob_object, NULL, job, err);
}

/* --- output as C source ----------------------------------------------------------------- */

static enum mpk_code emit_c(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_csource c;

	MPK_TRY(build_note(b, err));
	c = plain_csource(b);
	return b->e->tools.dry_run ? MPK_OK : mpk_csource_store(&c, b->e->out, err);
}

const struct mpk_emitter mpk_emitter_c = { { "c", ".c" }, .is_blob = true, .write = emit_c };

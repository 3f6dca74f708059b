/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - the contents of a standalone library: a finished library, and functions that call
 * into it
 *
 * A linked library cannot be linked again, so its file is embedded and the executor opens it as a
 * library in memory. Its blob is left out, because it would otherwise be in memory twice. If the
 * library's objects are available, they are linked in too, and the embedded library is then only
 * read, by the executor and by inspections. The new library has one function for each function of
 * its models, with tvm-ffi's calling convention. These functions are C source for the compiler; the
 * functions that they call are in the archive of the run library (lib/run/library/standalone.c). */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "ar/ar.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "kinds.h"
#include "package/internal/package.h"
#include "payload.h"
#include "program/model.h"
#include "standalone/standalone.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"

/* --- Host code that is linked into a standalone library, and the table of its symbols.
 *
 * The same objects were linked into a library before. The symbols of that library tell which names
 * a loader would look up, and which names the code imports. The table declares its symbols hidden,
 * so that the linker hides the symbols themselves and no other library finds them. If the code
 * cannot be linked in this way, the library is embedded instead, and the reason is given. */

struct linking {
	const struct mpk_image *image;
	struct mpk_arena *arena;
	struct mpk_strmap provided; /* names that the archive of the run library defines */
	const char **names;         /* names of the symbols, to be sorted */
	size_t name_count;
	const char *why;
};

/* --- symbols that the code imports ------------------------------------------------------------ */

static enum mpk_code take_archive(struct linking *l, struct mpk_span archive, struct mpk_error *err)
{
	struct mpk_ar ar;
	size_t ignored;

	MPK_TRY(mpk_ar_read(archive, l->arena, &ar, err));
	for (size_t i = 0; i < ar.symbol_count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&l->provided, ar.symbols[i].name, i, &ignored) >= 0,
			      err);
	return MPK_OK;
}

/* Checks that the loader has the functions that the code imports by name. All others come from
 * libraries, which the linker gets anyway. */
static void check_imports(struct linking *l)
{
	const struct mpk_image *image = l->image;
	size_t ignored;

	for (size_t i = 0; i < image->needed_count; i++)
		if (strncmp(image->needed[i], "libtvm", 6) == 0)
			l->why = mpk_arena_printf(l->arena, "it needs %s", image->needed[i]);
	for (size_t i = 0; i < image->undefined_count && !l->why; i++) {
		const char *name = image->undefined[i];
		bool is_old_list = image->convention == MPK_CONV_LEGACY &&
				   strncmp(name, "TVMBackendAnyList", 17) == 0;

		if (strncmp(name, "TVM", 3) == 0 &&
		    (is_old_list || !mpk_strmap_find(&l->provided, mpk_span_str(name), &ignored)))
			l->why = mpk_arena_printf(
				l->arena, "it imports '%s', which its loader alone has", name);
	}
}

/* --- symbols that the code defines ------------------------------------------------------------ */

/* Whether a name can be written in a C declaration. */
static bool linked_is_word(const char *name)
{
	return name[strspn(name,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")] ==
	       '\0';
}

static bool is_left_out(const struct linking *l, const struct mpk_symbol *s)
{
	return !s->defined || !s->name[0] || s->type == STT_SECTION || s->type == STT_FILE ||
	       (s->bind != STB_GLOBAL && s->bind != STB_WEAK && s->bind != STB_GNU_UNIQUE) ||
	       strcmp(s->name, l->image->blob_symbol) == 0;
}

static void linked_take_symbol(struct linking *l, const struct mpk_symbol *s)
{
	if (is_left_out(l, s) || l->why)
		return;
	if (s->type == STT_TLS)
		l->why = mpk_arena_printf(l->arena, "'%s' is a variable of each thread",
					  MPK_QUOTE(mpk_span_str(s->name)));
	else if (!linked_is_word(s->name))
		l->why = mpk_arena_printf(l->arena, "'%s' is no name of C",
					  MPK_QUOTE(mpk_span_str(s->name)));
	else
		l->names[l->name_count++] = s->name;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum mpk_code linked_take_symbols(struct linking *l, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol s;

	MPK_TRY(mpk_elf_open(l->image->bytes, 0, &elf, err));
	MPK_TRY(mpk_symtab_dynamic(&elf, &table, err));
	MPK_TRY_ARRAY(l->names, l->arena, table.count + 1, err);
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		linked_take_symbol(l, &s);
	}
	if (!l->name_count && !l->why)
		l->why = "it has no host code";
	if (l->name_count)
		qsort(l->names, l->name_count, sizeof *l->names, by_bytes);
	return MPK_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Returns the name of a symbol in the objects that are linked in. */
static const char *kept_name(struct mpk_arena *arena, const char *name)
{
	size_t prefix = strlen(MPK_FUNCTION_PREFIX);

	if (strncmp(name, MPK_FUNCTION_PREFIX, prefix) != 0)
		return name;
	return mpk_arena_printf(arena, MPK_FUNCTION_PREFIX_KEPT "%s", name + prefix);
}

/* Symbol names may be invalid in C, so the variables are numbered. A declaration with an assembler
 * name would lose the attribute that hides the symbol, so the directive is written for the
 * assembler. */
static enum mpk_code put_table(const struct linking *l, struct mpk_strbuf *out,
			       struct mpk_error *err)
{
	for (size_t i = 0; i < l->name_count; i++) {
		const char *name = kept_name(l->arena, l->names[i]);

		MPK_TRY_ALLOC(name, err);
		mpk_strbuf_printf(out,
				  "extern const char host%zu[] __asm__(\"%s\");\n"
				  "__asm__(\".hidden %s\");\n",
				  i, name, name);
	}
	mpk_strbuf_puts(out, "const struct mpkr_symbol mpkr_symbols[] = {\n");
	for (size_t i = 0; i < l->name_count; i++)
		mpk_strbuf_printf(out, "\t{ \"%s\", host%zu },\n", l->names[i], i);
	mpk_strbuf_puts(out, "\t{ 0, 0 }\n};\n");
	return mpk_strbuf_status(out, err);
}

/* Prints the symbols of a library's code as C, for the executor that is linked together with that
 * code
 * @archive archive of the run library, which defines functions that the code calls
 * @out     receives "const struct mpkr_symbol mpkr_symbols[] = { ... };"
 * @why     receives NULL, or a sentence: the reason why the code cannot be linked in; nothing was
 *          written then
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
static enum mpk_code linked_table(const struct mpk_image *image, struct mpk_span archive,
				  struct mpk_arena *arena, struct mpk_strbuf *out, const char **why,
				  struct mpk_error *err)
{
	struct linking l = { .image = image, .arena = arena };
	enum mpk_code code = take_archive(&l, archive, err);

	if (code == MPK_OK)
		check_imports(&l);
	if (code == MPK_OK && !l.why)
		code = linked_take_symbols(&l, err);
	mpk_strmap_fini(&l.provided);
	MPK_TRY(code);
	*why = l.why;
	return l.why ? MPK_OK : put_table(&l, out, err);
}

/* The findings about the library so far. */
struct carrier {
	struct mpk_arena *arena;
	struct mpk_image image;
	struct mpk_tree tree;
	struct mpk_standalone_tensor
		*tensors; /* malloc'ed while they grow, in the order of the blob */
	size_t tensor_count, tensor_cap;
	struct mpk_strbuf text;
	size_t function_count;
	bool has_state;             /* its models call builtins for caches or other states */
	struct mpk_strmap exported; /* symbols of the new library; in the arena */
	struct mpk_error *err;
};

static void carrier_fini(struct carrier *c)
{
	free(c->tensors);
	mpk_strmap_fini(&c->exported);
	mpk_strbuf_fini(&c->text);
}

/* --- tensors ---------------------------------------------------------------------------------- */

MPK_ORDER_BY(by_offset, struct mpk_standalone_tensor, off)

/* --- entries ---------------------------------------------------------------------------------- */

static const char preamble[] =
	"/* The entries of a standalone model; made by mpack. */\n"
	"struct mpkr_symbol {\n\tconst char *name;\n\tconst void *address;\n};\n"
	"typedef __SIZE_TYPE__ size_type;\n"
	"struct mpkr_entry {\n"
	"\tconst void *model;\n\tconst struct mpkr_symbol *symbols;\n"
	"\tconst char *name;\n\tvoid *function;\n"
	"\tsize_type (*decode)(void *, size_type, const void *, size_type);\n};\n"
	"extern const unsigned char " MPK_STANDALONE_SYMBOL "[];\n"
	"int mpkr_enter(struct mpkr_entry *, const void *, int, void *);\n"
	"int mpkr_answer(const char *, void *);\n"
	"const char *mpkr_raised(void);\n"
	"int mpkr_item(const void *, unsigned long, void *);\n"
	"int mpkr_shape(const long long *, unsigned long, void *);\n"
	"void mpkr_forget(void *);\n"
	"#define EXPORT __attribute__((visibility(\"default\")))\n"
	"EXPORT const char *__mpk_standalone_error(void)\n"
	"{\n\treturn mpkr_raised();\n}\n"
	"EXPORT int __mpk_standalone_item(const void *from, unsigned long i, void *out)\n"
	"{\n\treturn mpkr_item(from, i, out);\n}\n"
	"EXPORT int __mpk_standalone_shape(const long long *extents, unsigned long n, void *out)\n"
	"{\n\treturn mpkr_shape(extents, n, out);\n}\n"
	"EXPORT void __mpk_standalone_drop(void *result)\n"
	"{\n\tmpkr_forget(result);\n}\n";

/* Whether a name can be a symbol without quotes, which not every assembler accepts. */
static bool is_plain(struct mpk_span name)
{
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '.' || c == '$'))
			return false;
	}
	return name.len > 0;
}

static const char schema_array[] = "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Any\"}]}";

/* Prints a type in the same way as tvm-ffi's exporter (signature.h). */
static void put_schema_type(struct mpk_strbuf *out, const struct mpk_type *t, bool is_input)
{
	bool is_real = t->dtype.code == MPK_DTYPE_FLOAT || t->dtype.code == MPK_DTYPE_BFLOAT;
	const char *name = "Any";

	if (t->kind == MPK_TYPE_TENSOR)
		name = is_input ? "DLTensor*" : "ffi.Tensor";
	else if (t->kind == MPK_TYPE_SHAPE)
		name = "ffi.Shape";
	else if (t->kind == MPK_TYPE_STRING)
		name = "str";
	else if (t->kind == MPK_TYPE_SCALAR)
		name = mpk_dtype_is_bool(t->dtype) ? "bool" : is_real ? "float" : "int";
	if (t->kind == MPK_TYPE_TUPLE)
		mpk_strbuf_puts(out, schema_array);
	else
		mpk_strbuf_printf(out, "{\"type\":\"%s\"}", name);
}

/* Prints the metadata as a JSON string that contains JSON. */
static void put_metadata(struct mpk_strbuf *out, const struct mpk_signature *s)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf body = { 0 };

	mpk_strbuf_puts(&body, "{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[");
	if (s->outputs_known && s->output_count == 1)
		put_schema_type(&body, &s->outputs[0].type, false);
	else if (s->outputs_known && s->output_count > 1)
		mpk_strbuf_puts(&body, schema_array);
	else
		mpk_strbuf_puts(&body, "{\"type\":\"Any\"}");
	mpk_strbuf_puts(&body, "],\"params\":[");
	for (size_t i = 0; i < s->input_count; i++) {
		mpk_strbuf_puts(&body, i ? "," : "");
		put_schema_type(&body, &s->inputs[i].type, true);
	}
	mpk_strbuf_puts(&body, "]}}");

	mpk_strbuf_puts(out, MPK_SCHEMA_BEGIN "\"");
	for (size_t i = 0; i < body.len; i++) {
		if (body.data[i] == '"')
			mpk_strbuf_putc(out, '\\');
		mpk_strbuf_putc(out, body.data[i]);
	}
	mpk_strbuf_puts(out, "\"}");
}

/* Adds a symbol of the new library.
 * Returns  false: the library already has a symbol of that name */
static bool take_name(struct carrier *c, const char *what, struct mpk_span name)
{
	char *symbol = mpk_arena_printf(c->arena, "__tvm_ffi_%s%.*s", what, (int)name.len,
					(const char *)name.data);
	size_t ignored;
	int put = symbol ? mpk_strmap_put(&c->exported, mpk_span_str(symbol), 0, &ignored) : -1;

	c->text.failed |= put < 0;
	return put > 0;
}

/* Prints a function that returns a text: tvm-ffi gets texts about a function from such getters. */
static void put_getter(struct carrier *c, const char *what, struct mpk_span name,
		       const struct mpk_strbuf *text)
{
	struct mpk_strbuf *out = &c->text;

	(void)take_name(c, what, name);
	mpk_strbuf_printf(
		out,
		"EXPORT int get_%s%zu(void *, const void *, int, void *)\n"
		"\t__asm__(\"__tvm_ffi_%s%.*s\");\n"
		"int get_%s%zu(void *self, const void *args, int count, void *result)\n"
		"{\n\t(void)self;\n\t(void)args;\n\t(void)count;\n\treturn mpkr_answer(\n\t\t",
		what, c->function_count, what, (int)name.len, (const char *)name.data, what,
		c->function_count);
	mpk_escape_c(out, mpk_span_of(text->data, text->len));
	mpk_strbuf_puts(out, ",\n\t\tresult);\n}\n");
}

/* @signature  NULL for a host function, whose signature is unknown */
static enum mpk_code put_entry(struct carrier *c, struct mpk_span name,
			       const struct mpk_signature *signature)
{
	struct mpk_strbuf *out = &c->text;

	/* Several executables of one library may have functions of the same name: callers get the
	 * first. */
	if (!take_name(c, "", name))
		return MPK_OK;
	if (!is_plain(name))
		return mpk_fail(c->err, MPK_E_UNSUPPORTED,
				"its function '%s' has a name that is no symbol", MPK_QUOTE(name));
	mpk_strbuf_printf(
		out, "static struct mpkr_entry entry%zu = { " MPK_STANDALONE_SYMBOL ", SYMBOLS, ",
		c->function_count);
	mpk_escape_c(out, name);
	mpk_strbuf_printf(
		out,
		", 0, DECODE };\n"
		"EXPORT int call%zu(void *, const void *, int, void *)\n"
		"\t__asm__(\"__tvm_ffi_%.*s\");\n"
		"int call%zu(void *self, const void *args, int count, void *result)\n"
		"{\n\t(void)self;\n\treturn mpkr_enter(&entry%zu, args, count, result);\n}\n",
		c->function_count, (int)name.len, (const char *)name.data, c->function_count,
		c->function_count);
	if (signature) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf metadata = { 0 }, doc = { 0 };

		put_metadata(&metadata, signature);
		mpk_signature_text(signature, &doc);
		put_getter(c, MPK_GETTER_METADATA, signature->name, &metadata);
		put_getter(c, MPK_GETTER_DOC, signature->name, &doc);
		if (metadata.failed || doc.failed)
			c->text.failed = true;
	}
	c->function_count++;
	return MPK_OK;
}

/* --- states -------------------------------------------------------------------------------------- */

/* Builtins of caches, recurrent states and samplers, in the order of their names. */
static const char *const state_builtins[] = {
#define MPK_RELAX_BUILTIN(...)
#define MPK_RELAX_STATE(name, effect, family, call, typing) name,
#include "program/relax_builtins.def"
#undef MPK_RELAX_BUILTIN
};

static bool is_state_builtin(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(state_builtins); i++)
		if (mpk_span_is(name, state_builtins[i]))
			return true;
	return false;
}

/* Byte code has a table of the functions that it calls. */
static bool calls_state(const struct mpk_payload *p)
{
	bool calls = false;

	for (size_t i = 0; p->tag == MPK_PAYLOAD_RELAX && i < p->u.relax.func_count && !calls; i++)
		calls = is_state_builtin(p->u.relax.funcs[i].name);
	return calls;
}

/* Compiled code contains the names of these functions as strings. */
static bool mentions_state(struct mpk_span code)
{
	static const char begin[] = "vm.builtin.";
	const size_t len = sizeof begin - 1;
	const uint8_t *at = code.data, *end = code.data + code.len;

	while (at && (at = memmem(at, (size_t)(end - at), begin, len)) != NULL) {
		const uint8_t *last = at + len;

		while (last < end &&
		       (*last == '_' || *last == '.' || (*last >= 'a' && *last <= 'z')))
			last++;
		if (is_state_builtin(mpk_span_of(at, (size_t)(last - at))))
			return true;
		at = last;
	}
	return false;
}

/* --- the library ------------------------------------------------------------------------------ */

static enum mpk_code take_node(struct carrier *c, const struct mpk_node *node)
{
	const struct mpk_kind *kind = mpk_kind_find(node->kind);
	struct mpk_payload p;
	struct mpk_models models = { 0 };

	if (!kind || node->is_lib || !mpk_model_is_kind(node->kind))
		return MPK_OK;
	MPK_TRY(mpk_payload_decode(kind, c->tree.gen, mpk_source_of(node), c->arena, &p, c->err));

	/* Parts are listed in stored order. */
	struct mpk_extracted_files parts;

	MPK_TRY(mpk_payload_parts(&p, c->arena, &parts, c->err));
	for (size_t i = 0; i < parts.count; i++) {
		const struct mpk_extracted_file *f = &parts.items[i];

		if (!f->tensor || !f->stored || f->data.len < MPK_STANDALONE_TENSOR_MIN)
			continue;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(c->tensors, c->tensor_count, c->tensor_cap), c->err);
		c->tensors[c->tensor_count++] =
			(struct mpk_standalone_tensor){ f->off, f->data.len };
	}

	c->has_state |= calls_state(&p);
	MPK_TRY(mpk_models_of(&p, c->arena, &models, c->err));
	for (size_t i = 0; i < models.count; i++)
		MPK_TRY(put_entry(c, models.items[i].name, &models.items[i]));
	return MPK_OK;
}

static enum mpk_code read_carried(struct carrier *c, struct mpk_span library)
{
	const struct mpk_image *image = &c->image;

	MPK_TRY(mpk_image_open(library, NULL, c->arena, &c->image, c->err));
	if (image->carrier.len)
		return mpk_fail(c->err, MPK_E_UNSUPPORTED, "it carries its executor already");
	if (image->container != MPK_CONTAINER_ELF_SO || image->is_packed)
		return mpk_fail(
			c->err, MPK_E_UNSUPPORTED,
			"only a shared library of ELF can be carried; link the objects first");
	if (!image->has_blob)
		return mpk_fail(c->err, MPK_E_NO_BLOB,
				"it has no module blob: plain tvm-ffi calls it as it is");
	MPK_TRY(mpk_image_check_single(image, c->err));
	MPK_TRY(mpk_image_check_digest(image, NULL, c->arena, c->err));
	MPK_TRY(mpk_blob_read(mpk_image_blob(image), image->gen, c->arena, &c->tree, c->err));
	for (size_t i = 0; i < c->tree.count; i++)
		MPK_TRY(take_node(c, &c->tree.nodes[i]));
	if (!c->function_count) {
		for (size_t i = 0; i < c->image.function_count; i++)
			if (!c->image.functions[i].alias_of)
				MPK_TRY(put_entry(c, mpk_span_str(c->image.functions[i].name),
						  NULL));
	} else if (!c->has_state) {
		/* Search the code: the bytes before and after the blob. */
		struct mpk_span blob = mpk_image_blob(image);
		size_t before = (size_t)(blob.data - library.data), after = before + blob.len;

		c->has_state = mentions_state(mpk_span_of(library.data, before)) ||
			       mentions_state(mpk_span_from(library, after));
	}
	if (c->has_state) {
		for (size_t i = 0; i < MPK_ARRAY_COUNT(state_builtins); i++)
			MPK_TRY(put_entry(c, mpk_span_str(state_builtins[i]), NULL));
	}
	if (!c->function_count)
		return mpk_fail(c->err, MPK_E_NOTFOUND, "no function of it can be called");
	if (c->tensor_count)
		qsort(c->tensors, c->tensor_count, sizeof *c->tensors, by_offset);
	return MPK_OK;
}

/* --- compression ------------------------------------------------------------------------------ */

enum {
	LEVEL = 15, /* level of zstd: slow to compress, as fast to decompress as others */
	/* per cent: below this saving, the model stays uncompressed, so that it can be used in
	 * place */
	LEAST_SAVED = 10,
	DECODER_BYTES = 228 << 10, /* bytes that zstd's decoder adds to the library */
};

/* Adds a checksum, so that a damaged frame is detected.
 * Returns  the size of the frame in bytes, or an error of zstd */
static size_t compress_piece(struct mpk_span plain, void *to, size_t room)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t rc = 0;

	if (z) {
		rc = ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
		if (!ZSTD_isError(rc))
			rc = ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
		if (!ZSTD_isError(rc))
			rc = ZSTD_compress2(z, to, room, plain.data, plain.len);
	}
	(void)ZSTD_freeCCtx(z);
	return rc;
}

static enum mpk_code pack_piece(struct mpk_span plain, struct mpk_arena *arena,
				struct mpk_span *out, struct mpk_error *err)
{
	size_t room = ZSTD_compressBound(plain.len), used;
	void *to = malloc(room);

	MPK_TRY_ALLOC(to, err);
	used = compress_piece(plain, to, room);
	if (!used || ZSTD_isError(used)) {
		free(to);
		return mpk_fail_nomem(err); /* No other error is possible. */
	}
	if (used < plain.len - plain.len / 100 * LEAST_SAVED) {
		const char *copy = mpk_arena_copy(arena, to, used);

		*out = mpk_span_of(copy, copy ? used : 0);
	}
	free(to);
	return MPK_OK;
}

/* @plain   bytes of the uncompressed model */
static const char *judge_packing(struct mpk_arena *arena, uint64_t plain, uint64_t saved)
{
	if (saved == 0)
		return "nothing of it becomes a tenth smaller by zstd, so it is carried as it is";
	if (saved >= DECODER_BYTES && saved >= plain / 100 * LEAST_SAVED)
		return NULL;
	return mpk_arena_printf(arena,
				"zstd saves %" PRIu64 " of %" PRIu64
				" bytes and adds about %d of its own: "
				"without --compress the library would be smaller, or nearly so",
				saved, plain, (int)DECODER_BYTES);
}

/* Prints the functions after the declarations that they use, and the table of symbols if the code
 * is linked in. */
static enum mpk_code finish_source(struct carrier *c, const struct mpk_strbuf *table,
				   struct mpk_standalone_plan *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	char *copy;

	mpk_strbuf_puts(&text, preamble);
	mpk_strbuf_puts(&text, table->len ? "extern const struct mpkr_symbol mpkr_symbols[]\n"
					    "\t__attribute__((visibility(\"hidden\")));\n"
					    "#define SYMBOLS mpkr_symbols\n"
					  : "#define SYMBOLS 0\n");
	mpk_strbuf_puts(&text,
			out->is_packed
				? "size_type ZSTD_decompress(void *, size_type, const void *, "
				  "size_type);\n"
				  "#define DECODE ZSTD_decompress\n"
				: "#define DECODE 0\n");
	mpk_strbuf_put_span(&text, mpk_span_of(c->text.data, c->text.len));
	mpk_strbuf_put_span(&text, mpk_span_of(table->data, table->len));
	text.failed |= c->text.failed || table->failed;
	MPK_TRY(mpk_strbuf_status(&text, err));
	copy = mpk_arena_copy(c->arena, text.data, text.len);
	MPK_TRY_ALLOC(copy, err);
	out->source = mpk_span_of(copy, text.len);
	return MPK_OK;
}

/* Whether the library has only byte code and host code. */
static bool is_cpu(const struct carrier *c)
{
	bool has_model = false;

	for (size_t i = 0; i < c->tree.count; i++) {
		const struct mpk_node *node = &c->tree.nodes[i];
		bool is_relax = mpk_span_is(node->kind, "relax.VMExecutable") ||
				mpk_span_is(node->kind, "relax.Executable");

		if (!is_relax && !node->is_lib)
			return false;
		has_model |= is_relax;
	}
	return has_model;
}

static bool needs_cxx(const struct mpk_image *image)
{
	for (size_t i = 0; i < image->needed_count; i++)
		if (strncmp(image->needed[i], "libstdc++.", 10) == 0 ||
		    strncmp(image->needed[i], "libc++.", 7) == 0)
			return true;
	return false;
}

enum mpk_code mpk_standalone_plan(const struct mpk_standalone_input *input, struct mpk_arena *arena,
				  struct mpk_standalone_plan *out, struct mpk_error *err)
{
	MPK_CLEANUP(carrier_fini) struct carrier c = { .arena = arena, .err = err };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf table = { 0 };

	*out = (struct mpk_standalone_plan){ .model = mpk_rope_of(arena) };
	MPK_TRY(read_carried(&c, input->library));
	if (input->archive.len)
		MPK_TRY(linked_table(&c.image, input->archive, arena, &table, &out->unlinked, err));
	out->needs_cxx = needs_cxx(&c.image);
	out->has_state = c.has_state;
	out->is_cpu = is_cpu(&c);

	struct mpk_standalone_facts facts = {
		.gen = c.image.gen,
		.executor = input->executor,
		.is_linked = input->is_linked || (input->archive.len && !out->unlinked),
		.pack = input->compress ? pack_piece : NULL,
	};
	const struct mpk_standalone_tensor *tensors =
		mpk_arena_keep(c.arena, c.tensors, c.tensor_count, sizeof *c.tensors);
	uint64_t saved;

	MPK_TRY_ALLOC(tensors, err);
	MPK_TRY(mpk_standalone_write(input->library, mpk_image_blob(&c.image), &facts, tensors,
				     c.tensor_count, &saved, &out->model, err));
	out->is_packed = saved > 0;
	if (input->compress)
		out->packing = judge_packing(c.arena, out->model.len + saved, saved);
	MPK_TRY(mpk_rope_status(&out->model, err));

	return finish_source(&c, &table, out, err);
}

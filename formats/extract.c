/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a decoded payload consists of. Names come from the payload and may be hostile
 * (".." or a slash, 64 KiB long, twice the same): what a file system could take amiss is replaced
 * and numbered, and the title keeps the name as it was. */
#include "base/compiler.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "kernels/kernels.h"
#include "payload.h"
#include "text/escape.h"

static void put_string(struct mpk_strbuf *out, struct mpk_span s)
{
	mpk_escape_json(out, s, "\\ufffd");
}

static void put_function(const struct mpk_function_info *f, bool extra_tags, struct mpk_strbuf *out)
{
	char text[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, "    ");
	put_string(out, f->key);
	mpk_strbuf_puts(out, ": {\n      \"name\": ");
	put_string(out, f->name);
	mpk_strbuf_puts(out, ",\n      \"arg_types\": [");
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "",
				  mpk_dtype_print(f->arg_types[i], text));
	mpk_strbuf_puts(out, "],\n      \"launch_param_tags\": [");
	for (size_t i = 0; i < f->launch_tag_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		put_string(out, f->launch_tags[i]);
	}
	mpk_strbuf_putc(out, ']');
	if (extra_tags) {
		mpk_strbuf_puts(out, ",\n      \"arg_extra_tags\": [");
		for (size_t i = 0; i < f->extra_tag_count; i++)
			mpk_strbuf_printf(out, "%s%" PRId32, i ? ", " : "", f->extra_tags[i]);
		mpk_strbuf_putc(out, ']');
	}
	mpk_strbuf_puts(out, "\n    }");
}

/* Append the function table as the text of a .tvm_meta.json
 * arg_extra_tags are left out where the generation has none. Bytes that are not UTF-8
 * become U+FFFD. */
static void kernels_meta(const struct mpk_kernels *k, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "{\n  \"tvm_version\": \"0.1.0\",\n  \"func_info\": {");
	for (size_t i = 0; i < k->function_count && !out->failed; i++) {
		mpk_strbuf_puts(out, i ? ",\n" : "\n");
		put_function(&k->functions[i], k->gen != MPK_GEN_LEGACY, out);
	}
	mpk_strbuf_puts(out, k->function_count ? "\n  }\n}\n" : "}\n}\n");
}

/* ".ptx", ".cubin", ".cl", ...: what a file with this code is called
 * @kind    the module kind, for layouts that store no format
 * Returns  static text; ".bin" for formats without a usual suffix */
static const char *kernels_suffix(const struct mpk_kernels *k, struct mpk_span kind)
{
	static const char *const suffixes[][2] = {
		{ "ptx", ".ptx" },
		{ "cubin", ".cubin" },
		{ "fatbin", ".fatbin" },
		{ "cuda", ".cu" },
		{ "cl", ".cl" },
		{ "xclbin", ".xclbin" },
		{ "aocx", ".aocx" },
		{ "awsxclbin", ".awsxclbin" },
		{ "metal", ".metal" },
		{ "hsaco", ".hsaco" },
		{ "metallib", ".metallib" },
		{ "hip", ".hip" },
		{ "so", ".so" },
		{ "gl", ".gl.json" },
		{ "vulkan", ".spv" },
	};

	if (k->layout == MPK_KERNELS_WEBGPU || mpk_span_is(kind, "webgpu"))
		return ".wgsl";
	if (k->layout == MPK_KERNELS_OPENCL_SPIRV || k->layout == MPK_KERNELS_SHADERS ||
	    k->layout == MPK_KERNELS_SHADERS_024)
		return ".spv";
	for (size_t i = 0; i < MPK_ARRAY_COUNT(suffixes); i++) {
		if (mpk_span_is(k->fmt, suffixes[i][0]))
			return suffixes[i][1];
	}
	return ".bin";
}

struct builder {
	const struct mpk_payload *p;
	struct mpk_arena *arena;
	struct mpk_extracted_file *files; /* malloc'ed while it grows */
	size_t count, cap;
	struct mpk_strmap names; /* of the files so far */
	bool with_tables;        /* "functions.json", too */
	struct mpk_error *err;
};

static void builder_fini(struct builder *b)
{
	free(b->files);
	mpk_strmap_fini(&b->names);
}

/* --- names -------------------------------------------------------------------------------- */

static bool file_char(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* Bytes of a title that go into a name: file systems end at 255. */
enum { STEM_MAX = 120 };

/* What of a title can be in a file name; *same says whether that is all of it. */
static const char *file_stem(struct mpk_arena *arena, struct mpk_span title, bool *same)
{
	size_t len = title.len < STEM_MAX ? title.len : STEM_MAX;
	char *stem = mpk_arena_copy(arena, title.data, len);

	*same = len == title.len && len > 0;
	for (size_t i = 0; stem && i < len; i++) {
		bool dots = stem[i] == '.' && (i == 0 || stem[i - 1] == '.');

		if (file_char(title.data[i]) && !dots)
			continue;
		stem[i] = '_';
		*same = false;
	}
	return stem;
}

/* dir/title.suffix, with the file's number before the suffix when title had to be changed
 * or the name is taken. */
static const char *make_name(struct builder *b, const char *dir, struct mpk_span title,
			     const char *suffix)
{
	bool same;
	size_t found;
	const char *stem = file_stem(b->arena, title, &same);
	const char *number = same ? "" : mpk_arena_printf(b->arena, "-%zu", b->count);
	const char *name = NULL;

	while (stem && number) {
		name = mpk_arena_printf(b->arena, "%s%s%s%s", dir, stem, number, suffix);
		if (!name || !mpk_strmap_find(&b->names, mpk_span_str(name), &found))
			break;
		number = mpk_arena_printf(b->arena, "%s-%zu", number, b->count);
		name = NULL;
	}
	return name;
}

const char *mpk_node_folder(const struct mpk_node *node, size_t index, struct mpk_arena *arena)
{
	enum { KIND_MAX = 40 };
	char kind[KIND_MAX + 1] = "host";
	size_t len = node->kind.len < KIND_MAX ? node->kind.len : KIND_MAX;

	for (size_t i = 0; i < len && !node->is_lib; i++)
		kind[i] = (char)(file_char(node->kind.data[i]) ? node->kind.data[i] : '_');
	if (!node->is_lib)
		kind[len] = '\0';
	return mpk_arena_printf(arena, "%zu-%s", index, kind);
}

/* --- adding ------------------------------------------------------------------------------- */

static enum mpk_code add(struct builder *b, const char *name, struct mpk_extracted_file file)
{
	const uint8_t *bytes = b->p->source.span.data;
	size_t len = b->p->source.span.len, at;
	size_t ignored;

	if (!name || !mpk_vec_reserve(&b->files, &b->cap, b->count + 1, sizeof *b->files) ||
	    mpk_strmap_put(&b->names, mpk_span_str(name), b->count, &ignored) < 0)
		return mpk_fail_nomem(b->err);
	file.name = name;
	if (file.stored && bytes && file.data.data) {
		at = (size_t)((uintptr_t)file.data.data - (uintptr_t)bytes);
		file.off = at <= len ? b->p->source.off + at : 0;
	}
	b->files[b->count++] = file;
	return MPK_OK;
}

static enum mpk_code add_bytes(struct builder *b, const char *name, struct mpk_span data)
{
	return add(b, name, (struct mpk_extracted_file){ .data = data, .stored = true });
}

/* Takes the text over into the arena. */
static enum mpk_code add_text(struct builder *b, const char *name, struct mpk_strbuf *text)
{
	char *copy = text->failed ? NULL : mpk_arena_copy(b->arena, text->data, text->len);
	struct mpk_extracted_file file = { .data = mpk_span_of(copy, text->len) };

	mpk_strbuf_fini(text);
	return copy ? add(b, name, file) : mpk_fail_nomem(b->err);
}

static enum mpk_code add_tensor(struct builder *b, const char *name, struct mpk_span title,
				const struct mpk_tensor_record *t)
{
	return add(b, name,
		   (struct mpk_extracted_file){
			   .data = t->data, .stored = true, .tensor = t, .title = title });
}

static enum mpk_code add_params(struct builder *b, const char *dir, const struct mpk_params *p)
{
	for (size_t i = 0; i < p->names.count; i++) {
		struct mpk_span title = p->names.items[i];

		MPK_TRY(add_tensor(b, make_name(b, dir, title, ""), title, &p->tensors[i]));
	}
	return MPK_OK;
}

/* --- by payload --------------------------------------------------------------------------- */

static enum mpk_code kernels_files(struct builder *b)
{
	const struct mpk_kernels *k = &b->p->u.kernels;
	const char *suffix = kernels_suffix(k, mpk_span_str(b->p->kind->name));
	struct mpk_strbuf json = { 0 };

	if (k->layout == MPK_KERNELS_PLAIN)
		MPK_TRY(add_bytes(b, mpk_arena_printf(b->arena, "kernels%s", suffix), k->data));
	for (size_t i = 0; i < k->source_count; i++) {
		const struct mpk_kernel_source *s = &k->sources[i];
		struct mpk_extracted_file file = { .data = s->data,
						   .stored = true,
						   .title = s->key };

		MPK_TRY(add(b, make_name(b, "kernels/", s->key, suffix), file));
	}
	if (!b->with_tables)
		return MPK_OK;
	kernels_meta(k, &json);
	return add_text(b, "functions.json", &json);
}

static enum mpk_code record_files(struct builder *b)
{
	const struct mpk_record *r = &b->p->u.record;

	for (size_t i = 0; i < r->schema->count; i++) {
		if (r->schema->fields[i].file)
			MPK_TRY(add_bytes(b, r->schema->fields[i].file, r->values[i].str));
	}
	return MPK_OK;
}

static enum mpk_code factory_files(struct builder *b)
{
	const struct mpk_factory *f = &b->p->u.factory;

	if (f->has_graph)
		MPK_TRY(add_bytes(b, "graph.json", f->graph_json));
	return add_params(b, "params/", &f->params);
}

static enum mpk_code ethosn_files(struct builder *b)
{
	const struct mpk_ethosn *e = &b->p->u.ethosn;

	for (size_t i = 0; i < e->count; i++) {
		const struct mpk_ethosn_network *n = &e->networks[i];
		struct mpk_extracted_file file = { .data = n->compiled,
						   .stored = true,
						   .title = n->name };

		MPK_TRY(add(b, make_name(b, "networks/", n->name, ".bin"), file));
	}
	return MPK_OK;
}

static enum mpk_code relax_files(struct builder *b)
{
	const struct mpk_relax *x = &b->p->u.relax;
	struct mpk_strbuf listing = { 0 };

	for (size_t i = 0; i < x->const_count; i++) {
		if (x->consts[i].kind == MPK_RELAX_TENSOR)
			MPK_TRY(add_tensor(b, mpk_arena_printf(b->arena, "constants/%zu", i),
					   (struct mpk_span){ 0 }, &x->consts[i].u.tensor));
	}
	mpk_relax_dump(x, &listing);
	return add_text(b, "bytecode.txt", &listing);
}

static enum mpk_code relay_files(struct builder *b)
{
	const struct mpk_relay *x = &b->p->u.relay;
	struct mpk_strbuf listing = { 0 };

	for (size_t i = 0; i < x->const_count; i++) {
		if (!x->consts[i].late_bound)
			MPK_TRY(add_tensor(b, mpk_arena_printf(b->arena, "constants/%zu", i),
					   (struct mpk_span){ 0 }, &x->consts[i].tensor));
	}
	mpk_relay_dump(x, &listing);
	return add_text(b, "bytecode.txt", &listing);
}

static enum mpk_code all_files(struct builder *b)
{
	switch (b->p->tag) {
	case MPK_PAYLOAD_EMPTY:
		return MPK_OK;
	case MPK_PAYLOAD_KERNELS:
		return kernels_files(b);
	case MPK_PAYLOAD_RECORD:
		return record_files(b);
	case MPK_PAYLOAD_FACTORY:
		return factory_files(b);
	case MPK_PAYLOAD_CONSTS:
		return add_params(b, "constants/", &b->p->u.consts.consts);
	case MPK_PAYLOAD_ETHOSN:
		return ethosn_files(b);
	case MPK_PAYLOAD_RELAX:
		return relax_files(b);
	case MPK_PAYLOAD_RELAY:
		return relay_files(b);
	}
	return MPK_OK;
}

static enum mpk_code extract(const struct mpk_payload *p, bool with_tables, struct mpk_arena *arena,
			     struct mpk_extracted_files *out, struct mpk_error *err)
{
	struct builder b MPK_CLEANUP(
		builder_fini) = { .p = p, .arena = arena, .with_tables = with_tables, .err = err };
	struct mpk_extracted_file *items;

	MPK_TRY(all_files(&b));
	items = mpk_arena_keep(arena, b.files, b.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	*out = (struct mpk_extracted_files){ items, b.count };
	return MPK_OK;
}

enum mpk_code mpk_payload_extract(const struct mpk_payload *p, struct mpk_arena *arena,
				  struct mpk_extracted_files *out, struct mpk_error *err)
{
	return extract(p, true, arena, out, err);
}

enum mpk_code mpk_payload_parts(const struct mpk_payload *p, struct mpk_arena *arena,
				struct mpk_extracted_files *out, struct mpk_error *err)
{
	return extract(p, false, arena, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_body.c - the keys of one module: format, code and kernel table, or graph and parameters */
#include "package/internal/unpack_body.h"

#include <string.h>

#include "base/vec.h"
#include "params/params.h"
#include "text/escape.h"

/* What the functions below share. */
struct body {
	const char *folder;
	struct mpk_unpack_files *files;
	struct mpk_arena *arena;
	struct mpk_strbuf *out;
	struct mpk_error *err;
};

enum mpk_code mpk_unpack_add(struct mpk_unpack_files *files, const char *name,
			     struct mpk_span bytes, struct mpk_error *err)
{
	if (!name ||
	    !mpk_vec_reserve(&files->items, &files->cap, files->count + 1, sizeof *files->items))
		return mpk_fail_nomem(err);
	files->items[files->count++] = (struct mpk_memory_file){ name, bytes };
	return MPK_OK;
}

/* --- TOML ------------------------------------------------------------------------------ */

void mpk_unpack_put_text(struct mpk_strbuf *out, struct mpk_span s)
{
	mpk_escape_json(out, s, NULL);
}

static void put_key(const struct body *b, const char *key, struct mpk_span value)
{
	mpk_strbuf_printf(b->out, "%s = ", key);
	mpk_unpack_put_text(b->out, value);
	mpk_strbuf_putc(b->out, '\n');
}

/* A key whose value is a file below the module's folder. */
static enum mpk_code put_file(const struct body *b, const char *key, const char *name,
			      struct mpk_span bytes)
{
	const char *path = mpk_arena_printf(b->arena, "%s/%s", b->folder, name);

	MPK_TRY(mpk_unpack_add(b->files, path, bytes, b->err));
	put_key(b, key, mpk_span_str(path));
	return MPK_OK;
}

/* --- device code ----------------------------------------------------------------------- */

/* Booleans of TVM up to 0.22 print like those of today, but are other bytes. */
static const char *spell_dtype(struct mpk_dtype t, char out[MPK_DTYPE_TEXT])
{
	static const struct mpk_dtype old_bool = { MPK_DTYPE_UINT, 1, 1 };

	return mpk_dtype_equal(t, old_bool) ? "uint1" : mpk_dtype_print(t, out);
}

static void put_function(const struct body *b, const struct mpk_function_info *f)
{
	char dtype[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(b->out, "\n[[module.function]]\n");
	put_key(b, "name", f->key);
	mpk_strbuf_puts(b->out, "args = [");
	for (size_t i = 0; i < f->arg_count; i++) {
		mpk_strbuf_puts(b->out, i ? ", " : "");
		mpk_unpack_put_text(b->out, mpk_span_str(spell_dtype(f->arg_types[i], dtype)));
	}
	mpk_strbuf_puts(b->out, "]\nlaunch = [");
	for (size_t i = 0; i < f->launch_tag_count; i++) {
		mpk_strbuf_puts(b->out, i ? ", " : "");
		mpk_unpack_put_text(b->out, f->launch_tags[i]);
	}
	mpk_strbuf_puts(b->out, "]\n");
}

/* The parts are the code first, one for all kernels or one for each, in the order of the
 * table wherever the module can be written from a manifest at all. */
static enum mpk_code put_kernels(const struct body *b, const struct mpk_payload *p)
{
	const struct mpk_kernels *k = &p->u.kernels;
	bool each = k->layout != MPK_KERNELS_PLAIN;
	struct mpk_extracted_files parts;

	if (each && k->source_count != k->function_count)
		return MPK_OK;
	MPK_TRY(mpk_payload_parts(p, b->arena, &parts, b->err));
	if (k->fmt.len)
		put_key(b, "format", k->fmt);
	if (!each)
		MPK_TRY(put_file(b, "data", parts.items[0].name, k->data));
	for (size_t i = 0; i < k->function_count; i++) {
		const struct mpk_extracted_file *part = &parts.items[i];

		put_function(b, &k->functions[i]);
		if (each)
			MPK_TRY(put_file(b, "data", part->name, part->data));
		if (each && k->sources[i].flag == 1)
			mpk_strbuf_puts(b->out, "uniform_buffer = true\n");
	}
	return MPK_OK;
}

/* --- executors --------------------------------------------------------------------------- */

static enum mpk_code put_factory(const struct body *b, const struct mpk_factory *f)
{
	struct mpk_rope rope = mpk_rope_of(b->arena);
	struct mpk_span params;

	put_key(b, "name", f->module_name);
	if (f->has_graph)
		MPK_TRY(put_file(b, "graph", "graph.json", f->graph_json));
	if (!f->params.names.count)
		return MPK_OK;
	mpk_params_write(&rope, &f->params);
	MPK_TRY(mpk_rope_flat(&rope, &params, b->err));
	return put_file(b, "params", "weights.params", params);
}

/* --- any module ------------------------------------------------------------------------ */

enum mpk_code mpk_unpack_body_parts(const struct mpk_node *node, enum mpk_generation gen,
				    const char *folder, struct mpk_unpack_files *files,
				    struct mpk_arena *arena, struct mpk_strbuf *out,
				    struct mpk_error *err)
{
	struct body b = { folder, files, arena, out, err };
	const struct mpk_kind *kind = node->opaque ? NULL : mpk_kind_find(node->kind);
	struct mpk_payload p;
	enum mpk_code code;

	if (!kind || (kind->role != MPK_ROLE_DEVICE && kind->role != MPK_ROLE_EXECUTOR))
		return MPK_OK;
	code = mpk_payload_decode(kind, gen, mpk_source_of(node), arena, &p, err);
	if (code == MPK_E_NOMEM)
		return code;
	if (code != MPK_OK)
		return MPK_OK;
	if (p.tag == MPK_PAYLOAD_KERNELS)
		return put_kernels(&b, &p);
	if (p.tag == MPK_PAYLOAD_FACTORY)
		return put_factory(&b, &p.u.factory);
	return MPK_OK;
}

enum mpk_code mpk_unpack_body_raw(const struct mpk_node *node, const char *folder,
				  struct mpk_unpack_files *files, struct mpk_arena *arena,
				  struct mpk_strbuf *out, struct mpk_error *err)
{
	struct body b = { folder, files, arena, out, err };

	return put_file(&b, "payload", "payload.bin", node->payload);
}

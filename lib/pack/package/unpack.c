/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - makes a manifest for a blob, and proves it by packing it again
 *
 * The manifest describes a module by its parts if that reproduces the payload exactly; otherwise it
 * names a file with the payload's bytes. Whether the parts suffice is tested by packing, for each
 * module and for the whole blob. */
#include "package/package.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "payload.h"
#include "tensor/tensor.h"
#include "text/escape.h"

/* --- the keys of one module ------------------------------------------------------- */

/* The keys are format, code and kernel table, or graph and parameters. */

/* A list that grows; the caller frees items. */
struct unpacked_files {
	struct mpk_memory_file *items;
	size_t count, cap;
};

/* The state that the functions below share. */
struct body {
	const char *folder;
	struct unpacked_files *files;
	struct mpk_arena *arena;
	struct mpk_strbuf *out;
	struct mpk_error *err;
};

static enum mpk_code add_unpacked(struct unpacked_files *files, const char *name,
				  struct mpk_span bytes, struct mpk_error *err)
{
	if (!name || !MPK_VEC_ROOM(files->items, files->count, files->cap))
		return mpk_fail_nomem(err);
	files->items[files->count++] = (struct mpk_memory_file){ name, bytes };
	return MPK_OK;
}

/* --- TOML ------------------------------------------------------------------------------ */

static void put_key(const struct body *b, const char *key, struct mpk_span value)
{
	mpk_strbuf_printf(b->out, "%s = ", key);
	mpk_escape_toml(b->out, value, NULL);
	mpk_strbuf_putc(b->out, '\n');
}

/* Prints a key whose value is a file in the module's folder. */
static enum mpk_code package_unpack_put_file(const struct body *b, const char *key,
					     const char *name, struct mpk_span bytes)
{
	const char *path = mpk_arena_printf(b->arena, "%s/%s", b->folder, name);

	MPK_TRY(add_unpacked(b->files, path, bytes, b->err));
	put_key(b, key, mpk_span_str(path));
	return MPK_OK;
}

/* --- device code ----------------------------------------------------------------------- */

/* Booleans of TVM up to 0.22 are printed like today's but have other bytes, so they are spelt
 * differently here. */
static const char *spell_dtype(struct mpk_dtype t, char out[MPK_DTYPE_TEXT])
{
	static const struct mpk_dtype old_bool = { MPK_DTYPE_UINT, 1, 1 };

	return mpk_dtype_equal(t, old_bool) ? "uint1" : mpk_dtype_print(t, out);
}

static void package_unpack_put_function(const struct body *b, const struct mpk_function_info *f)
{
	char dtype[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(b->out, "\n[[module.function]]\n");
	put_key(b, "name", f->key);
	mpk_strbuf_puts(b->out, "args = [");
	for (size_t i = 0; i < f->arg_count; i++) {
		mpk_strbuf_puts(b->out, i ? ", " : "");
		mpk_escape_toml(b->out, mpk_span_str(spell_dtype(f->arg_types[i], dtype)), NULL);
	}
	mpk_strbuf_puts(b->out, "]\nlaunch = [");
	for (size_t i = 0; i < f->launch_tag_count; i++) {
		mpk_strbuf_puts(b->out, i ? ", " : "");
		mpk_escape_toml(b->out, f->launch_tags[i], NULL);
	}
	mpk_strbuf_puts(b->out, "]\n");
}

/* Prints the keys for code. A module's code is one file for all kernels or one for each. Files are
 * listed in the order of the table wherever a manifest can describe the module. */
static enum mpk_code package_unpack_put_kernels(const struct body *b, const struct mpk_payload *p)
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
		MPK_TRY(package_unpack_put_file(b, "data", parts.items[0].name, k->data));
	for (size_t i = 0; i < k->function_count; i++) {
		const struct mpk_extracted_file *part = &parts.items[i];

		package_unpack_put_function(b, &k->functions[i]);
		if (each)
			MPK_TRY(package_unpack_put_file(b, "data", part->name, part->data));
		if (each && k->sources[i].flag == 1)
			mpk_strbuf_puts(b->out, "uniform_buffer = true\n");
	}
	return MPK_OK;
}

/* --- executors --------------------------------------------------------------------------- */

static enum mpk_code put_factory(const struct body *b, const struct mpk_payload *p)
{
	const struct mpk_factory *f = &p->u.factory;
	struct mpk_rope rope = mpk_rope_of(b->arena);
	struct mpk_span params;

	put_key(b, "name", f->module_name);
	if (f->has_graph)
		MPK_TRY(package_unpack_put_file(b, "graph", "graph.json", f->graph_json));
	if (!f->params.names.count)
		return MPK_OK;
	mpk_params_write(&rope, &f->params);
	MPK_TRY(mpk_rope_flat(&rope, &params, b->err));
	return package_unpack_put_file(b, "params", "weights.params", params);
}

/* --- any module ------------------------------------------------------------------------ */

static enum mpk_code put_body_parts(const struct mpk_node *node, enum mpk_generation gen,
				    const char *folder, struct unpacked_files *files,
				    struct mpk_arena *arena, struct mpk_strbuf *out,
				    struct mpk_error *err)
{
	/* how a manifest describes each kind of payload; a payload without a row here remains
	 * bytes */
	static enum mpk_code (*const forms[])(const struct body *b, const struct mpk_payload *p) = {
		[MPK_PAYLOAD_KERNELS] = package_unpack_put_kernels,
		[MPK_PAYLOAD_FACTORY] = put_factory,
	};
	struct body b = { folder, files, arena, out, err };
	const struct mpk_kind *kind = node->opaque ? NULL : mpk_kind_find(node->kind);
	struct mpk_payload p;
	enum mpk_code code;

	if (!kind || (kind->role != MPK_ROLE_DEVICE && kind->role != MPK_ROLE_EXECUTOR))
		return MPK_OK;
	code = mpk_payload_decode(kind, gen, mpk_source_of(node), arena, &p, err);
	if (code != MPK_OK || p.tag >= MPK_ARRAY_COUNT(forms) || !forms[p.tag])
		return code == MPK_E_NOMEM ? code : MPK_OK;
	return forms[p.tag](&b, &p);
}

static enum mpk_code put_body_raw(const struct mpk_node *node, const char *folder,
				  struct unpacked_files *files, struct mpk_arena *arena,
				  struct mpk_strbuf *out, struct mpk_error *err)
{
	struct body b = { folder, files, arena, out, err };

	return package_unpack_put_file(&b, "payload", "payload.bin", node->payload);
}

struct unpacker {
	const struct mpk_unpack_input *in;
	struct mpk_arena *arena;
	struct unpacked_files files;
	/* for each node, the TOML text of its keys; NULL for a library */
	const char **folders, **bodies;
	const char **notes; /* for each node, space for one index */
	size_t note_count;
	struct mpk_error *err;
};

static void unpacker_fini(struct unpacker *u)
{
	free(u->files.items);
}

static enum mpk_code add_note(struct unpacker *u, size_t node, const char *why)
{
	const char *note =
		mpk_arena_printf(u->arena, "%s stays its payload: %s", u->folders[node], why);

	MPK_TRY_ALLOC(note, u->err);
	u->notes[u->note_count++] = note;
	return MPK_OK;
}

/* --- one module: the description that reproduces its payload ----------------------------- */

/* Checks whether a package of only this module has the same payload as the node. */
static enum mpk_code try_body(struct unpacker *u, size_t node, size_t first_file,
			      struct mpk_strbuf *body, bool *same)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };
	MPK_CLEANUP(mpk_package_close) struct mpk_package package = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_tree *tree = u->in->tree;
	size_t count = u->files.count - first_file;
	struct mpk_package_input input = { .path = MPK_UNPACK_MANIFEST,
					   .memory_files =
						   count ? u->files.items + first_file : NULL,
					   .memory_file_count = count };

	mpk_strbuf_printf(&text,
			  "[package]\nname = \"x\"\nabi = \"%s\"\n[[module]]\nid = \"x\"\n"
			  "kind = ",
			  mpk_generation_get(tree->gen)->abi);
	mpk_escape_toml(&text, tree->nodes[node].kind, NULL);
	mpk_strbuf_putc(&text, '\n');
	mpk_strbuf_puts(&text, mpk_strbuf_text(body));
	MPK_TRY(mpk_strbuf_status(body, u->err));
	MPK_TRY(mpk_strbuf_status(&text, u->err));
	input.text = mpk_span_of(text.data, text.len);

	struct mpk_error why = { 0 };
	enum mpk_code code = mpk_package_load(&input, &scratch, &report, &package, &why);
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(u->err);
	*same = code == MPK_OK && package.tree.count == 1 &&
		mpk_span_equal(package.tree.nodes[0].kind, tree->nodes[node].kind) &&
		mpk_rope_equals(package.tree.nodes[0].content, tree->nodes[node].payload);
	return *same ? MPK_OK
		     : add_note(u, node,
				code == MPK_OK ? "packed again, its parts give other bytes"
					       : why.text);
}

static enum mpk_code choose_body(struct unpacker *u, size_t node)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf body = { 0 };
	const struct mpk_node *n = &u->in->tree->nodes[node];
	size_t first = u->files.count;
	bool same = false;

	MPK_TRY(put_body_parts(n, u->in->tree->gen, u->folders[node], &u->files, u->arena, &body,
			       u->err));
	if (body.len || n->payload.len == 0)
		MPK_TRY(try_body(u, node, first, &body, &same));
	if (!same) {
		u->files.count = first;
		body.len = 0;
		MPK_TRY(put_body_raw(n, u->folders[node], &u->files, u->arena, &body, u->err));
	}
	MPK_TRY(mpk_strbuf_status(&body, u->err));
	u->bodies[node] = mpk_arena_text(u->arena, mpk_span_of(body.data, body.len));
	return u->bodies[node] ? MPK_OK : mpk_fail_nomem(u->err);
}

static enum mpk_code choose_bodies(struct unpacker *u)
{
	const struct mpk_tree *tree = u->in->tree;

	u->folders = mpk_arena_array(u->arena, tree->count, sizeof *u->folders);
	u->bodies = mpk_arena_array(u->arena, tree->count, sizeof *u->bodies);
	u->notes = mpk_arena_array(u->arena, tree->count, sizeof *u->notes);
	if (!u->folders || !u->bodies || !u->notes)
		return mpk_fail_nomem(u->err);
	for (size_t i = 0; i < tree->count; i++) {
		u->folders[i] = mpk_node_folder(&tree->nodes[i], i, u->arena);
		if (!u->folders[i])
			return mpk_fail_nomem(u->err);
		if (!tree->nodes[i].is_lib)
			MPK_TRY(choose_body(u, i));
	}
	return MPK_OK;
}

/* Imports are read from the last to the first (manifest/manifest.h), so the first index is printed
 * last. */
static void put_imports(const struct unpacker *u, const struct mpk_node *n, struct mpk_strbuf *out)
{
	if (!n->child_count)
		return;
	mpk_strbuf_puts(out, "imports = [");
	for (size_t i = n->child_count; i-- > 0;)
		mpk_strbuf_printf(out, "\"%s\"%s", u->folders[n->children[i]], i ? ", " : "");
	mpk_strbuf_puts(out, "]\n");
}

static void put_host_keys(const struct unpacker *u, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "kind = \"host\"\n");
	if (u->in->library.len)
		return;
	mpk_strbuf_puts(out, "sources = [");
	for (size_t i = 0; i < u->in->object_count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): add_code() put each object there */
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "", u->files.items[i].name);
	mpk_strbuf_puts(out, !u->in->object_count ? "] # name host code here to build a library\n"
			     : u->in->has_tvm_headers
				     ? "] # includes TVM's headers: mpack build --cflag -IDIR\n"
				     : "]\n");
}

/* Whether the blob lists only host code. TVM writes such a blob if a host module imports another
 * one, or a linked library. */
static bool is_lone_host(const struct unpacker *u)
{
	return !u->in->host_only && u->in->tree->count == 1 && u->in->tree->nodes[0].is_lib;
}

#define IMPORTED "imported"

static void package_unpack_put_module(const struct unpacker *u, size_t node, struct mpk_strbuf *out)
{
	const struct mpk_node *n = &u->in->tree->nodes[node];

	mpk_strbuf_printf(out, "\n[[module]]\nid = \"%s\"\n", u->folders[node]);
	if (n->is_lib) {
		put_host_keys(u, out);
		put_imports(u, n, out);
		if (is_lone_host(u))
			mpk_strbuf_puts(out, "imports = [\"" IMPORTED "\"]\n");
	} else {
		mpk_strbuf_puts(out, "kind = ");
		mpk_escape_toml(out, n->kind, NULL);
		mpk_strbuf_putc(out, '\n');
		put_imports(u, n, out);
		mpk_strbuf_puts(out, u->bodies[node]);
	}
}

static enum mpk_code print_manifest(struct unpacker *u, bool keep_order, struct mpk_span *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	/* --- the manifest ------------------------------------------------------------- */
	mpk_strbuf_puts(&text, "[package]\n");

	/* Keep the characters that file names may have on every system; the user may choose a
	 * better name. */
	const char *name = u->in->name;

	mpk_strbuf_puts(&text, "name = \"");
	for (const char *p = *name ? name : "package"; *p; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || strchr("._-+", *p);

		mpk_strbuf_putc(&text, plain ? *p : '_');
	}
	mpk_strbuf_puts(&text, "\"\n");

	mpk_strbuf_printf(&text, "abi = \"%s\"\nroot = \"%s\"\n",
			  mpk_generation_get(u->in->tree->gen)->abi, u->folders[0]);
	if (u->in->target)
		mpk_strbuf_printf(&text, "target = \"%s\"\n", u->in->target);
	if (u->in->standalone)
		mpk_strbuf_puts(&text, "standalone = true\n");
	if (u->in->compress)
		mpk_strbuf_puts(&text, "compress = \"zstd\"\n");
	if (keep_order)
		mpk_strbuf_puts(&text, "keep_order = true\n");
	if (u->in->library.len)
		mpk_strbuf_puts(&text, "base = \"" MPK_UNPACK_BASE
				       "\" # its code is kept, its blob replaced\n");

	for (size_t i = 0; i < u->in->tree->count; i++)
		package_unpack_put_module(u, i, &text);
	if (is_lone_host(u)) {
		mpk_strbuf_puts(&text, "\n[[module]]\nid = \"" IMPORTED "\"\nkind = \"host\"\n");
		if (!u->in->library.len)
			mpk_strbuf_puts(&text, "sources = [] # its code is among that above\n");
	}
	MPK_TRY(mpk_strbuf_status(&text, u->err));

	const char *copy = mpk_arena_copy(u->arena, text.data, text.len);
	if (!copy)
		return mpk_fail_nomem(u->err);
	*out = mpk_span_of(copy, text.len);
	return MPK_OK;
}

/* --- the proof ------------------------------------------------------------------------- */

/* Packs the manifest in memory and compares the result with the original.
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: the result is another blob, or there is none; MPK_E_NOMEM */
static enum mpk_code prove(struct unpacker *u, struct mpk_span manifest, struct mpk_span blob)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };
	MPK_CLEANUP(mpk_package_close) struct mpk_package package = { 0 };
	struct mpk_package_input input = { .text = manifest,
					   .path = MPK_UNPACK_MANIFEST,
					   .memory_files = u->files.items,
					   .memory_file_count = u->files.count };
	struct mpk_error why = { 0 };
	enum mpk_code code = mpk_package_load(&input, &scratch, &report, &package, &why);

	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(u->err);
	if (code != MPK_OK)
		return mpk_fail(u->err, MPK_E_UNSUPPORTED,
				"no manifest can say what this blob has: %s", why.text);
	if (!package.needs_blob)
		return u->in->host_only
			       ? MPK_OK
			       : mpk_fail(
					 u->err, MPK_E_UNSUPPORTED,
					 "this blob lists host code alone, for which none is written");
	if (mpk_rope_equals(&package.blob, blob))
		return MPK_OK;
	return mpk_fail(
		u->err, MPK_E_UNSUPPORTED,
		"no manifest gives the tree of this blob: a module that nothing imports, or host code in several places");
}

/* Refuses trees that no manifest can reproduce. */
static enum mpk_code check_tree(const struct mpk_unpack_input *in, struct mpk_error *err)
{
	const struct mpk_tree *tree = in->tree;

	if (tree->truncated)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the modules of this blob cannot be told apart: %s",
				tree->warning.text);
	if (tree->implied_lib)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"this blob has no import tree (TVM 0.7 and older wrote it so); a package built from its modules would get one");
	if (tree->used != tree->nbytes + 8)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "blob", tree->used,
				       "%" PRIu64
				       " bytes behind the last module, which no manifest can name",
				       tree->nbytes + 8 - tree->used);
	return MPK_OK;
}

static enum mpk_code plan(struct unpacker *u, struct mpk_span *manifest)
{
	const struct mpk_tree *tree = u->in->tree;
	enum mpk_code code = MPK_E_UNSUPPORTED;
	struct mpk_span blob = { 0 };

	MPK_TRY(check_tree(u->in, u->err));
	if (!u->in->host_only && !mpk_span_sub(u->in->blob, 0, tree->nbytes + 8, &blob))
		return mpk_fail_offset(u->err, MPK_E_CORRUPT, "blob", 0,
				       "the blob ends before its header says");
	/* Host code comes first in the list of files (put_host_keys). */
	if (u->in->library.len)
		MPK_TRY(add_unpacked(&u->files, MPK_UNPACK_BASE, u->in->library, u->err));
	for (size_t i = 0; i < u->in->object_count; i++)
		MPK_TRY(add_unpacked(&u->files, u->in->objects[i].name, u->in->objects[i].bytes,
				     u->err));
	MPK_TRY(choose_bodies(u));
	/* Usually the order is TVM's, which follows from the imports. Serializers that merged
	 * several libraries wrote other orders. */
	for (unsigned keep = 0; code == MPK_E_UNSUPPORTED && keep < 2; keep++) {
		MPK_TRY(print_manifest(u, keep, manifest));
		code = prove(u, *manifest, blob);
	}
	return code;
}

enum mpk_code mpk_unpack_plan(const struct mpk_unpack_input *input, struct mpk_arena *arena,
			      struct mpk_unpack *out, struct mpk_error *err)
{
	MPK_CLEANUP(unpacker_fini) struct unpacker u = { .in = input, .arena = arena, .err = err };
	struct mpk_span manifest = { 0 };
	struct mpk_memory_file *files;

	MPK_TRY(plan(&u, &manifest));
	MPK_TRY(add_unpacked(&u.files, MPK_UNPACK_MANIFEST, manifest, err));
	MPK_TRY_ARRAY(files, arena, u.files.count, err);
	memcpy(files, u.files.items, u.files.count * sizeof *files);
	*out = (struct mpk_unpack){ files, u.files.count, u.notes, u.note_count };
	return MPK_OK;
}

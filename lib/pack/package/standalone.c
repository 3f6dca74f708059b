/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - the kernels of a package that brings its own driver loader */

#include "package/internal/standalone.h"

#include "base/strmap.h"
#include "io/reader.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

/* Everything one kernel's row is made of. */
struct search {
	const struct mpk_package *package;
	struct mpk_arena *arena;
	struct mpk_span blob;
	struct mpk_standalone_kernel *rows;
	size_t count;
};

/* The pieces of a module's source text by the names of their kernels; none of other code. */
struct pieces {
	const struct mpk_source_code_piece *items;
	struct mpk_strmap names;
};

static void pieces_fini(struct pieces *p)
{
	mpk_strmap_fini(&p->names);
}

static enum mpk_code read_pieces(struct search *s, const struct mpk_kernels *k, struct pieces *out,
				 struct mpk_error *err)
{
	size_t count = 0, ignored;

	if (mpk_span_is(k->fmt, "cl"))
		MPK_TRY(mpk_source_code_split(k->data, s->arena, &out->items, &count, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&out->names, out->items[i].name, i, &ignored) >= 0,
			      err);
	return MPK_OK;
}

/* The code of one kernel: all of the module's data, or its piece of a source text. */
static struct mpk_span code_of(const struct mpk_kernels *k, const struct pieces *pieces,
			       struct mpk_span name)
{
	size_t i;

	return mpk_strmap_find(&pieces->names, name, &i) ? pieces->items[i].text : k->data;
}

static enum mpk_code add_row(struct search *s, const struct mpk_kernels *k,
			     const struct pieces *pieces, const struct mpk_function_info *f,
			     struct mpk_error *err)
{
	struct mpk_standalone_kernel *row = &s->rows[s->count];
	enum mpk_launch_tag *tags =
		mpk_arena_array(s->arena, f->launch_tag_count + 1, sizeof *tags);
	struct mpk_span code = code_of(k, pieces, f->key);

	*row = (struct mpk_standalone_kernel){
		.name = mpk_arena_text(s->arena, f->key),
		.format = mpk_arena_text(s->arena, k->fmt),
		.args = f->arg_types,
		.arg_count = f->arg_count,
		.tags = tags,
		.tag_count = f->launch_tag_count,
	};
	MPK_TRY_ALLOC(tags && row->name && row->format, err);
	for (size_t i = 0; i < f->launch_tag_count; i++)
		tags[i] = mpk_launch_tag_parse(f->launch_tags[i]);
	row->offset = (uint64_t)(code.data - s->blob.data);
	row->size = code.len;
	s->count++;
	return MPK_OK;
}

static enum mpk_code add_module(struct search *s, const struct mpk_node *node,
				struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(node->payload, node->payload_off, "blob");
	MPK_CLEANUP(pieces_fini) struct pieces pieces = { 0 };
	struct mpk_kernels k;

	if (!mpk_span_is(node->kind, "cuda") && !mpk_span_is(node->kind, "opencl"))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a standalone package holds cuda or opencl kernels and nothing else, but one module is of kind '%s'",
			MPK_QUOTE(node->kind));
	MPK_TRY(mpk_kernels_read(&c, node->kind, s->package->manifest.gen, s->arena, &k, err));
	if (mpk_span_is(k.fmt, "cuda"))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a standalone package cannot compile CUDA C++ source; give PTX, a cubin or a fatbin");

	struct mpk_standalone_kernel *grown =
		mpk_arena_array(s->arena, s->count + k.function_count, sizeof *grown);
	MPK_TRY_ALLOC(grown, err);
	for (size_t i = 0; i < s->count; i++)
		grown[i] = s->rows[i];
	s->rows = grown;
	MPK_TRY(read_pieces(s, &k, &pieces, err));
	for (size_t i = 0; i < k.function_count; i++)
		MPK_TRY(add_row(s, &k, &pieces, &k.functions[i], err));
	return MPK_OK;
}

enum mpk_code mpk_package_standalone(const struct mpk_package *package, struct mpk_arena *arena,
				     const struct mpk_standalone_kernel **out, size_t *count,
				     struct mpk_error *err)
{
	struct search s = { .package = package, .arena = arena };
	struct mpk_tree tree;

	MPK_TRY(mpk_rope_load(&package->blob, arena, &s.blob, err));
	MPK_TRY(mpk_blob_read(s.blob, package->manifest.gen, arena, &tree, err));
	for (size_t i = 0; i < tree.count; i++)
		if (!tree.nodes[i].is_lib)
			MPK_TRY(add_module(&s, &tree.nodes[i], err));
	*out = s.rows;
	*count = s.count;
	return MPK_OK;
}

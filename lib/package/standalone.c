/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - the kernels of a package that brings its own driver loader */

#include "package/standalone.h"

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

/* The code of one kernel: all of the module's data, or its piece of a source text. */
static enum mpk_code code_of(struct search *s, const struct mpk_kernels *k, struct mpk_span name,
			     struct mpk_span *out, struct mpk_error *err)
{
	const struct mpk_source_code_piece *pieces;
	size_t count = 0;

	*out = k->data;
	if (!mpk_span_is(k->fmt, "cl"))
		return MPK_OK;
	MPK_TRY(mpk_source_code_split(k->data, s->arena, &pieces, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (mpk_span_equal(pieces[i].name, name)) {
			*out = pieces[i].text;
			return MPK_OK;
		}
	}
	return MPK_OK;
}

static enum mpk_code add_row(struct search *s, const struct mpk_kernels *k,
			     const struct mpk_function_info *f, struct mpk_error *err)
{
	struct mpk_standalone_kernel *row = &s->rows[s->count];
	enum mpk_launch_tag *tags =
		mpk_arena_array(s->arena, f->launch_tag_count + 1, sizeof *tags);
	struct mpk_span code = { 0 };

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
	MPK_TRY(code_of(s, k, f->key, &code, err));
	row->offset = (uint64_t)(code.data - s->blob.data);
	row->size = code.len;
	s->count++;
	return MPK_OK;
}

static enum mpk_code add_module(struct search *s, const struct mpk_node *node,
				struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(node->payload, node->payload_off, "blob");
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
	for (size_t i = 0; i < k.function_count; i++)
		MPK_TRY(add_row(s, &k, &k.functions[i], err));
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

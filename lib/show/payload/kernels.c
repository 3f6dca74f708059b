/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - printers for device code: a table of kernels and their code
 *
 * lib/know/code prints what the code itself contains (registers, images, source). This file only
 * splits the payload into pieces of code and assigns kernels to them. */
#include "payload/payload_view.h"

#include <stddef.h>

#include "text/escape.h"
#include "text/phrase.h"

static const struct mpk_kernels *table_of(const struct mpk_payload *p)
{
	return &p->u.kernels;
}

/* A plain table has one piece of code for all kernels, other layouts have one for each. */
static enum mpk_code read_pieces(const struct mpk_payload_content *c, struct mpk_arena *arena,
				 struct mpk_node_info *out, struct mpk_error *err)
{
	const struct mpk_kernels *k = &c->payload->u.kernels;
	const struct mpk_source *source = &c->payload->source;
	const struct mpk_code_format *claimed =
		mpk_code_format_claimed(mpk_span_str(c->payload->kind->name), k->fmt);
	bool plain = k->layout == MPK_KERNELS_PLAIN;
	size_t count = plain ? 1 : k->source_count;
	struct mpk_code_piece *pieces = mpk_arena_array(arena, count, sizeof *pieces);

	MPK_TRY_ALLOC(pieces, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_span data = plain ? k->data : k->sources[i].data;
		/* offsets are file offsets, so that a problem can be found in a hex dump; sources
		 * are views of the payload */
		uint64_t off = plain      ? k->data_off
			       : data.len ? (uint64_t)(data.data - source->span.data)
					  : 0;

		pieces[i].key = plain ? NULL : &k->sources[i].key;
		MPK_TRY(mpk_code_info_read(data, source->off + off, claimed, arena, &pieces[i].code,
					   err));
	}
	out->pieces = pieces;
	out->piece_count = count;
	_Static_assert(offsetof(struct mpk_kernel_source, key) == 0, "names come first in rows");
	_Static_assert(offsetof(struct mpk_function_info, key) == 0, "names come first in rows");
	MPK_TRY(mpk_names_of(k->sources, sizeof *k->sources, plain ? 0 : count, arena,
			     &out->piece_names, err));
	return mpk_names_of(k->functions, sizeof *k->functions, k->function_count, arena,
			    &out->table, err);
}

static bool kernel_at(const struct mpk_payload *p, size_t index, struct mpk_span *name)
{
	const struct mpk_kernels *k = &p->u.kernels;

	if (index >= k->function_count)
		return false;
	*name = k->functions[index].key;
	return true;
}

static void kernels_put_counts(const struct mpk_payload *p, struct mpk_strbuf *out)
{
	mpk_put_also(out, p->u.kernels.function_count, "kernel");
}

void mpk_view_kernel_text(const struct mpk_function_info *f, bool tags, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_escape(out, f->key);
	mpk_strbuf_putc(out, '(');
	/* 1 is kTensorMap of TVM's FunctionInfo::ArgExtraTags */
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_strbuf_printf(
			out, "%s%s%s", i ? ", " : "", mpk_dtype_print(f->arg_types[i], type),
			i < f->extra_tag_count && f->extra_tags[i] == 1 ? " tensormap" : "");
	mpk_strbuf_putc(out, ')');
	for (size_t i = 0; tags && i < f->launch_tag_count; i++) {
		mpk_strbuf_puts(out, i ? " " : "  ");
		mpk_escape(out, f->launch_tags[i]);
	}
}

static void kernels_put_kernel(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out)
{
	mpk_view_kernel_text(&p->u.kernels.functions[index], true, out);
}

/* TVM compiles CUDA source in Python. */
static void kernels_find_needs(const struct mpk_payload *p, const struct mpk_release *release,
			       const struct mpk_payload_findings *findings)
{
	(void)release;
	if (mpk_span_is(mpk_span_str(p->kind->name), "cuda") &&
	    mpk_span_is(p->u.kernels.fmt, "cuda"))
		findings->say(findings->arg, MPK_WARNING,
			      "CUDA source: TVM compiles it as it loads, through a function that "
			      "its Python package registers, with NVRTC or nvcc; without them it "
			      "does not load");
}

const struct mpk_payload_view mpk_payload_view_kernels = {
	.kernels = table_of,
	.read = read_pieces,
	.part = kernel_at,
	.defines = kernel_at,
	.offers = kernel_at,
	.counts = kernels_put_counts,
	.part_text = kernels_put_kernel,
	.needs = kernels_find_needs,
};

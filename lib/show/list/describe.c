/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - what a module holds, in a few words and in lines, by the row of its payload */
#include "model/filter.h"
#include "model/node_info.h"
#include "text/phrase.h"

void mpk_view_counts(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_payload_view *row = mpk_view_row(node);

	if (!node->decoded)
		return;
	if (node->models.count)
		mpk_put_also(out, node->models.count, "function");
	if (row->counts)
		row->counts(node->payload, out);
}

static void part_lines(const struct mpk_view_node *node, const struct mpk_payload_view *row,
		       struct mpk_strbuf *out)
{
	struct mpk_span name;

	for (size_t i = 0; row->part(node->payload, i, &name); i++) {
		if (!mpk_view_shows_part(node, name))
			continue;
		row->part_text(node->payload, i, out);
		mpk_strbuf_putc(out, '\n');
		if (row->kernels)
			mpk_node_kernel_lines(node, i, "  ", out);
		mpk_strbuf_pass(out);
	}
}

/* The tensors with their values; constants that only byte code numbers are among them, which are no
 * parts. */
static void measured_lines(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_node_info *info = node->info;

	for (size_t i = 0; i < info->tensor_count; i++) {
		const struct mpk_tensor_info *t = &info->tensors[i];

		if (!mpk_view_shows_part(node, mpk_span_str(t->name)))
			continue;
		mpk_tensor_text(mpk_span_str(t->name), t->record, out);
		mpk_strbuf_puts(out, t->stats.count ? "  " : "");
		mpk_stats_text(&t->stats, out);
		mpk_strbuf_putc(out, '\n');
		mpk_strbuf_pass(out);
	}
}

void mpk_view_details(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_payload_view *row = mpk_view_row(node);
	bool measured = node->show_info && node->info->measured;

	if (!node->decoded)
		return;
	if (mpk_view_shows_whole(node))
		mpk_node_lines(node, "", out);
	for (size_t i = 0; i < node->models.count; i++) {
		if (!mpk_view_shows_part(node, node->models.items[i].name))
			continue;
		mpk_signature_text(&node->models.items[i], out);
		mpk_strbuf_putc(out, '\n');
	}
	if (row->part && (row->kernels || !measured))
		part_lines(node, row, out);
	if (row->fields)
		row->fields(node->payload, out);
	if (measured)
		measured_lines(node, out);
}

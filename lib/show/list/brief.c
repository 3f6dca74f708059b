/* SPDX-License-Identifier: Apache-2.0 */
#include "list/brief.h"

#include "model/device_code.h"
#include "text/escape.h"
#include "text/phrase.h"

static void put_kinds(const struct mpk_view *view, struct mpk_strbuf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		if (n->is_lib || shown == 4)
			continue;
		mpk_strbuf_puts(out, shown++ ? ", " : " (");
		mpk_escape(out, n->kind);
	}
	mpk_strbuf_puts(out, shown ? ")" : "");
}

static void put_gpu(const struct mpk_view *view, const char *before, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_device_rows rows;

	if (!view->image->device_count)
		return;
	if (mpk_device_rows(view, &scratch, &rows, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	mpk_strbuf_printf(out, "%sGPU code", before);
	for (size_t i = 0; i < rows.count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : " for ");
		mpk_escape(out, mpk_span_str(rows.items[i].target));
	}
	mpk_put_more(out, rows.count);
}

void mpk_brief_text(const struct mpk_view *view, struct mpk_strbuf *out)
{
	const struct mpk_image *image = view->image;
	size_t start;

	mpk_strbuf_printf(out, "%s: ", image->machine_name ? image->machine_name : "any machine");
	start = out->len;
	if (view->count) {
		mpk_put_count(out, view->count, "module");
		put_kinds(view, out);
	}
	if (image->function_count) {
		mpk_strbuf_puts(out, out->len > start ? ", " : "");
		mpk_put_count(out, image->function_count, "function");
	}
	if (image->embedded_count) {
		mpk_strbuf_puts(out, out->len > start ? ", " : "");
		mpk_put_count(out, image->embedded_count, "embedded cubin");
	}
	put_gpu(view, out->len > start ? ", " : "", out);
	if (out->len == start)
		mpk_strbuf_puts(out, "no module of TVM, nothing to call, no GPU code");
}

void mpk_brief_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list;

	mpk_json_text(j, at, "machine", view->image->machine_name);
	list = mpk_json_array(j, at, "modules");
	for (size_t i = 0; i < view->count; i++)
		mpk_json_span(j, list, NULL, view->nodes[i].node->kind);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < view->image->function_count; i++)
		mpk_json_text(j, list, NULL, view->image->functions[i].name);
	mpk_json_u64(j, at, "embedded", view->image->embedded_count);
	mpk_device_rows_json(view, j, at);
}

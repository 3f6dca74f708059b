/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a module, as JSON (minspect.schema.json, minspect-functions.schema.json) */
#include <inttypes.h>

#include "code/show.h"
#include "graphjson/graphjson.h"
#include "model/node_info.h"

/* --- code --------------------------------------------------------------------------- */

struct figures {
	struct mpk_json *j;
	struct mpk_json_at *list;
};

/* An object for each run of code: a kernel may be in several images. */
static void node_json_put_figures(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct figures *f = arg;
	struct mpk_json_at *o;

	if (!code->format->kernel_json)
		return;
	o = mpk_json_object(f->j, f->list, NULL);
	mpk_json_text(f->j, o, "format", code->format->word);
	code->format->kernel_json(code, kernel, f->j, o);
}

/* Kernels that the code lists and the table does not. */
static void put_unlisted(const struct mpk_node_info *info, const struct mpk_code_info *code,
			 struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(code);
	struct mpk_json_at *list = NULL, *o;

	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;
		struct figures f = { .j = j };

		if (mpk_names_find(&info->table, name, NULL))
			continue;
		list = list ? list : mpk_json_array(j, at, "unlisted");
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", name);
		f.list = mpk_json_array(j, o, "figures");
		mpk_code_info_each(code, name, node_json_put_figures, &f);
	}
}

/* An object for each run of code; "kernel" is null where it is for all kernels of the table. */
static void put_pieces(const struct mpk_node_info *info, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "code"), *o;

	for (size_t i = 0; i < info->piece_count; i++) {
		const struct mpk_code_piece *p = &info->pieces[i];

		o = mpk_json_object(j, list, NULL);
		if (p->key)
			mpk_json_span(j, o, "kernel", *p->key);
		else
			mpk_json_null(j, o, "kernel");
		mpk_code_info_json(&p->code, j, o);
		/* a piece for one kernel is described with that kernel alone */
		if (!p->key && !p->code.problem)
			put_unlisted(info, &p->code, j, o);
	}
}

/* What --verify found of this kernel, so that its readers need no second document. */
static void put_findings(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "findings"), *o;
	size_t count;
	const struct mpk_view_finding *f = mpk_node_findings(node, index, &count);

	for (size_t i = 0; i < count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "check", f[i].check);
		mpk_json_text(j, o, "severity", mpk_severity_name(f[i].severity));
		mpk_json_text(j, o, "message", f[i].text);
	}
}

void mpk_node_kernel_json(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	static const char *const states[] = {
		[MPK_CODE_DEFINED] = "yes",
		[MPK_CODE_FUNCTION] = "not-launchable",
		[MPK_CODE_POSSIBLE] = "unknown",
		[MPK_CODE_MISSING] = "no",
	};
	const struct mpk_kernels *table = mpk_view_kernels(node);
	struct figures f = { .j = j };

	if (!node->show_info || !table)
		return;
	mpk_json_text(j, at, "in_code", states[mpk_node_info_defines(node->info, table, index)]);
	f.list = mpk_json_array(j, at, "figures");
	mpk_node_info_each(node->info, table, index, node_json_put_figures, &f);
	put_findings(node, index, j, at);
}

/* --- tensors ------------------------------------------------------------------------ */

/* null when there is no number to give */
static void put_range(const struct mpk_stats *s, struct mpk_json *j, struct mpk_json_at *o)
{
	if (s->kind == MPK_STATS_NONE || s->count == s->nans + s->infs) {
		mpk_json_null(j, o, "min");
		mpk_json_null(j, o, "max");
		mpk_json_null(j, o, "mean");
		return;
	}
	/* integers stay integers: a double would round those of 64 bits */
	if (s->kind == MPK_STATS_FLOAT) {
		mpk_json_f64(j, o, "min", s->range.f.min);
		mpk_json_f64(j, o, "max", s->range.f.max);
	} else if (s->kind == MPK_STATS_SIGNED) {
		mpk_json_i64(j, o, "min", s->range.i.min);
		mpk_json_i64(j, o, "max", s->range.i.max);
	} else {
		mpk_json_u64(j, o, "min", s->range.u.min);
		mpk_json_u64(j, o, "max", s->range.u.max);
	}
	mpk_json_f64(j, o, "mean", s->mean);
}

/* NaNs and infinities are counted apart, as JSON has no numbers for them (RFC 8259, 6). */
static void put_tensors(const struct mpk_node_info *info, struct mpk_json *j,
			struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "tensors"), *o;
	char type[MPK_DTYPE_TEXT];

	for (size_t i = 0; i < info->tensor_count; i++) {
		const struct mpk_tensor_info *t = &info->tensors[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", t->name);
		mpk_json_text(j, o, "dtype", mpk_dtype_print(t->record->dtype, type));
		mpk_json_i64s(j, o, "shape", t->record->shape, t->record->ndim);
		mpk_json_u64(j, o, "bytes", t->record->data.len);
		put_range(&t->stats, j, o);
		mpk_json_u64(j, o, "nans", t->stats.nans);
		mpk_json_u64(j, o, "infinities", t->stats.infs);
	}
}

void mpk_node_json(const struct mpk_view_node *node, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_payload_view *row = mpk_view_row(node);
	struct mpk_payload_content content = mpk_view_content(node);

	if (!node->show_info)
		return;
	if (node->info->piece_count)
		put_pieces(node->info, j, at);
	if (row->json)
		row->json(&content, j, at);
	if (node->info->tensor_count)
		put_tensors(node->info, j, at);
}

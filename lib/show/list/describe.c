/* SPDX-License-Identifier: Apache-2.0 */
/* What a module holds, in a few words and in lines: one function a kind of payload */
#include <inttypes.h>

#include "model/filter.h"
#include "model/node_info.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

static void put_bytes(uint64_t bytes, struct mpk_strbuf *out)
{
	if (bytes)
		mpk_strbuf_printf(out, " (%s)", MPK_SIZE(bytes));
}

/* ", 3 parameters (1.2 KiB)" */
static void count_tensors(const struct mpk_params *p, const char *what, struct mpk_strbuf *out)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->names.count; i++)
		bytes += p->tensors[i].data.len; /* parts of one file: the sum cannot wrap */
	mpk_put_also(out, p->names.count, what);
	put_bytes(bytes, out);
}

static void count_relax(const struct mpk_relax *x, struct mpk_strbuf *out)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->const_count; i++)
		if (x->consts[i].kind == MPK_RELAX_TENSOR)
			bytes += x->consts[i].u.tensor.data.len;
	mpk_put_also(out, mpk_relax_instr_count(x), "instruction");
	mpk_put_also(out, x->const_count, "constant");
	put_bytes(bytes, out);
}

static void count_relay(const struct mpk_relay *x, struct mpk_strbuf *out)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->const_count; i++)
		bytes += x->consts[i].tensor.data.len;
	mpk_strbuf_puts(out, ", TVM ");
	mpk_escape(out, x->version);
	mpk_put_also(out, x->const_count, "constant");
	put_bytes(bytes, out);
}

void mpk_view_counts(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_payload *p = node->payload;

	if (!node->decoded)
		return;
	if (node->models.count)
		mpk_put_also(out, node->models.count, "function");
	switch (p->tag) {
	case MPK_PAYLOAD_KERNELS:
		mpk_put_also(out, p->u.kernels.function_count, "kernel");
		break;
	case MPK_PAYLOAD_RELAX:
		count_relax(&p->u.relax, out);
		break;
	case MPK_PAYLOAD_RELAY:
		count_relay(&p->u.relay, out);
		break;
	case MPK_PAYLOAD_FACTORY:
		count_tensors(&p->u.factory.params, "parameter", out);
		break;
	case MPK_PAYLOAD_CONSTS:
		count_tensors(&p->u.consts.consts, "constant", out);
		break;
	case MPK_PAYLOAD_EMPTY:
	case MPK_PAYLOAD_RECORD:
	case MPK_PAYLOAD_ETHOSN:
		break;
	}
}

static void kernel_lines(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_kernels *k = &node->payload->u.kernels;

	for (size_t i = 0; i < k->function_count; i++) {
		if (!mpk_view_shows_part(node, k->functions[i].key))
			continue;
		mpk_view_kernel_text(&k->functions[i], true, out);
		mpk_strbuf_putc(out, '\n');
		mpk_node_kernel_lines(node, i, "  ", out);
		mpk_strbuf_pass(out);
	}
}

/* @stats   NULL: the values were not looked at */
static void tensor_line(struct mpk_span name, const struct mpk_tensor_record *t,
			const struct mpk_stats *stats, struct mpk_strbuf *out)
{
	const struct mpk_type type = mpk_type_tensor(t->dtype, t->shape, t->ndim, NULL);

	mpk_escape(out, name);
	mpk_strbuf_puts(out, ": ");
	mpk_type_text(&type, out);
	mpk_strbuf_printf(out, " (%s)%s", MPK_SIZE(t->data.len), stats && stats->count ? "  " : "");
	if (stats)
		mpk_stats_text(stats, out);
	mpk_strbuf_putc(out, '\n');
	mpk_strbuf_pass(out);
}

static void param_lines(const struct mpk_view_node *node, const struct mpk_params *p,
			struct mpk_strbuf *out)
{
	for (size_t i = 0; i < p->names.count; i++)
		if (mpk_view_shows_part(node, p->names.items[i]))
			tensor_line(p->names.items[i], &p->tensors[i], NULL, out);
}

static void measured_lines(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_node_info *info = node->info;

	for (size_t i = 0; i < info->tensor_count; i++)
		if (mpk_view_shows_part(node, mpk_span_str(info->tensors[i].name)))
			tensor_line(mpk_span_str(info->tensors[i].name), info->tensors[i].record,
				    &info->tensors[i].stats, out);
}

static void record_lines(const struct mpk_record *r, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < r->schema->count; i++) {
		const struct mpk_record_field *f = &r->schema->fields[i];
		const struct mpk_record_value *v = &r->values[i];

		mpk_strbuf_printf(out, "%s: ", f->name);
		if (f->type == MPK_FIELD_I32)
			mpk_strbuf_printf(out, "%" PRId32, v->number);
		else if (f->type == MPK_FIELD_STRS)
			mpk_strbuf_printf(out, "%zu name%s", v->strs.count,
					  v->strs.count == 1 ? "" : "s");
		else if (f->file)
			mpk_strbuf_puts(out, MPK_SIZE(v->str.len));
		else
			mpk_strbuf_puts(out, MPK_QUOTE(v->str));
		mpk_strbuf_putc(out, '\n');
	}
}

void mpk_view_details(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_payload *p = node->payload;
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
	switch (p->tag) {
	case MPK_PAYLOAD_KERNELS:
		kernel_lines(node, out);
		break;
	case MPK_PAYLOAD_FACTORY:
		if (!measured)
			param_lines(node, &p->u.factory.params, out);
		break;
	case MPK_PAYLOAD_CONSTS:
		if (!measured)
			param_lines(node, &p->u.consts.consts, out);
		break;
	case MPK_PAYLOAD_RECORD:
		record_lines(&p->u.record, out);
		break;
	case MPK_PAYLOAD_EMPTY:
	case MPK_PAYLOAD_RELAX:
	case MPK_PAYLOAD_RELAY:
	case MPK_PAYLOAD_ETHOSN:
		break;
	}
	if (measured)
		measured_lines(node, out);
}

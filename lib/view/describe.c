/* What a module holds, in a few words and in lines: one function a kind of payload */
#include "view/inside.h"

#include <inttypes.h>

#include "text/escape.h"
#include "text/table.h"

static void count(size_t n, const char *what, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, ", %zu %s%s", n, what, n == 1 ? "" : "s");
}

/* ", 3 parameters (1.2 KiB)" */
static void count_tensors(const struct mpk_params *p, const char *what, struct mpk_strbuf *out)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->names.count; i++)
		bytes += p->tensors[i].data.len; /* parts of one file: the sum cannot wrap */
	count(p->names.count, what, out);
	if (bytes)
		mpk_strbuf_printf(out, " (%s)", MPK_SIZE(bytes));
}

static void count_relax(const struct mpk_relax *x, struct mpk_strbuf *out)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->const_count; i++)
		if (x->consts[i].kind == MPK_RELAX_TENSOR)
			bytes += x->consts[i].u.tensor.data.len;
	count(mpk_relax_instr_count(x), "instruction", out);
	count(x->const_count, "constant", out);
	if (bytes)
		mpk_strbuf_printf(out, " (%s)", MPK_SIZE(bytes));
}

static void count_relay(const struct mpk_relay *x, struct mpk_strbuf *out)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->const_count; i++)
		bytes += x->consts[i].tensor.data.len;
	mpk_strbuf_puts(out, ", TVM ");
	mpk_escape(out, x->version);
	count(x->const_count, "constant", out);
	if (bytes)
		mpk_strbuf_printf(out, " (%s)", MPK_SIZE(bytes));
}

void mpk_view_counts(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_payload *p = &node->payload;

	if (!node->decoded)
		return;
	if (node->models.count)
		count(node->models.count, "function", out);
	switch (p->tag) {
	case MPK_PAYLOAD_KERNELS:
		count(p->u.kernels.function_count, "kernel", out);
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
	const struct mpk_kernels *k = &node->payload.u.kernels;

	for (size_t i = 0; i < k->function_count; i++) {
		mpk_view_kernel_text(&k->functions[i], true, out);
		mpk_strbuf_putc(out, '\n');
		mpk_inside_function_lines(node, i, "  ", out);
	}
}

static void tensor_text(const struct mpk_tensor_record *t, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(out, "%s[", mpk_dtype_print(t->dtype, type));
	for (size_t i = 0; i < t->ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", t->shape[i]);
	mpk_strbuf_printf(out, "] (%s)\n", MPK_SIZE(t->data.len));
}

static void param_lines(const struct mpk_params *p, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < p->names.count; i++) {
		mpk_escape(out, p->names.items[i]);
		mpk_strbuf_puts(out, ": ");
		tensor_text(&p->tensors[i], out);
	}
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
	const struct mpk_payload *p = &node->payload;
	bool measured = node->inside && node->inside->measured;

	if (!node->decoded)
		return;
	mpk_inside_lines(node, "", out);
	for (size_t i = 0; i < node->models.count; i++) {
		mpk_model_text(&node->models.items[i], out);
		mpk_strbuf_putc(out, '\n');
	}
	switch (p->tag) {
	case MPK_PAYLOAD_KERNELS:
		kernel_lines(node, out);
		break;
	case MPK_PAYLOAD_FACTORY:
		if (!measured)
			param_lines(&p->u.factory.params, out);
		break;
	case MPK_PAYLOAD_CONSTS:
		if (!measured)
			param_lines(&p->u.consts.consts, out);
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
		mpk_inside_tensor_lines(node->inside, out);
}

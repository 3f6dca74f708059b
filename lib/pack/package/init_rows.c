/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel tables that mpack init prints. */
#include "package/internal/package.h"
#include "text/escape.h"

/* Strings of TOML are those of JSON; bytes that are no UTF-8 become '?', as a manifest must
 * be UTF-8. */
void mpk_init_put_text(struct mpk_strbuf *out, struct mpk_span text)
{
	mpk_escape_json(out, text, "?");
}

/* A comment stays on its line whatever a name holds. */
void mpk_init_put_comment(struct mpk_init *in, const char *indent, struct mpk_span text)
{
	mpk_strbuf_printf(in->out, "%s# ", indent);
	for (size_t i = 0; i < text.len; i++) {
		bool blank = text.data[i] <= ' ' || text.data[i] == 0x7f;

		if (!blank)
			mpk_strbuf_putc(in->out, (char)text.data[i]);
		else if (i && text.data[i - 1] > ' ')
			mpk_strbuf_putc(in->out, ' ');
	}
	mpk_strbuf_putc(in->out, '\n');
}

/* The declaration above a row, for a reader who must decide something about it. */
static void put_declaration(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };

	if (!k->text.len && mpk_span_equal(k->symbol, k->short_name))
		return;
	mpk_strbuf_put_span(&line, k->short_name);
	mpk_strbuf_putc(&line, '(');
	mpk_strbuf_put_span(&line, k->text);
	mpk_strbuf_putc(&line, ')');
	in->out->failed |= line.failed;
	if (!line.failed)
		mpk_init_put_comment(in, "  ", mpk_span_of(line.data, line.len));
}

/* What the code does not tell is marked "decide": the file is complete only when no such
 * line is left. */
static void put_args(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	char type[MPK_DTYPE_TEXT];
	struct mpk_dtype t = { 0 };
	bool unknown = false;

	mpk_strbuf_puts(in->out, "  args   = [");
	for (size_t i = 0; i < k->param_count; i++) {
		(void)mpk_code_info_argument(&k->params[i], &t); /* it is no refused kernel */
		mpk_strbuf_printf(in->out, "%s\"%s\"", i ? ", " : "", mpk_dtype_print(t, type));
		unknown |= k->params[i].kind == MPK_CODE_PARAM_UNKNOWN;
	}
	mpk_strbuf_puts(in->out, "]");
	if (k->hides_params)
		mpk_strbuf_puts(in->out,
				" # decide: the buffers by their bindings, then the scalars");
	else if (unknown)
		mpk_strbuf_puts(
			in->out,
			" # decide: the code tells sizes alone; 8 bytes may be int64, 4 bytes float32");
	mpk_strbuf_putc(in->out, '\n');
}

/* As many axes as the code uses an index of, one where it does not tell. */
static void put_tags(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	unsigned dims = k->dims ? k->dims : 1;

	mpk_strbuf_puts(in->out, "  launch = [");
	for (unsigned d = 0; d < dims; d++)
		mpk_strbuf_printf(in->out, "%s\"blockIdx.%c\"", d ? ", " : "", "xyz"[d]);
	for (unsigned d = 0; d < dims; d++)
		mpk_strbuf_printf(in->out, ", \"threadIdx.%c\"", "xyz"[d]);
	if (k->shared)
		mpk_strbuf_puts(in->out, ", \"tirx.use_dyn_shared_memory\"");
	mpk_strbuf_puts(in->out, "]");
	if (!k->dims || k->hides_shared)
		mpk_strbuf_printf(
			in->out, " # decide: the code does not tell %s",
			!k->hides_shared ? "the dimensions"
			: k->dims
				? "whether there is \"tirx.use_dyn_shared_memory\", too"
				: "the dimensions, nor whether there is \"tirx.use_dyn_shared_memory\", too");
	mpk_strbuf_putc(in->out, '\n');
}

/* A kernel within #if is there for some compilers and not for others. */
static void put_condition(struct mpk_init *in, const struct mpk_code_kernel *k)
{
	if (!k->condition.len || k->has_variants)
		return;
	mpk_strbuf_puts(in->out, "  # decide: it stands behind '");
	mpk_escape(in->out, k->condition);
	mpk_strbuf_puts(in->out, "': whether there is one depends on who compiles the text\n");
}

void mpk_init_put_rows(struct mpk_init *in, const struct mpk_init_module *m)
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct mpk_init_kernel *k = &m->kernels[i];

		mpk_strbuf_puts(in->out, m->row_count ? "\n" : "");
		put_declaration(in, k);
		if (k->refusal) {
			mpk_strbuf_puts(in->out, "  # ");
			mpk_escape(in->out, k->short_name);
			mpk_strbuf_printf(in->out, " is left out: %s\n", k->refusal);
			continue;
		}
		put_condition(in, &m->code->kernels[i]);
		mpk_strbuf_puts(in->out, "  [[module.function]]\n  name   = ");
		mpk_init_put_text(in->out, k->symbol);
		mpk_strbuf_putc(in->out, '\n');
		put_args(in, k);
		put_tags(in, k);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/internal/gen.h"

/* "x: Tensor([n, 4], float32)" */
static void put_param(struct mpk_gen *g, const struct mpk_launch_param *p, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_put_span(out, p->name);
	mpk_strbuf_puts(out, p->is_tensor ? ": Tensor([" : ": ");
	for (size_t i = 0; i < p->rank; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_strbuf_puts(out, mpk_gen_literal(g, p->dim_texts[i]));
	}
	mpk_strbuf_puts(out, p->is_tensor ? "], " : "");
	mpk_strbuf_puts(out, mpk_dtype_print(p->dtype, type));
	mpk_strbuf_puts(out, p->is_tensor ? ")" : "");
}

void mpk_gen_prototype(struct mpk_gen *g, struct mpk_strbuf *out)
{
	const struct mpk_launch *l = g->launch;

	mpk_strbuf_printf(out, "%s(", l->name);
	for (size_t i = 0; i < l->param_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		put_param(g, &l->params[i], out);
	}
	mpk_strbuf_putc(out, ')');
}

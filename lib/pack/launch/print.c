/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - the walk through host code, and the parts of instructions that forms name */
#include "launch/internal/print.h"

#include <inttypes.h>

/* What a letter stands for. Returns how many helper values are in use now. */
static unsigned put_part(struct mpk_host_printer *p, char letter, const struct mpk_host_insn *in)
{
	switch (letter) {
	case 'd':
		mpk_strbuf_printf(p->out, "%d", in->dst);
		return 0;
	case 'a':
		mpk_strbuf_printf(p->out, "%d", in->a);
		return 0;
	case 'b':
		mpk_strbuf_printf(p->out, "%d", in->b);
		return 0;
	case 'c':
		mpk_strbuf_printf(p->out, "%d", in->c);
		return 0;
	case 'i':
		mpk_strbuf_printf(p->out, "%" PRId64, in->imm);
		return 0;
	case 's':
		mpk_strbuf_puts(p->out, in->text);
		return 0;
	default:
		break;
	}
	if (letter < '0' || letter > '9') {
		p->language->put(p, letter, in);
		return 0;
	}
	mpk_strbuf_printf(p->out, "%u", p->helpers + (unsigned)(letter - '0'));
	return (unsigned)(letter - '0') + 1;
}

static void put_insn(struct mpk_host_printer *p, const struct mpk_host_insn *in)
{
	unsigned used = 0;

	for (const char *form = p->language->form(in); *form; form++) {
		if (*form != '$') {
			mpk_strbuf_putc(p->out, *form);
			continue;
		}
		unsigned helpers = put_part(p, *++form, in);

		used = helpers > used ? helpers : used;
	}
	p->helpers += used;
}

enum mpk_code mpk_host_print_functions(struct mpk_host_printer *p, const struct mpk_host_unit *unit,
				       struct mpk_error *err)
{
	for (size_t i = 0; i < unit->function_count; i++) {
		const struct mpk_hostfn *f = &unit->functions[i];

		MPK_TRY(mpk_host_status(f, err));
		p->helpers = 0;
		p->language->begin(p, f);
		for (size_t k = 0; k < f->count; k++)
			put_insn(p, &f->insns[k]);
		mpk_strbuf_puts(p->out, "}\n\n");
	}
	return MPK_OK;
}

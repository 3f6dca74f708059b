/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c - instructions of the Relay VM as text, for people and for comparing two executables
 *
 * One form for all layouts, made from the table of ops.c: the destination first, then the fields in
 * their order.
 */
#include "relayvm/relayvm.h"

#include <inttypes.h>

#include "relayvm/internal/ops.h"
#include "text/escape.h"

/* An index beyond the list is shown as a number: a damaged executable can still be read. */
static void relayvm_put_name(struct mpk_strbuf *out, struct mpk_strs names, int64_t index)
{
	if ((uint64_t)index < names.count)
		mpk_escape(out, names.items[index]);
	else
		mpk_strbuf_printf(out, "#%" PRId64, index);
}

/* The letters are those of internal/ops.h. */
static void put_field(const struct mpk_relay *x, char letter, int64_t value, struct mpk_strbuf *out)
{
	switch (letter) {
	case 'r':
	case 'd':
		mpk_strbuf_printf(out, "%%%" PRId64, value);
		return;
	case 'f':
		relayvm_put_name(out, x->globals, value);
		return;
	case 'p':
		relayvm_put_name(out, x->primitives, value);
		return;
	case 'c':
		mpk_strbuf_printf(out, "c[%" PRId64 "]", value);
		return;
	case 'j':
		mpk_strbuf_printf(out, "%+" PRId64, value);
		return;
	default:
		mpk_strbuf_printf(out, "%" PRId64, value);
		return;
	}
}

/* The destination comes first, as in an assignment; the count of what follows is left out. */
void mpk_relay_dump_instr(const struct mpk_relay *x, const struct mpk_relay_instr *instr,
			  struct mpk_strbuf *out)
{
	const struct mpk_relay_shape *shape = mpk_relay_shape(mpk_relay_word(instr, 0), x->layout);
	const char *dst = strchr(shape->fields, 'd');
	size_t fixed = strlen(shape->fields);
	const char *separator = " ";

	if (dst)
		mpk_strbuf_printf(out, "%%%" PRId64 " = ",
				  mpk_relay_word(instr, 1 + (size_t)(dst - shape->fields)));
	mpk_strbuf_puts(out, shape->name);
	for (size_t i = mpk_relay_garbage(instr, shape); i < instr->count - 1; i++) {
		char letter = i < fixed ? shape->fields[i] : shape->rest;

		if (letter == 'd' || letter == 'n')
			continue;
		mpk_strbuf_puts(out, separator);
		put_field(x, letter, mpk_relay_word(instr, i + 1), out);
		separator = ", ";
	}
}

/* One line an instruction, numbered as jumps count them. */
void mpk_relay_dump_func(const struct mpk_relay *x, size_t index, struct mpk_strbuf *out)
{
	const struct mpk_relay_func *f = &x->funcs[index];

	mpk_strbuf_putc(out, '@');
	mpk_escape(out, f->info.items[0]);
	mpk_strbuf_putc(out, '(');
	for (size_t j = 0; j < f->params.count; j++) {
		mpk_strbuf_puts(out, j ? ", " : "");
		mpk_escape(out, f->params.items[j]);
	}
	mpk_strbuf_printf(out, ") registers=%" PRIu64 ":\n", f->register_file_size);
	for (size_t j = 0; j < f->instr_count && !out->failed; j++) {
		mpk_strbuf_printf(out, "  %4zu: ", j);
		mpk_relay_dump_instr(x, &f->instrs[j], out);
		mpk_strbuf_putc(out, '\n');
	}
	mpk_strbuf_putc(out, '\n');
}

void mpk_relay_dump(const struct mpk_relay *x, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < x->func_count && !out->failed; i++)
		mpk_relay_dump_func(x, i, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c - bytecode as TVM's own as_text prints it, column for column: tests compare the two */
#include "relaxvm/relaxvm.h"

#include <inttypes.h>

#include "text/escape.h"

/* Columns of TVM's own listing: mnemonic, called function, arguments. */
enum { OP_WIDTH = 6, FUNC_WIDTH = 16, ARGS_WIDTH = 12 };

/* Pads what was appended since from up to width columns. */
static void relaxvm_pad(struct mpk_strbuf *out, size_t from, size_t width)
{
	while (!out->failed && out->len - from < width)
		mpk_strbuf_putc(out, ' ');
}

/* Two numbers are reserved: no register, and the machine itself. */
static void put_reg(struct mpk_strbuf *out, int64_t reg)
{
	if (reg == MPK_RELAX_REG_VOID)
		mpk_strbuf_puts(out, "%void");
	else if (reg == MPK_RELAX_REG_VM)
		mpk_strbuf_puts(out, "%vm");
	else
		mpk_strbuf_printf(out, "%%%" PRId64, reg);
}

/* As TVM prints an index that there is no function for. */
static void put_func_name(const struct mpk_relax *x, int64_t func, struct mpk_strbuf *out)
{
	if ((uint64_t)func < x->func_count)
		mpk_escape(out, x->funcs[func].name);
	else
		mpk_strbuf_printf(out, "unknown_func_index(%" PRId64 ")", func);
}

/* Kinds that no release has are shown by number, so that damage is visible. */
static void put_arg(const struct mpk_relax *x, struct mpk_relax_arg arg, struct mpk_strbuf *out)
{
	switch (arg.kind) {
	case MPK_RELAX_ARG_REG:
		put_reg(out, arg.value);
		return;
	case MPK_RELAX_ARG_INT:
		mpk_strbuf_printf(out, "i%" PRId64, arg.value);
		return;
	case MPK_RELAX_ARG_CONST:
		mpk_strbuf_printf(out, "c[%" PRId64 "]", arg.value);
		return;
	case MPK_RELAX_ARG_FUNC:
		mpk_strbuf_puts(out, "f[");
		put_func_name(x, arg.value, out);
		mpk_strbuf_putc(out, ']');
		return;
	default:
		mpk_strbuf_printf(out, "?%u:%" PRId64, arg.kind, arg.value);
		return;
	}
}

/* The widths are minima: a long name moves what follows. */
static void relaxvm_put_call(const struct mpk_relax *x, const struct mpk_relax_instr *instr,
			     struct mpk_strbuf *out)
{
	size_t from = out->len;

	put_func_name(x, instr->func, out);
	relaxvm_pad(out, from, FUNC_WIDTH);
	mpk_strbuf_puts(out, " in: ");
	from = out->len;
	for (size_t i = 0; i < instr->arg_count; i++) {
		if (i)
			mpk_strbuf_puts(out, ", ");
		put_arg(x, mpk_relax_arg(instr, i), out);
	}
	relaxvm_pad(out, from, ARGS_WIDTH);
	mpk_strbuf_puts(out, " dst: ");
	put_reg(out, instr->reg);
}

void mpk_relax_dump_instr(const struct mpk_relax *x, const struct mpk_relax_instr *instr,
			  struct mpk_strbuf *out)
{
	static const char *const names[] = { [MPK_RELAX_CALL] = "call",
					     [MPK_RELAX_RET] = "ret",
					     [MPK_RELAX_GOTO] = "goto",
					     [MPK_RELAX_IF] = "If" };

	mpk_strbuf_printf(out, "%-*s", OP_WIDTH, names[instr->op]);
	switch (instr->op) {
	case MPK_RELAX_CALL:
		relaxvm_put_call(x, instr, out);
		return;
	case MPK_RELAX_RET:
		put_reg(out, instr->reg);
		return;
	case MPK_RELAX_GOTO:
		mpk_strbuf_printf(out, "%" PRId64, instr->offset);
		return;
	case MPK_RELAX_IF:
		put_reg(out, instr->reg);
		mpk_strbuf_printf(out, ", %" PRId64, instr->offset);
		return;
	}
}

/* An instruction that does not read is one line with the reason. */
static void relaxvm_put_code(const struct mpk_relax *x, const struct mpk_relax_func *f,
			     struct mpk_strbuf *out)
{
	uint64_t count = mpk_relax_instr_count(x);
	struct mpk_relax_instr instr;
	struct mpk_error err;

	if (f->start < 0 || f->end < f->start || (uint64_t)f->end > count) {
		mpk_strbuf_printf(out,
				  "  (instructions %" PRId64 " to %" PRId64 " of %" PRIu64 ")\n",
				  f->start, f->end, count);
		return;
	}
	for (int64_t i = f->start; i < f->end && !out->failed; i++) {
		mpk_strbuf_puts(out, "  ");
		if (mpk_relax_instr(x, (size_t)i, &instr, &err) == MPK_OK)
			mpk_relax_dump_instr(x, &instr, out);
		else
			mpk_strbuf_printf(out, "(%s)", err.text);
		mpk_strbuf_putc(out, '\n');
	}
}

void mpk_relax_dump_func(const struct mpk_relax *x, size_t index, struct mpk_strbuf *out)
{
	const struct mpk_relax_func *f = &x->funcs[index];

	mpk_strbuf_putc(out, '@');
	mpk_escape(out, f->name);
	if (f->kind == MPK_RELAX_PACKED) {
		mpk_strbuf_puts(out, " packed_func;\n\n");
	} else if (f->kind == MPK_RELAX_TIR) {
		mpk_strbuf_printf(out, " num_inputs=%" PRId64 " vm_tir_func;\n\n", f->num_args);
	} else {
		mpk_strbuf_puts(out, ":\n");
		relaxvm_put_code(x, f, out);
		mpk_strbuf_putc(out, '\n');
	}
}

void mpk_relax_dump(const struct mpk_relax *x, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < x->func_count && !out->failed; i++)
		mpk_relax_dump_func(x, i, out);
}

/* --- constants ---------------------------------------------------------------------------- */

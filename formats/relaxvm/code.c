/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - instructions of Relax executables, decoded one at a time from the stored words
 *
 * Nothing is decoded in advance, so a listing of a large model reads only what it prints. */
#include "relaxvm/relaxvm.h"

#include <inttypes.h>

#include "text/escape.h"

static int64_t relaxvm_word_at(const uint8_t *p)
{
	uint64_t bits = mpk_load_u64(p);
	int64_t value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* Returns the words of an instruction with its operands, without the arguments of a call. */
static size_t fixed_words(int64_t op)
{
	switch (op) {
	case MPK_RELAX_CALL:
		return 4;
	case MPK_RELAX_RET:
	case MPK_RELAX_GOTO:
		return 2;
	case MPK_RELAX_IF:
		return 3;
	default:
		return 0;
	}
}

static struct mpk_relax_instr relaxvm_decode(const uint8_t *words)
{
	struct mpk_relax_instr instr = { .op = (enum mpk_relax_op)relaxvm_word_at(words) };

	switch (instr.op) {
	case MPK_RELAX_CALL:
		instr.reg = relaxvm_word_at(words + 8);
		instr.func = relaxvm_word_at(words + 16);
		instr.arg_count = (size_t)relaxvm_word_at(words + 24);
		instr.args = words + 32;
		break;
	case MPK_RELAX_RET:
		instr.reg = relaxvm_word_at(words + 8);
		break;
	case MPK_RELAX_GOTO:
		instr.offset = relaxvm_word_at(words + 8);
		break;
	case MPK_RELAX_IF:
		instr.reg = relaxvm_word_at(words + 8);
		instr.offset = relaxvm_word_at(words + 16);
		break;
	}
	return instr;
}

enum mpk_code mpk_relax_instr(const struct mpk_relax *x, size_t index, struct mpk_relax_instr *out,
			      struct mpk_error *err)
{
	uint64_t words = x->instr_data.len / 8, at;
	const uint8_t *p;

	if (index >= mpk_relax_instr_count(x))
		return mpk_fail(err, MPK_E_RANGE, "there is no instruction %zu", index);
	at = mpk_load_u64(x->instr_offset.data + 8 * index);
	if (at >= words)
		return mpk_fail(err, MPK_E_CORRUPT,
				"instruction %zu begins at word %" PRIu64 " of %" PRIu64, index, at,
				words);
	p = x->instr_data.data + 8 * at;

	size_t fixed = fixed_words(relaxvm_word_at(p));

	if (fixed == 0)
		return mpk_fail(err, MPK_E_CORRUPT,
				"instruction %zu: opcode %" PRId64 " is not known", index,
				relaxvm_word_at(p));
	if (fixed > words - at || (fixed == 4 && mpk_load_u64(p + 24) > words - at - 4))
		return mpk_fail(err, MPK_E_CORRUPT, "instruction %zu goes beyond the last word",
				index);
	*out = relaxvm_decode(p);
	return MPK_OK;
}

struct mpk_relax_arg mpk_relax_arg(const struct mpk_relax_instr *instr, size_t i)
{
	uint64_t bits = mpk_load_u64(instr->args + 8 * i);
	uint64_t low = bits & 0x00ffffffffffffff;
	struct mpk_relax_arg arg = { .kind = (unsigned)(bits >> 56) };

	arg.value = (int64_t)low - (low >> 55 ? INT64_C(1) << 56 : 0);
	return arg;
}

/* --- checks ----------------------------------------------------------------------------- */

struct checker {
	const struct mpk_relax *x;
	const struct mpk_relax_func *f;
	int64_t at; /* index of the instruction */
	struct mpk_error *err;
};

static enum mpk_code fault(const struct checker *k, const char *what, int64_t value)
{
	return mpk_fail(k->err, MPK_E_CORRUPT,
			"function \"%s\", instruction %" PRId64 ": %s %" PRId64 " does not exist",
			MPK_QUOTE(k->f->name), k->at, what, value);
}

static bool register_exists(const struct checker *k, int64_t reg)
{
	return (reg >= 0 && reg < k->f->register_file_size) || reg == MPK_RELAX_REG_VOID ||
	       reg == MPK_RELAX_REG_VM;
}

static enum mpk_code check_arg(const struct checker *k, struct mpk_relax_arg arg)
{
	switch (arg.kind) {
	case MPK_RELAX_ARG_REG:
		return register_exists(k, arg.value) ? MPK_OK : fault(k, "register", arg.value);
	case MPK_RELAX_ARG_INT:
		return MPK_OK;
	case MPK_RELAX_ARG_CONST:
		return (uint64_t)arg.value < k->x->const_count ? MPK_OK
							       : fault(k, "constant", arg.value);
	case MPK_RELAX_ARG_FUNC:
		return (uint64_t)arg.value < k->x->func_count ? MPK_OK
							      : fault(k, "function", arg.value);
	default:
		return fault(k, "argument kind", (int64_t)arg.kind);
	}
}

static enum mpk_code check_jump(const struct checker *k, int64_t offset)
{
	int64_t target;

	if (__builtin_add_overflow(k->at, offset, &target) || target < k->f->start ||
	    target >= k->f->end)
		return fault(k, "jump target, this one plus", offset);
	return MPK_OK;
}

static enum mpk_code check_instr(const struct checker *k)
{
	struct mpk_relax_instr instr;

	MPK_TRY(mpk_relax_instr(k->x, (size_t)k->at, &instr, k->err));
	if (instr.op != MPK_RELAX_GOTO && !register_exists(k, instr.reg))
		return fault(k, "register", instr.reg);
	switch (instr.op) {
	case MPK_RELAX_CALL:
		if ((uint64_t)instr.func >= k->x->func_count)
			return fault(k, "function", instr.func);
		for (size_t i = 0; i < instr.arg_count; i++)
			MPK_TRY(check_arg(k, mpk_relax_arg(&instr, i)));
		return MPK_OK;
	case MPK_RELAX_GOTO:
	case MPK_RELAX_IF:
		return check_jump(k, instr.offset);
	case MPK_RELAX_RET:
		break;
	}
	return MPK_OK;
}

enum mpk_code mpk_relax_check(const struct mpk_relax *x, struct mpk_error *err)
{
	for (size_t i = 0; i < x->func_count; i++) {
		if (x->funcs[i].kind == MPK_RELAX_VM) {
			const struct mpk_relax_func *f = &x->funcs[i];
			struct checker k = { x, f, f->start, err };

			if (f->start < 0 || f->end <= f->start ||
			    (uint64_t)f->end > mpk_relax_instr_count(x))
				return mpk_fail(err, MPK_E_CORRUPT,
						"function \"%s\": instructions %" PRId64
						" to %" PRId64 " do not exist",
						MPK_QUOTE(f->name), f->start, f->end);
			if (f->num_args < 0 || f->num_args > f->register_file_size)
				return mpk_fail(err, MPK_E_CORRUPT,
						"function \"%s\": %" PRId64
						" arguments do not fit in %" PRId64 " registers",
						MPK_QUOTE(f->name), f->num_args,
						f->register_file_size);
			for (; k.at < f->end; k.at++)
				MPK_TRY(check_instr(&k));
		}
	}
	for (size_t i = 0; i < x->scope_count; i++) {
		if ((uint64_t)x->scopes[i].constant >= x->const_count)
			return mpk_fail(err, MPK_E_CORRUPT,
					"memory scope %zu is for constant %" PRId64
					", which does not exist",
					i, x->scopes[i].constant);
	}
	return MPK_OK;
}

/* --- listing: column for column as TVM's own as_text; tests compare the two ----- */

/* Columns of TVM's own listing: mnemonic, called function, arguments. */
enum { OP_WIDTH = 6, FUNC_WIDTH = 16, ARGS_WIDTH = 12 };

/* Pads the text appended since `from` to width columns. */
static void relaxvm_pad(struct mpk_strbuf *out, size_t from, size_t width)
{
	while (!out->failed && out->len - from < width)
		mpk_strbuf_putc(out, ' ');
}

/* Two numbers are reserved: no register, and the virtual machine itself. */
static void put_reg(struct mpk_strbuf *out, int64_t reg)
{
	if (reg == MPK_RELAX_REG_VOID)
		mpk_strbuf_puts(out, "%void");
	else if (reg == MPK_RELAX_REG_VM)
		mpk_strbuf_puts(out, "%vm");
	else
		mpk_strbuf_printf(out, "%%%" PRId64, reg);
}

/* Prints an index without a function as TVM does. */
static void put_func_name(const struct mpk_relax *x, int64_t func, struct mpk_strbuf *out)
{
	if ((uint64_t)func < x->func_count)
		mpk_escape(out, x->funcs[func].name);
	else
		mpk_strbuf_printf(out, "unknown_func_index(%" PRId64 ")", func);
}

/* Unknown kinds are shown by number, so that damage is visible. */
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

/* Columns have at least these widths: a long name moves the rest of the line. */
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

/* An instruction that does not read becomes one line with the reason. */
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

static void dump_func(const struct mpk_relax *x, size_t index, struct mpk_strbuf *out)
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

void mpk_relax_dump(const struct mpk_relax *x, size_t index, struct mpk_strbuf *out)
{
	if (index != MPK_RELAX_ALL)
		dump_func(x, index, out);
	for (size_t i = 0; index == MPK_RELAX_ALL && i < x->func_count && !out->failed; i++)
		dump_func(x, i, out);
}

/* --- constants ---------------------------------------------------------------------------- */

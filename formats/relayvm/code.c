/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - instructions of the Relay VM. Their fields are described by letters, which reading,
 * checks and listing use */
#include "relayvm/relayvm.h"

#include <inttypes.h>

#include "text/escape.h"

/* FORMAT.md 3 */
static const struct mpk_relay_shape shapes[MPK_RELAY_OPS] = {
	[MPK_RELAY_MOVE] = { "move", "rd", 0 },
	[MPK_RELAY_RET] = { "ret", "r", 0 },
	[MPK_RELAY_INVOKE] = { "invoke", "fnd", 'r' },
	[MPK_RELAY_INVOKE_CLOSURE] = { "invoke_closure", "rnd", 'r' },
	[MPK_RELAY_INVOKE_PACKED] = { "invoke_packed", "pni", 'r' },
	[MPK_RELAY_ALLOC_TENSOR] = { "alloc_tensor", "rriiind", 'i' },
	[MPK_RELAY_ALLOC_TENSOR_REG] = { "alloc_tensor_reg", "rrriiid", 0 },
	[MPK_RELAY_ALLOC_ADT] = { "alloc_adt", "ind", 'r' },
	[MPK_RELAY_ALLOC_CLOSURE] = { "alloc_closure", "fnd", 'r' },
	[MPK_RELAY_GET_FIELD] = { "get_field", "rid", 0 },
	[MPK_RELAY_IF] = { "if", "rrjj", 0 },
	[MPK_RELAY_LOAD_CONST] = { "load_const", "cid", 0 },
	[MPK_RELAY_GOTO] = { "goto", "j", 0 },
	[MPK_RELAY_GET_TAG] = { "get_tag", "rd", 0 },
	[MPK_RELAY_LOAD_CONSTI] = { "load_consti", "id", 0 },
	[MPK_RELAY_FATAL] = { "fatal", "", 0 },
	[MPK_RELAY_ALLOC_STORAGE] = { "alloc_storage", "riiiiind", 'i' },
	[MPK_RELAY_SHAPE_OF] = { "shape_of", "rd", 0 },
	[MPK_RELAY_RESHAPE_TENSOR] = { "reshape_tensor", "rrd", 0 },
	[MPK_RELAY_DEVICE_COPY] = { "device_copy", "riid", 0 },
	[MPK_RELAY_KILL_REGISTER] = { "kill_register", "r", 0 },
};

/* The two instructions that 0.14 extended, in their older form. */
static const struct mpk_relay_shape load_const_08 = { "load_const", "cd", 0 };
static const struct mpk_relay_shape alloc_storage_08 = { "alloc_storage", "riiiiid", 0 };

/* Layouts before 0.14 have shorter forms of two instructions. */
const struct mpk_relay_shape *mpk_relay_shape(int64_t op, enum mpk_relay_layout layout)
{
	if (op < 0 || op >= MPK_RELAY_OPS)
		return NULL;
	if (layout != MPK_RELAY_14 && op == MPK_RELAY_LOAD_CONST)
		return &load_const_08;
	if (layout != MPK_RELAY_14 && op == MPK_RELAY_ALLOC_STORAGE)
		return &alloc_storage_08;
	return &shapes[op];
}

/* Returns how many of the first fields TVM left unset: the size register of alloc_storage, if a
 * shape follows
 * TVM writes this register although it never sets it: its value differs between runs, so it is
 * neither shown nor checked. */
static size_t relay_garbage(const struct mpk_relay_instr *instr,
			    const struct mpk_relay_shape *shape)
{
	return mpk_relay_word(instr, 0) == MPK_RELAY_ALLOC_STORAGE &&
	       instr->count - 1 > strlen(shape->fields);
}

/* Word 0 is the opcode, so field i - 1 describes word i. */
char mpk_relay_word_role(const struct mpk_relay *x, const struct mpk_relay_instr *instr, size_t i)
{
	const struct mpk_relay_shape *shape = mpk_relay_shape(mpk_relay_word(instr, 0), x->layout);

	if (i - 1 < relay_garbage(instr, shape))
		return '-';
	return i - 1 < strlen(shape->fields) ? shape->fields[i - 1] : shape->rest;
}

/* --- check: every operand exists, which an interpreter relies on and reading does not need --- */

struct checker {
	const struct mpk_relay *x;
	const struct mpk_relay_func *f;
	size_t at; /* index of the instruction */
};

/* Whether the object that a field with this letter refers to exists. */
static bool operand_exists(const struct checker *k, char letter, int64_t value)
{
	uint64_t count;

	switch (letter) {
	case 'r':
	case 'd':
		count = k->f->register_file_size;
		break;
	case 'f':
		count = k->x->globals.count;
		break;
	case 'p':
		count = k->x->primitives.count;
		break;
	case 'c':
		count = k->x->const_count;
		break;
	case 'j':
		count = k->f->instr_count;
		if (__builtin_add_overflow((int64_t)k->at, value, &value))
			return false;
		break;
	default:
		return true;
	}
	return value >= 0 && (uint64_t)value < count;
}

/* Returns the name of the missing object in messages. */
static const char *operand_name(char letter)
{
	switch (letter) {
	case 'f':
		return "function";
	case 'p':
		return "packed function";
	case 'c':
		return "constant";
	case 'j':
		return "jump target, this one plus";
	default:
		return "register";
	}
}

/* Fields that TVM leaves unset are skipped. */
static enum mpk_code check_instr(const struct checker *k, struct mpk_error *err)
{
	const struct mpk_relay_instr *instr = &k->f->instrs[k->at];
	const struct mpk_relay_shape *shape =
		mpk_relay_shape(mpk_relay_word(instr, 0), k->x->layout);
	size_t fixed = strlen(shape->fields);

	for (size_t i = relay_garbage(instr, shape); i < instr->count - 1; i++) {
		char letter = i < fixed ? shape->fields[i] : shape->rest;
		int64_t value = mpk_relay_word(instr, i + 1);

		if (!operand_exists(k, letter, value))
			return mpk_fail(
				err, MPK_E_CORRUPT,
				"function \"%s\", instruction %zu: %s %" PRId64 " does not exist",
				MPK_QUOTE(k->f->info.items[0]), k->at, operand_name(letter), value);
	}
	return MPK_OK;
}

/* Parameters are the first registers of a call, so they must fit in the register file. */
enum mpk_code mpk_relay_check(const struct mpk_relay *x, struct mpk_error *err)
{
	for (size_t i = 0; i < x->func_count; i++) {
		struct checker k = { x, &x->funcs[i], 0 };

		if (k.f->params.count > k.f->register_file_size)
			return mpk_fail(err, MPK_E_CORRUPT,
					"function \"%s\": %zu parameters do not fit in %" PRIu64
					" registers",
					MPK_QUOTE(k.f->info.items[0]), k.f->params.count,
					k.f->register_file_size);
		for (; k.at < k.f->instr_count; k.at++)
			MPK_TRY(check_instr(&k, err));
	}
	return MPK_OK;
}

/* --- listing, for people and for comparing two executables ---------------------------------
 *
 * One form for all layouts, from the table of fields: the destination first, then the fields in
 * order. */

/* An index beyond the list is shown as a number, so that a damaged executable can still be read. */
static void relayvm_put_name(struct mpk_strbuf *out, struct mpk_strs names, int64_t index)
{
	if ((uint64_t)index < names.count)
		mpk_escape(out, names.items[index]);
	else
		mpk_strbuf_printf(out, "#%" PRId64, index);
}

/* The letters are those of struct mpk_relay_shape. */
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

/* The destination comes first, as in an assignment; the count of further fields is left out. */
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
	for (size_t i = relay_garbage(instr, shape); i < instr->count - 1; i++) {
		char letter = i < fixed ? shape->fields[i] : shape->rest;

		if (letter == 'd' || letter == 'n')
			continue;
		mpk_strbuf_puts(out, separator);
		put_field(x, letter, mpk_relay_word(instr, i + 1), out);
		separator = ", ";
	}
}

/* One line for each instruction, numbered as jumps count them. */
static void dump_func(const struct mpk_relay *x, size_t index, struct mpk_strbuf *out)
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

void mpk_relay_dump(const struct mpk_relay *x, size_t index, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < x->func_count && !out->failed; i++)
		if (index == MPK_RELAY_ALL || index == i)
			dump_func(x, i, out);
}

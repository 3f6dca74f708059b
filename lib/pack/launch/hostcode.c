/* SPDX-License-Identifier: Apache-2.0 */
/* Host code of launch functions: builds it, one instruction for each step, and walks over it to
 * print it. C and LLVM IR have forms for the same instructions, so both do the same. */
#include "launch/internal/hostcode.h"

#include <inttypes.h>
#include <string.h>

int mpk_host_add(struct mpk_hostfn *f, const struct mpk_host_insn *insn, bool has_value)
{
	if (f->failed)
		return -1;
	if (f->count == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 64;
		struct mpk_host_insn *grown = mpk_arena_array(f->arena, cap, sizeof *grown);

		if (!grown) {
			f->failed = true;
			return -1;
		}
		if (f->count)
			memcpy(grown, f->insns, f->count * sizeof *grown);
		f->insns = grown;
		f->cap = cap;
	}
	f->insns[f->count] = *insn;
	f->insns[f->count].dst = has_value ? f->values++ : -1;
	return f->insns[f->count++].dst;
}

int mpk_host_const(struct mpk_hostfn *f, int64_t v)
{
	return MPK_HOST_VALUE(f, .op = MPK_OP_CONST, .imm = v);
}

int mpk_host_text(struct mpk_hostfn *f, const char *text)
{
	return MPK_HOST_VALUE(f, .op = MPK_OP_TEXT, .type = MPK_HOST_PTR, .text = text);
}

int mpk_host_global(struct mpk_hostfn *f, const char *name)
{
	return MPK_HOST_VALUE(f, .op = MPK_OP_GLOBAL, .type = MPK_HOST_PTR, .text = name);
}

int mpk_host_function(struct mpk_hostfn *f, const char *name)
{
	return MPK_HOST_VALUE(f, .op = MPK_OP_FUNCTION, .type = MPK_HOST_PTR, .text = name);
}

int mpk_host_arg(struct mpk_hostfn *f, unsigned index, enum mpk_host_type type)
{
	return MPK_HOST_VALUE(f, .op = MPK_OP_ARG, .type = type, .imm = index);
}

/* Zeroes slots where they are made, so that both exits find null pointers in unfilled ones. */
int mpk_host_slot(struct mpk_hostfn *f, size_t bytes)
{
	return MPK_HOST_VALUE(f, .op = MPK_OP_SLOT, .type = MPK_HOST_PTR, .imm = (int64_t)bytes);
}

int mpk_host_load(struct mpk_hostfn *f, enum mpk_host_mem mem, int base, int64_t off)
{
	enum mpk_host_type type = mem == MPK_MEM_PTR   ? MPK_HOST_PTR
				  : mem == MPK_MEM_F64 ? MPK_HOST_F64
						       : MPK_HOST_I64;

	return MPK_HOST_VALUE(f, .op = MPK_OP_LOAD, .type = type, .mem = mem, .a = base,
			      .imm = off);
}

void mpk_host_store(struct mpk_hostfn *f, enum mpk_host_mem mem, int base, int64_t off, int value)
{
	MPK_HOST_EFFECT(f, .op = MPK_OP_STORE, .mem = mem, .a = base, .b = value, .imm = off);
}

int mpk_host_op2(struct mpk_hostfn *f, enum mpk_host_op op, int a, int b)
{
	enum mpk_host_type type = op == MPK_OP_OFFSET ? MPK_HOST_PTR : MPK_HOST_I64;

	return MPK_HOST_VALUE(f, .op = op, .type = type, .a = a, .b = b);
}

int mpk_host_select(struct mpk_hostfn *f, int cond, int yes, int no, enum mpk_host_type type)
{
	return MPK_HOST_VALUE(f, .op = MPK_OP_SELECT, .type = type, .a = cond, .b = yes, .c = no);
}

int mpk_host_convert(struct mpk_hostfn *f, enum mpk_host_op op, int a)
{
	enum mpk_host_type type = op == MPK_OP_TO_F64 ? MPK_HOST_F64 : MPK_HOST_I64;

	return MPK_HOST_VALUE(f, .op = op, .type = type, .a = a);
}

int mpk_host_label(struct mpk_hostfn *f)
{
	return f->labels++;
}

/* The builder makes only forward jumps: generated code has no loops. */
void mpk_host_set_label(struct mpk_hostfn *f, int label)
{
	MPK_HOST_EFFECT(f, .op = MPK_OP_LABEL, .imm = label);
}

void mpk_host_jump_if(struct mpk_hostfn *f, int cond, int label)
{
	MPK_HOST_EFFECT(f, .op = MPK_OP_JUMP_IF, .a = cond, .imm = label);
}

void mpk_host_jump(struct mpk_hostfn *f, int label)
{
	MPK_HOST_EFFECT(f, .op = MPK_OP_JUMP, .imm = label);
}

/* Names of a manifest get into comments of C: characters that could end or begin a comment or
 * continue a line become '?'. */
void mpk_host_comment(struct mpk_hostfn *f, const char *text)
{
	char *copy = mpk_arena_copy(f->arena, text, strlen(text));

	if (!copy) {
		f->failed = true;
		return;
	}
	for (char *p = copy; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '*' || c == '/' || c == '\\' || c < ' ' || c >= 0x80)
			*p = '?';
	}
	MPK_HOST_EFFECT(f, .op = MPK_OP_COMMENT, .text = copy);
}

/* As many as there are letters, at most MPK_HOST_ARGS_MAX. */
static const int *hostcode_keep(struct mpk_hostfn *f, const char *pass, const int *args)
{
	size_t count = strlen(pass);
	int *copy = mpk_arena_array(f->arena, count + 1, sizeof *copy);

	f->failed |= !copy;
	if (copy && count)
		memcpy(copy, args, count * sizeof *copy);
	return copy;
}

/* The letters of pass live as long as the function. */
int mpk_host_call(struct mpk_hostfn *f, int function, char result, const char *pass,
		  const int *args)
{
	struct mpk_host_insn insn = {
		.op = MPK_OP_CALL,
		.a = function,
		.result = result,
		.pass = pass,
		.args = hostcode_keep(f, pass, args),
		.type = result == 'p'                    ? MPK_HOST_PTR
			: result == 'f' || result == 'd' ? MPK_HOST_F64
							 : MPK_HOST_I64,
	};

	return mpk_host_add(f, &insn, result != 'v');
}

void mpk_host_snprintf(struct mpk_hostfn *f, int buf, size_t size, const char *format,
		       const int *args, const char *pass)
{
	struct mpk_host_insn insn = {
		.op = MPK_OP_SNPRINTF,
		.a = buf,
		.imm = (int64_t)size,
		.text = format,
		.pass = pass,
		.args = hostcode_keep(f, pass, args),
	};

	(void)mpk_host_add(f, &insn, false);
}

static enum mpk_code check_built(const struct mpk_hostfn *f, struct mpk_error *err)
{
	return f->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- as text ---------------------------------------------------------------------- */

/* Prints the meaning of a letter. Returns how many helper values are in use now. */
static unsigned hostcode_put_part(struct mpk_host_printer *p, char letter,
				  const struct mpk_host_insn *in)
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

/* Copies the form and replaces each $ with its letter. Helper values are numbered through a
 * function, because LLVM wants each name once. */
static void put_insn(struct mpk_host_printer *p, const struct mpk_host_insn *in)
{
	unsigned used = 0;

	for (const char *form = p->language->form(in); *form; form++) {
		if (*form != '$') {
			mpk_strbuf_putc(p->out, *form);
			continue;
		}
		unsigned helpers = hostcode_put_part(p, *++form, in);

		used = helpers > used ? helpers : used;
	}
	p->helpers += used;
}

/* A function that lacked memory while it was built is reported here and never printed in part. */
enum mpk_code mpk_host_print_functions(struct mpk_host_printer *p, const struct mpk_host_unit *unit,
				       struct mpk_error *err)
{
	for (size_t i = 0; i < unit->function_count; i++) {
		const struct mpk_hostfn *f = &unit->functions[i];

		MPK_TRY(check_built(f, err));
		p->helpers = 0;
		p->language->begin(p, f);
		for (size_t k = 0; k < f->count; k++)
			put_insn(p, &f->insns[k]);
		mpk_strbuf_puts(p->out, "}\n\n");
	}
	return MPK_OK;
}

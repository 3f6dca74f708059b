#include "launch/hostcode.h"

#include <inttypes.h>
#include <string.h>

/* Printing state: constants are collected while a function is printed and stand behind it. */
struct printer {
	struct mpk_strbuf *out;
	struct mpk_strbuf constants;
	unsigned constant_count;
	unsigned temps; /* helper values of the current function, %t0... */
	bool open;      /* the current block still needs a terminator */
};

static const struct {
	const char *type;
	const char *extend; /* to i64, or NULL */
	unsigned align;
} mems[MPK_MEM_COUNT] = {
	[MPK_MEM_U8] = { "i8", "zext", 1 },   [MPK_MEM_U16] = { "i16", "zext", 2 },
	[MPK_MEM_I32] = { "i32", "sext", 4 }, [MPK_MEM_I64] = { "i64", NULL, 8 },
	[MPK_MEM_PTR] = { "ptr", NULL, 8 },   [MPK_MEM_F64] = { "double", NULL, 8 },
};

static const char *ll_type(enum mpk_host_type type)
{
	static const char *const names[] = {
		[MPK_HOST_I64] = "i64", [MPK_HOST_PTR] = "ptr", [MPK_HOST_F64] = "double"
	};
	return names[type];
}

/* A private constant C string; returns its number: @mpk.c.N */
static unsigned string_constant(struct printer *p, const char *text)
{
	mpk_strbuf_printf(&p->constants, "@mpk.c.%u = private unnamed_addr constant [%zu x i8] c\"",
			  p->constant_count, strlen(text) + 1);
	for (const char *q = text; *q; q++) {
		unsigned char c = (unsigned char)*q;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			mpk_strbuf_printf(&p->constants, "\\%02X", c);
		else
			mpk_strbuf_putc(&p->constants, (char)c);
	}
	mpk_strbuf_puts(&p->constants, "\\00\", align 1\n");
	return p->constant_count++;
}

static void put_names(struct printer *p, const struct mpk_host_insn *in)
{
	unsigned first = p->constant_count, table;

	for (size_t i = 0; i < in->name_count; i++)
		(void)string_constant(p, in->names[i]);
	table = p->constant_count++;
	mpk_strbuf_printf(&p->constants, "@mpk.c.%u = private constant [%zu x ptr] [", table,
			  in->name_count);
	for (size_t i = 0; i < in->name_count; i++)
		mpk_strbuf_printf(&p->constants, "%sptr @mpk.c.%u", i ? ", " : "",
				  first + (unsigned)i);
	mpk_strbuf_puts(&p->constants, "], align 8\n");
	mpk_strbuf_printf(p->out,
			  "  %%t%u = getelementptr [%zu x ptr], ptr @mpk.c.%u, i64 0, i64 %%v%d\n",
			  p->temps, in->name_count, table, in->a);
	mpk_strbuf_printf(p->out, "  %%v%d = load ptr, ptr %%t%u, align 8\n", in->dst, p->temps);
	p->temps++;
}

/* The address a + off as a helper value; returns its number. */
static unsigned put_address(struct printer *p, int base, int64_t off)
{
	mpk_strbuf_printf(p->out, "  %%t%u = getelementptr i8, ptr %%v%d, i64 %" PRId64 "\n",
			  p->temps, base, off);
	return p->temps++;
}

static void put_load(struct printer *p, const struct mpk_host_insn *in)
{
	unsigned at = put_address(p, in->a, in->imm);

	if (!mems[in->mem].extend) {
		mpk_strbuf_printf(p->out, "  %%v%d = load %s, ptr %%t%u, align %u\n", in->dst,
				  mems[in->mem].type, at, mems[in->mem].align);
		return;
	}
	mpk_strbuf_printf(p->out, "  %%t%u = load %s, ptr %%t%u, align %u\n", p->temps,
			  mems[in->mem].type, at, mems[in->mem].align);
	mpk_strbuf_printf(p->out, "  %%v%d = %s %s %%t%u to i64\n", in->dst, mems[in->mem].extend,
			  mems[in->mem].type, p->temps);
	p->temps++;
}

static void put_store(struct printer *p, const struct mpk_host_insn *in)
{
	unsigned at = put_address(p, in->a, in->imm);

	if (!mems[in->mem].extend) {
		mpk_strbuf_printf(p->out, "  store %s %%v%d, ptr %%t%u, align %u\n",
				  mems[in->mem].type, in->b, at, mems[in->mem].align);
		return;
	}
	mpk_strbuf_printf(p->out, "  %%t%u = trunc i64 %%v%d to %s\n", p->temps, in->b,
			  mems[in->mem].type);
	mpk_strbuf_printf(p->out, "  store %s %%t%u, ptr %%t%u, align %u\n", mems[in->mem].type,
			  p->temps, at, mems[in->mem].align);
	p->temps++;
}

static void put_compare(struct printer *p, const char *op, const char *type, int a, int b, int dst)
{
	mpk_strbuf_printf(p->out, "  %%t%u = icmp %s %s %%v%d, %%v%d\n", p->temps, op, type, a, b);
	mpk_strbuf_printf(p->out, "  %%v%d = zext i1 %%t%u to i64\n", dst, p->temps);
	p->temps++;
}

static void put_overflow(struct printer *p, const char *op, const struct mpk_host_insn *in)
{
	mpk_strbuf_printf(
		p->out,
		"  %%t%u = call { i64, i1 } @llvm.%s.with.overflow.i64(i64 %%v%d, i64 %%v%d)\n"
		"  %%t%u = extractvalue { i64, i1 } %%t%u, 1\n"
		"  %%v%d = zext i1 %%t%u to i64\n",
		p->temps, op, in->a, in->b, p->temps + 1, p->temps, in->dst, p->temps + 1);
	p->temps += 2;
}

static void put_condition(struct printer *p, int value)
{
	mpk_strbuf_printf(p->out, "  %%t%u = icmp ne i64 %%v%d, 0\n", p->temps++, value);
}

static void put_select(struct printer *p, const struct mpk_host_insn *in)
{
	const char *type = ll_type(in->type);

	put_condition(p, in->a);
	mpk_strbuf_printf(p->out, "  %%v%d = select i1 %%t%u, %s %%v%d, %s %%v%d\n", in->dst,
			  p->temps - 1, type, in->b, type, in->c);
}

static void put_call(struct printer *p, const struct mpk_host_insn *in)
{
	unsigned narrow[MPK_HOST_ARGS_MAX] = { 0 };
	const char *result = in->result == 'i' ? "i32" : in->result == 'p' ? "ptr" : "void";

	for (size_t i = 0; in->pass[i]; i++) {
		if (in->pass[i] != 'i')
			continue;
		narrow[i] = p->temps++;
		mpk_strbuf_printf(p->out, "  %%t%u = trunc i64 %%v%d to i32\n", narrow[i],
				  in->args[i]);
	}
	mpk_strbuf_puts(p->out, "  ");
	if (in->result == 'i')
		mpk_strbuf_printf(p->out, "%%t%u = ", p->temps);
	else if (in->result == 'p')
		mpk_strbuf_printf(p->out, "%%v%d = ", in->dst);
	mpk_strbuf_printf(p->out, "call %s %%v%d(", result, in->a);
	for (size_t i = 0; in->pass[i]; i++) {
		mpk_strbuf_puts(p->out, i ? ", " : "");
		if (in->pass[i] == 'i') /* C ABIs of some targets want the extension stated */
			mpk_strbuf_printf(p->out, "i32 signext %%t%u", narrow[i]);
		else
			mpk_strbuf_printf(p->out, "%s %%v%d", in->pass[i] == 'p' ? "ptr" : "i64",
					  in->args[i]);
	}
	mpk_strbuf_puts(p->out, ")\n");
	if (in->result == 'i') {
		mpk_strbuf_printf(p->out, "  %%v%d = sext i32 %%t%u to i64\n", in->dst, p->temps);
		p->temps++;
	}
}

static void put_snprintf(struct printer *p, const struct mpk_host_insn *in)
{
	unsigned format = string_constant(p, in->text);

	mpk_strbuf_printf(p->out,
			  "  call i32 (ptr, i64, ptr, ...) @snprintf(ptr %%v%d, i64 %" PRId64
			  ", ptr @mpk.c.%u",
			  in->a, in->imm, format);
	for (size_t i = 0; in->pass[i]; i++)
		mpk_strbuf_printf(p->out, ", %s %%v%d", in->pass[i] == 'p' ? "ptr" : "i64",
				  in->args[i]);
	mpk_strbuf_puts(p->out, ")\n");
}

/* Plain operators of two integers. */
static const char *const plain[MPK_OP_COUNT] = {
	[MPK_OP_ADD] = "add",  [MPK_OP_SUB] = "sub", [MPK_OP_MUL] = "mul", [MPK_OP_DIV] = "sdiv",
	[MPK_OP_REM] = "srem", [MPK_OP_AND] = "and", [MPK_OP_OR] = "or",
};
static const char *const overflow[MPK_OP_COUNT] = {
	[MPK_OP_ADD_OVER] = "sadd",
	[MPK_OP_SUB_OVER] = "ssub",
	[MPK_OP_MUL_OVER] = "smul",
};
static const char *const compare[MPK_OP_COUNT] = {
	[MPK_OP_EQ] = "eq",
	[MPK_OP_LT] = "slt",
	[MPK_OP_LE] = "sle",
};

static void put_jump(struct printer *p, const struct mpk_host_insn *in)
{
	switch ((int)in->op) {
	case MPK_OP_LABEL:
		if (p->open)
			mpk_strbuf_printf(p->out, "  br label %%l%" PRId64 "\n", in->imm);
		mpk_strbuf_printf(p->out, "l%" PRId64 ":\n", in->imm);
		p->open = true;
		break;
	case MPK_OP_JUMP_IF:
		put_condition(p, in->a);
		mpk_strbuf_printf(p->out,
				  "  br i1 %%t%u, label %%l%" PRId64 ", label %%n%u\nn%u:\n",
				  p->temps - 1, in->imm, p->temps, p->temps);
		p->temps++;
		break;
	case MPK_OP_JUMP:
		mpk_strbuf_printf(p->out, "  br label %%l%" PRId64 "\n", in->imm);
		p->open = false;
		break;
	default:
		mpk_strbuf_printf(p->out, "  ret i32 %" PRId64 "\n", in->imm);
		p->open = false;
		break;
	}
}

/* Constants, parameters and addresses: one line each. */
static void put_leaf(struct printer *p, const struct mpk_hostfn *f, const struct mpk_host_insn *in)
{
	uint64_t bits;

	switch ((int)in->op) {
	case MPK_OP_CONST:
		mpk_strbuf_printf(p->out, "  %%v%d = add i64 0, %" PRId64 "\n", in->dst, in->imm);
		break;
	case MPK_OP_FCONST:
		memcpy(&bits, &in->fimm, sizeof bits);
		mpk_strbuf_printf(p->out,
				  "  %%v%d = select i1 true, double 0x%016" PRIX64 ", double 0.0\n",
				  in->dst, bits);
		break;
	case MPK_OP_NULL:
		mpk_strbuf_printf(p->out, "  %%v%d = getelementptr i8, ptr null, i64 0\n", in->dst);
		break;
	case MPK_OP_TEXT:
		mpk_strbuf_printf(p->out, "  %%v%d = getelementptr i8, ptr @mpk.c.%u, i64 0\n",
				  in->dst, string_constant(p, in->text));
		break;
	case MPK_OP_FUNCTION:
	case MPK_OP_GLOBAL:
		mpk_strbuf_printf(p->out, "  %%v%d = getelementptr i8, ptr @%s, i64 0\n", in->dst,
				  in->text);
		break;
	case MPK_OP_ARG:
		if (f->params[in->imm] == 'P')
			mpk_strbuf_printf(p->out,
					  "  %%v%d = getelementptr i8, ptr %%a%" PRId64 ", i64 0\n",
					  in->dst, in->imm);
		else
			mpk_strbuf_printf(p->out, "  %%v%d = sext i32 %%a%" PRId64 " to i64\n",
					  in->dst, in->imm);
		break;
	case MPK_OP_SLOT:
		mpk_strbuf_printf(
			p->out,
			"  call void @llvm.memset.p0.i64(ptr align 16 %%v%d, i8 0, i64 %" PRId64
			", i1 false)\n",
			in->dst, in->imm);
		break;
	default:
		break;
	}
}

static void put_insn(struct printer *p, const struct mpk_hostfn *f, const struct mpk_host_insn *in)
{
	if (plain[in->op]) {
		mpk_strbuf_printf(p->out, "  %%v%d = %s i64 %%v%d, %%v%d\n", in->dst, plain[in->op],
				  in->a, in->b);
		return;
	}
	if (overflow[in->op]) {
		put_overflow(p, overflow[in->op], in);
		return;
	}
	if (compare[in->op]) {
		put_compare(p, compare[in->op], "i64", in->a, in->b, in->dst);
		return;
	}
	switch ((int)in->op) {
	case MPK_OP_NAMES:
		put_names(p, in);
		break;
	case MPK_OP_LOAD:
		put_load(p, in);
		break;
	case MPK_OP_STORE:
		put_store(p, in);
		break;
	case MPK_OP_ACQUIRE:
		mpk_strbuf_printf(p->out, "  %%v%d = load atomic ptr, ptr %%v%d acquire, align 8\n",
				  in->dst, in->a);
		break;
	case MPK_OP_RELEASE:
		mpk_strbuf_printf(p->out, "  store atomic ptr %%v%d, ptr %%v%d release, align 8\n",
				  in->b, in->a);
		break;
	case MPK_OP_OFFSET:
		mpk_strbuf_printf(p->out, "  %%v%d = getelementptr i8, ptr %%v%d, i64 %%v%d\n",
				  in->dst, in->a, in->b);
		break;
	case MPK_OP_ADDRESS:
		mpk_strbuf_printf(p->out, "  %%v%d = ptrtoint ptr %%v%d to i64\n", in->dst, in->a);
		break;
	case MPK_OP_TO_F64:
		mpk_strbuf_printf(p->out, "  %%v%d = sitofp i64 %%v%d to double\n", in->dst, in->a);
		break;
	case MPK_OP_COMMENT:
		mpk_strbuf_printf(p->out, "  ; %s\n", in->text);
		break;
	case MPK_OP_SELECT:
		put_select(p, in);
		break;
	case MPK_OP_CALL:
		put_call(p, in);
		break;
	case MPK_OP_SNPRINTF:
		put_snprintf(p, in);
		break;
	case MPK_OP_LABEL:
	case MPK_OP_JUMP_IF:
	case MPK_OP_JUMP:
	case MPK_OP_RETURN:
		put_jump(p, in);
		break;
	default:
		put_leaf(p, f, in);
		break;
	}
}

static void put_function(struct printer *p, const struct mpk_hostfn *f)
{
	mpk_strbuf_printf(p->out, "define signext i32 @%s(", f->symbol);
	for (size_t i = 0; f->params[i]; i++)
		mpk_strbuf_printf(p->out, "%s%s%%a%zu", i ? ", " : "",
				  f->params[i] == 'P' ? "ptr " : "i32 signext ", i);
	mpk_strbuf_puts(p->out, ") nounwind {\n");
	/* stack slots in the entry block only, so that they are static */
	for (size_t i = 0; i < f->count; i++)
		if (f->insns[i].op == MPK_OP_SLOT)
			mpk_strbuf_printf(p->out, "  %%v%d = alloca [%" PRId64 " x i8], align 16\n",
					  f->insns[i].dst, f->insns[i].imm);
	p->temps = 0;
	p->open = true;
	for (size_t i = 0; i < f->count; i++)
		put_insn(p, f, &f->insns[i]);
	mpk_strbuf_puts(p->out, "}\n\n");
}

static void put_globals(struct mpk_strbuf *out, const struct mpk_host_unit *unit)
{
	static const char *const links[] = { [MPK_HOST_WEAK] = "extern_weak ",
					     [MPK_HOST_STRONG] = "",
					     [MPK_HOST_HIDDEN] = "hidden " };

	for (size_t i = 0; i < unit->extern_count; i++)
		mpk_strbuf_printf(out, "declare %svoid @%s()\n", links[unit->externs[i].link],
				  unit->externs[i].name);
	for (size_t i = 0; i < unit->global_count; i++)
		mpk_strbuf_printf(out, "@%s = %s global ptr null, align 8\n", unit->globals[i].name,
				  unit->globals[i].weak ? "weak" : "internal");
}

static void put_registration(struct printer *p, const struct mpk_host_unit *unit)
{
	mpk_strbuf_printf(p->out, "declare i32 @%s(ptr, ptr)\n", unit->register_function);
	mpk_strbuf_puts(
		p->out,
		"@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @register_functions, ptr null }]\n"
		"define internal void @register_functions() {\n");
	for (size_t i = 0; i < unit->function_count; i++) {
		const char *symbol = unit->functions[i].symbol;

		mpk_strbuf_printf(p->out, "  call i32 @%s(ptr @mpk.c.%u, ptr @%s)\n",
				  unit->register_function, string_constant(p, symbol), symbol);
	}
	mpk_strbuf_puts(p->out, "  ret void\n}\n");
}

enum mpk_code mpk_host_print_ll(const struct mpk_host_unit *unit, struct mpk_strbuf *out,
				struct mpk_error *err)
{
	struct printer p = { .out = out };

	mpk_strbuf_printf(out, "source_filename = \"%s\"\n\n", unit->source_name);
	put_globals(out, unit);
	mpk_strbuf_puts(out, "\ndeclare i32 @snprintf(ptr, i64, ptr, ...)\n"
			     "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
			     "declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)\n"
			     "declare { i64, i1 } @llvm.ssub.with.overflow.i64(i64, i64)\n"
			     "declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)\n\n");
	for (size_t i = 0; i < unit->function_count; i++) {
		enum mpk_code code = mpk_host_status(&unit->functions[i], err);

		if (code != MPK_OK) {
			mpk_strbuf_fini(&p.constants);
			return code;
		}
		put_function(&p, &unit->functions[i]);
	}
	if (unit->register_function)
		put_registration(&p, unit);
	if (p.constants.failed)
		out->failed = true;
	mpk_strbuf_put_span(out, mpk_span_str(mpk_strbuf_text(&p.constants)));
	mpk_strbuf_fini(&p.constants);
	return mpk_strbuf_status(out, err);
}

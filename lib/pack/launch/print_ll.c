/* SPDX-License-Identifier: Apache-2.0 */
/* print_ll.c - host code as LLVM IR, for targets without a C compiler here
 *
 * Values are in SSA form already. Each jump that may be taken ends a block, and the next block
 * gets a name of its own (%nN). */
#include <inttypes.h>
#include <string.h>

#include "launch/internal/hostcode.h"

/* Collects constants while a function is printed, and prints them after all functions. */
struct ll_printer {
	struct mpk_host_printer base;
	struct mpk_strbuf constants;
	unsigned constant_count;
	bool open; /* the current block still needs a terminator */
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

/* A private constant C string; returns its number: @mpk.c.N */
static unsigned string_constant(struct ll_printer *p, const char *text)
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

/* A private table of such strings; returns its number. */
static unsigned name_table(struct ll_printer *p, const struct mpk_host_insn *in)
{
	unsigned first = p->constant_count;

	for (size_t i = 0; i < in->name_count; i++)
		(void)string_constant(p, in->names[i]);
	mpk_strbuf_printf(&p->constants, "@mpk.c.%u = private constant [%zu x ptr] [",
			  p->constant_count, in->name_count);
	for (size_t i = 0; i < in->name_count; i++)
		mpk_strbuf_printf(&p->constants, "%sptr @mpk.c.%u", i ? ", " : "",
				  first + (unsigned)i);
	mpk_strbuf_puts(&p->constants, "], align 8\n");
	return p->constant_count++;
}

/* The LLVM IR form of a letter of a call: its type, and the conversions to and from a value. */
struct letter {
	char letter;
	const char *type, *extension, *wide, *narrow, *widen;
};

static const struct letter *letter_of(char letter)
{
	static const struct letter letters[] = {
		{ 'v', "void", "", NULL, NULL, NULL },
		{ 'p', "ptr", "", "ptr", NULL, NULL },
		{ 'l', "i64", "", "i64", NULL, NULL },
		{ 'L', "i64", "", "i64", NULL, NULL },
		{ 'd', "double", "", "double", NULL, NULL },
		{ 'f', "float", "", "double", "fptrunc", "fpext" },
		{ 'b', "i8", "signext ", "i64", "trunc", "sext" },
		{ 'B', "i8", "zeroext ", "i64", "trunc", "zext" },
		{ 'h', "i16", "signext ", "i64", "trunc", "sext" },
		{ 'H', "i16", "zeroext ", "i64", "trunc", "zext" },
		{ 'i', "i32", "signext ", "i64", "trunc", "sext" },
		{ 'I', "i32", "zeroext ", "i64", "trunc", "zext" },
		{ 'z', "i1", "zeroext ", "i64", "trunc", "zext" },
	};
	size_t i = 0;

	while (letters[i].letter != letter)
		i++; /* The builders know no other letters. */
	return &letters[i];
}

static void print_ll_put_call(struct mpk_host_printer *p, const struct mpk_host_insn *in)
{
	const struct letter *result = letter_of(in->result);
	unsigned first = p->helpers;

	for (size_t i = 0; in->pass[i]; i++) {
		const struct letter *l = letter_of(in->pass[i]);

		if (l->narrow)
			mpk_strbuf_printf(p->out, "  %%t%u = %s %s %%v%d to %s\n", p->helpers++,
					  l->narrow, l->wide, in->args[i], l->type);
	}
	mpk_strbuf_puts(p->out, "  ");
	if (result->widen)
		mpk_strbuf_printf(p->out, "%%t%u = ", p->helpers);
	else if (in->dst >= 0)
		mpk_strbuf_printf(p->out, "%%v%d = ", in->dst);
	mpk_strbuf_printf(p->out, "call %s %%v%d(", result->type, in->a);
	for (size_t i = 0; in->pass[i]; i++) {
		const struct letter *l = letter_of(in->pass[i]);

		/* C ABIs of some targets require the extension to be stated. */
		mpk_strbuf_printf(p->out, "%s%s %s%%%c%d", i ? ", " : "", l->type, l->extension,
				  l->narrow ? 't' : 'v', l->narrow ? (int)first++ : in->args[i]);
	}
	mpk_strbuf_puts(p->out, ")\n");
	if (result->widen)
		mpk_strbuf_printf(p->out, "  %%v%d = %s %s %%t%u to %s\n", in->dst, result->widen,
				  result->type, p->helpers++, result->wide);
}

/* $q the number of a string constant, $n of a table of them, $N its length, $f the bits of a
 * double, $t the result's type; of memory $m the type, $e its extension, $A its alignment;
 * $> falls through into a label, $< has left the block; $x arguments of snprintf; $l a call */
static void print_ll_put_own(struct mpk_host_printer *base, char letter,
			     const struct mpk_host_insn *in)
{
	static const char *const types[] = {
		[MPK_HOST_I64] = "i64", [MPK_HOST_PTR] = "ptr", [MPK_HOST_F64] = "double"
	};
	struct ll_printer *p = (struct ll_printer *)base;
	struct mpk_strbuf *out = base->out;
	uint64_t bits;

	switch (letter) {
	case 'q':
		mpk_strbuf_printf(out, "%u", string_constant(p, in->text));
		break;
	case 'n':
		mpk_strbuf_printf(out, "%u", name_table(p, in));
		break;
	case 'N':
		mpk_strbuf_printf(out, "%zu", in->name_count);
		break;
	case 'f':
		memcpy(&bits, &in->fimm, sizeof bits);
		mpk_strbuf_printf(out, "0x%016" PRIX64, bits);
		break;
	case 't':
		mpk_strbuf_puts(out, types[in->type]);
		break;
	case 'm':
		mpk_strbuf_puts(out, mems[in->mem].type);
		break;
	case 'e':
		mpk_strbuf_puts(out, mems[in->mem].extend);
		break;
	case 'A':
		mpk_strbuf_printf(out, "%u", mems[in->mem].align);
		break;
	case 'x':
		for (size_t i = 0; in->pass[i]; i++)
			mpk_strbuf_printf(out, ", %s %%v%d", in->pass[i] == 'p' ? "ptr" : "i64",
					  in->args[i]);
		break;
	case '>':
		if (p->open)
			mpk_strbuf_printf(out, "  br label %%l%" PRId64 "\n", in->imm);
		p->open = true;
		break;
	case '<':
		p->open = false;
		break;
	default:
		print_ll_put_call(base, in);
		break;
	}
}

/* Conditions are 64-bit integers in host code and i1 in LLVM: each comparison is widened, each
 * jump compares with 0. */
#define BINARY(op) "  %v$d = " op " i64 %v$a, %v$b\n"
#define COMPARE(op) "  %t$0 = icmp " op " i64 %v$a, %v$b\n  %v$d = zext i1 %t$0 to i64\n"
#define OVERFLOW(op)                                                                               \
	"  %t$0 = call { i64, i1 } @llvm." op ".with.overflow.i64(i64 %v$a, i64 %v$b)\n"           \
	"  %t$1 = extractvalue { i64, i1 } %t$0, 1\n"                                              \
	"  %v$d = zext i1 %t$1 to i64\n"
#define CONDITION "  %t$0 = icmp ne i64 %v$a, 0\n"
#define ADDRESS "  %t$0 = getelementptr i8, ptr %v$a, i64 $i\n"

/* LLVM has no instruction that only names a value: constants become an addition of 0, addresses
 * a getelementptr of 0 bytes. Its optimiser removes them. */
static const char *const forms[MPK_OP_COUNT] = {
	[MPK_OP_CONST] = "  %v$d = add i64 0, $i\n",
	[MPK_OP_FCONST] = "  %v$d = select i1 true, double $f, double 0.0\n",
	[MPK_OP_NULL] = "  %v$d = getelementptr i8, ptr null, i64 0\n",
	[MPK_OP_TEXT] = "  %v$d = getelementptr i8, ptr @mpk.c.$q, i64 0\n",
	[MPK_OP_NAMES] = "  %t$0 = getelementptr [$N x ptr], ptr @mpk.c.$n, i64 0, i64 %v$a\n"
			 "  %v$d = load ptr, ptr %t$0, align 8\n",
	[MPK_OP_GLOBAL] = "  %v$d = getelementptr i8, ptr @$s, i64 0\n",
	[MPK_OP_FUNCTION] = "  %v$d = getelementptr i8, ptr @$s, i64 0\n",
	[MPK_OP_ARG] = "  %v$d = sext i32 %a$i to i64\n",
	[MPK_OP_SLOT] =
		"  call void @llvm.memset.p0.i64(ptr align 16 %v$d, i8 0, i64 $i, i1 false)\n",
	[MPK_OP_LOAD] = ADDRESS "  %v$d = load $m, ptr %t$0, align $A\n",
	[MPK_OP_ACQUIRE] = "  %v$d = load atomic ptr, ptr %v$a acquire, align 8\n",
	[MPK_OP_STORE] = ADDRESS "  store $m %v$b, ptr %t$0, align $A\n",
	[MPK_OP_RELEASE] = "  store atomic ptr %v$b, ptr %v$a release, align 8\n",
	[MPK_OP_OFFSET] = "  %v$d = getelementptr i8, ptr %v$a, i64 %v$b\n",
	[MPK_OP_ADDRESS] = "  %v$d = ptrtoint ptr %v$a to i64\n",
	[MPK_OP_ADD] = BINARY("add"),
	[MPK_OP_SUB] = BINARY("sub"),
	[MPK_OP_MUL] = BINARY("mul"),
	[MPK_OP_DIV] = BINARY("sdiv"),
	[MPK_OP_REM] = BINARY("srem"),
	[MPK_OP_AND] = BINARY("and"),
	[MPK_OP_OR] = BINARY("or"),
	[MPK_OP_ADD_OVER] = OVERFLOW("sadd"),
	[MPK_OP_SUB_OVER] = OVERFLOW("ssub"),
	[MPK_OP_MUL_OVER] = OVERFLOW("smul"),
	[MPK_OP_EQ] = COMPARE("eq"),
	[MPK_OP_LT] = COMPARE("slt"),
	[MPK_OP_LE] = COMPARE("sle"),
	[MPK_OP_SELECT] = CONDITION "  %v$d = select i1 %t$0, $t %v$b, $t %v$c\n",
	[MPK_OP_TO_F64] = "  %v$d = sitofp i64 %v$a to double\n",
	[MPK_OP_CALL] = "$l",
	[MPK_OP_SNPRINTF] = "  call i32 (ptr, i64, ptr, ...) @snprintf(ptr %v$a, i64 $i, "
			    "ptr @mpk.c.$q$x)\n",
	[MPK_OP_LABEL] = "$>l$i:\n",
	[MPK_OP_JUMP_IF] = CONDITION "  br i1 %t$0, label %l$i, label %n$1\nn$1:\n",
	[MPK_OP_JUMP] = "  br label %l$i\n$<",
	[MPK_OP_RETURN] = "  ret i32 $i\n$<",
	[MPK_OP_COMMENT] = "  ; $s\n",
};

/* Values that are narrower in memory, and parameters that are pointers, are spelt differently. */
static const char *print_ll_form_of(const struct mpk_host_insn *in)
{
	if (in->op == MPK_OP_LOAD && mems[in->mem].extend)
		return ADDRESS "  %t$1 = load $m, ptr %t$0, align $A\n"
			       "  %v$d = $e $m %t$1 to i64\n";
	if (in->op == MPK_OP_STORE && mems[in->mem].extend)
		return ADDRESS "  %t$1 = trunc i64 %v$b to $m\n"
			       "  store $m %t$1, ptr %t$0, align $A\n";
	if (in->op == MPK_OP_ARG && in->type == MPK_HOST_PTR)
		return "  %v$d = getelementptr i8, ptr %a$i, i64 0\n";
	return forms[in->op];
}

/* signext: some ABIs (s390x, riscv64) want 32-bit results and parameters extended by the callee
 * or the caller, and LLVM extends only where the IR says so. */
static void begin_function(struct mpk_host_printer *p, const struct mpk_hostfn *f)
{
	mpk_strbuf_printf(p->out, "define signext i32 @%s(", f->symbol);
	for (size_t i = 0; f->params[i]; i++)
		mpk_strbuf_printf(p->out, "%s%s%%a%zu", i ? ", " : "",
				  f->params[i] == 'P' ? "ptr " : "i32 signext ", i);
	mpk_strbuf_puts(p->out, f->plain ? ") nounwind noinline optnone {\n" : ") nounwind {\n");
	/* Stack slots only in the entry block, so that they are static. */
	for (size_t i = 0; i < f->count; i++)
		if (f->insns[i].op == MPK_OP_SLOT)
			mpk_strbuf_printf(p->out, "  %%v%d = alloca [%" PRId64 " x i8], align 16\n",
					  f->insns[i].dst, f->insns[i].imm);
	((struct ll_printer *)p)->open = true;
}

/* A call for each name, with the name as a constant of its own. */
static void put_registered(struct ll_printer *p, const struct mpk_host_unit *unit,
			   const char *symbol)
{
	mpk_strbuf_printf(p->base.out, "  call i32 @%s(ptr @mpk.c.%u, ptr @%s)\n",
			  unit->register_function, string_constant(p, symbol), symbol);
}

static enum mpk_code print_unit_ll(const struct mpk_host_unit *unit, struct mpk_strbuf *out,
				   struct mpk_error *err)
{
	struct ll_printer p = { .base = { .language = &mpk_host_ll, .out = out } };

	mpk_strbuf_printf(out, "source_filename = \"%s\"\n\n", unit->source_name);

	static const char *const links[] = { [MPK_HOST_WEAK] = "extern_weak ",
					     [MPK_HOST_STRONG] = "",
					     [MPK_HOST_HIDDEN] = "hidden " };

	for (size_t i = 0; i < unit->extern_count; i++)
		mpk_strbuf_printf(out, "declare %svoid @%s()\n", links[unit->externs[i].link],
				  unit->externs[i].name);
	for (size_t i = 0; i < unit->global_count; i++)
		mpk_strbuf_printf(out, "@%s = %s global ptr null, align 8\n", unit->globals[i].name,
				  unit->globals[i].weak ? "weak" : "internal");

	mpk_strbuf_puts(out, "\ndeclare i32 @snprintf(ptr, i64, ptr, ...)\n"
			     "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
			     "declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)\n"
			     "declare { i64, i1 } @llvm.ssub.with.overflow.i64(i64, i64)\n"
			     "declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)\n\n");
	enum mpk_code code = mpk_host_print_functions(&p.base, unit, err);

	if (code == MPK_OK && unit->register_function) {
		mpk_strbuf_printf(p.base.out, "declare i32 @%s(ptr, ptr)\n",
				  unit->register_function);
		mpk_strbuf_puts(
			p.base.out,
			"@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @register_functions, ptr null }]\n"
			"define internal void @register_functions() {\n");
		if (unit->context)
			put_registered(&p, unit, unit->context);
		for (size_t i = 0; i < unit->function_count; i++)
			put_registered(&p, unit, unit->functions[i].symbol);
		mpk_strbuf_puts(p.base.out, "  ret void\n}\n");
	}
	if (p.constants.failed)
		out->failed = true;
	mpk_strbuf_put_span(out, mpk_span_str(mpk_strbuf_text(&p.constants)));
	mpk_strbuf_fini(&p.constants);
	return code == MPK_OK ? mpk_strbuf_status(out, err) : mpk_failed(code);
}

const struct mpk_host_language mpk_host_ll = { print_unit_ll, print_ll_form_of, print_ll_put_own,
					       begin_function };

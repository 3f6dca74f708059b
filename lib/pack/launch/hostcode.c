/* SPDX-License-Identifier: Apache-2.0 */
/* Host code of launch functions: builds it, one instruction for each step, and walks over it to
 * print it. C and LLVM IR have forms for the same instructions, so both do the same. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "launch/internal/hostcode.h"
#include "text/escape.h"

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

/* The unit's functions, in their order
 * Returns  MPK_OK; MPK_E_NOMEM when one of them could not be built. Failures of out are
 *          remembered by it.
 *
 * A function that lacked memory while it was built is reported here and never printed in part.
 */
static enum mpk_code host_print_functions(struct mpk_host_printer *p,
					  const struct mpk_host_unit *unit, struct mpk_error *err)
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

/* --- Host code as C.
 *
 * One statement an instruction. Memory is read and written through memcpy, so that no alignment is
 * assumed; arithmetic that may wrap is unsigned.
 */

static const char *const prelude =
	"#include <stdint.h>\n"
	"#include <stdio.h>\n"
	"#include <string.h>\n"
	"\n"
	"#define LOAD(name, type, wide)                                              \\\n"
	"\tstatic inline wide load_##name(const void *p, long off)              \\\n"
	"\t{                                                                    \\\n"
	"\t\ttype v;                                                      \\\n"
	"\t\tmemcpy(&v, (const char *)p + off, sizeof v);                 \\\n"
	"\t\treturn (wide)v;                                              \\\n"
	"\t}                                                                    \\\n"
	"\tstatic inline void store_##name(void *p, long off, wide x)           \\\n"
	"\t{                                                                    \\\n"
	"\t\ttype v = (type)x;                                            \\\n"
	"\t\tmemcpy((char *)p + off, &v, sizeof v);                       \\\n"
	"\t}\n"
	"#pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"\n"
	"#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
	"LOAD(u8, uint8_t, int64_t)\n"
	"LOAD(u16, uint16_t, int64_t)\n"
	"LOAD(i32, int32_t, int64_t)\n"
	"LOAD(i64, int64_t, int64_t)\n"
	"LOAD(ptr, void *, void *)\n"
	"LOAD(f64, double, double)\n"
	"static inline int64_t add_over(int64_t a, int64_t b) { int64_t r; return __builtin_add_overflow(a, b, &r); }\n"
	"static inline int64_t sub_over(int64_t a, int64_t b) { int64_t r; return __builtin_sub_overflow(a, b, &r); }\n"
	"static inline int64_t mul_over(int64_t a, int64_t b) { int64_t r; return __builtin_mul_overflow(a, b, &r); }\n"
	"#define WRAP(a, op, b) ((int64_t)((uint64_t)(a) op (uint64_t)(b)))\n"
	"#define EXPORT __attribute__((visibility(\"default\")))\n"
	"#ifdef __clang__\n"
	"#define PLAIN __attribute__((optnone))\n"
	"#else\n"
	"#define PLAIN __attribute__((optimize(\"O0\")))\n"
	"#endif\n"
	"\n";

/* With the blank that precedes a name. */
static const char *c_type(enum mpk_host_type type)
{
	switch (type) {
	case MPK_HOST_PTR:
		return "void *";
	case MPK_HOST_F64:
		return "double ";
	case MPK_HOST_I64:
		break;
	}
	return "int64_t ";
}

/* The C form of a letter of a call. */
static const char *letter_type(char letter)
{
	static const struct {
		char letter;
		const char *type;
	} types[] = {
		{ 'p', "void *" },   { 'b', "int8_t" },  { 'B', "uint8_t" },  { 'h', "int16_t" },
		{ 'H', "uint16_t" }, { 'i', "int32_t" }, { 'I', "uint32_t" }, { 'l', "int64_t" },
		{ 'L', "uint64_t" }, { 'z', "_Bool" },   { 'f', "float" },    { 'd', "double" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
		if (types[i].letter == letter)
			return types[i].type;
	return "void";
}

/* Casts the address: externs are declared as bytes, because a name may have different types in
 * releases of TVM. */
static void print_c_put_call(struct mpk_strbuf *out, const struct mpk_host_insn *in)
{
	if (in->dst >= 0)
		mpk_strbuf_printf(out, "v%d = ", in->dst);
	mpk_strbuf_printf(out, "((%s (*)(", in->result == 'i' ? "int" : letter_type(in->result));
	for (size_t i = 0; in->pass[i]; i++)
		mpk_strbuf_printf(out, "%s%s", i ? ", " : "", letter_type(in->pass[i]));
	mpk_strbuf_printf(out, "%s))v%d)(", *in->pass ? "" : "void", in->a);
	for (size_t i = 0; in->pass[i]; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		if (!strchr("pld", in->pass[i])) /* The types of values. */
			mpk_strbuf_printf(out, "(%s)", letter_type(in->pass[i]));
		mpk_strbuf_printf(out, "v%d", in->args[i]);
	}
	mpk_strbuf_putc(out, ')');
}

/* $L an external function's label, $q a string, $k a constant, $f a floating one, $n a list of names, $m what lies in memory,
 * $x arguments of snprintf, $l a call */
static void print_c_put_own(struct mpk_host_printer *p, char letter, const struct mpk_host_insn *in)
{
	static const char *const mem[MPK_MEM_COUNT] = { "u8", "u16", "i32", "i64", "ptr", "f64" };

	switch (letter) {
	case 'L':
		mpk_strbuf_puts(p->out, in->name_count ? in->names[0] : in->text);
		break;
	case 'q':
		mpk_escape_c(p->out, mpk_span_str(in->text));
		break;
	case 'k':
		if (in->imm == INT64_MIN)
			mpk_strbuf_puts(p->out, "INT64_MIN");
		else
			mpk_strbuf_printf(p->out, "INT64_C(%" PRId64 ")", in->imm);
		break;
	case 'f':
		mpk_strbuf_printf(p->out, "%a", in->fimm);
		break;
	case 'n':
		for (size_t i = 0; i < in->name_count; i++) {
			mpk_escape_c(p->out, mpk_span_str(in->names[i]));
			mpk_strbuf_puts(p->out, ", ");
		}
		break;
	case 'm':
		mpk_strbuf_puts(p->out, mem[in->mem]);
		break;
	case 'x':
		for (size_t i = 0; in->pass[i]; i++)
			mpk_strbuf_printf(p->out, ", (%s)v%d",
					  in->pass[i] == 'p' ? "const char *" : "long long",
					  in->args[i]);
		break;
	default:
		print_c_put_call(p->out, in);
		break;
	}
}

/* The statement of each operation; $ and a letter stand for a part of the instruction
 * (internal/hostcode.h). */
static const char *print_c_form_of(const struct mpk_host_insn *in)
{
	static const char *const forms[MPK_OP_COUNT] = {
		[MPK_OP_CONST] = "\tv$d = $k;\n",
		[MPK_OP_FCONST] = "\tv$d = $f;\n",
		[MPK_OP_NULL] = "\tv$d = 0;\n",
		[MPK_OP_TEXT] = "\tv$d = (void *)$q;\n",
		[MPK_OP_NAMES] = "\tv$d = (void *)(const char *const[]){ $n}[v$a];\n",
		[MPK_OP_GLOBAL] = "\tv$d = &$s;\n",
		[MPK_OP_FUNCTION] = "\tv$d = (void *)$L;\n",
		[MPK_OP_ARG] = "\tv$d = a$i;\n",
		[MPK_OP_SLOT] = "\tmemset(s$d, 0, sizeof s$d);\n\tv$d = s$d;\n",
		[MPK_OP_LOAD] = "\tv$d = load_$m(v$a, $i);\n",
		[MPK_OP_ACQUIRE] = "\tv$d = __atomic_load_n((void **)v$a, __ATOMIC_ACQUIRE);\n",
		[MPK_OP_STORE] = "\tstore_$m(v$a, $i, v$b);\n",
		[MPK_OP_RELEASE] = "\t__atomic_store_n((void **)v$a, v$b, __ATOMIC_RELEASE);\n",
		[MPK_OP_OFFSET] = "\tv$d = (char *)v$a + v$b;\n",
		[MPK_OP_ADDRESS] = "\tv$d = (int64_t)(intptr_t)v$a;\n",
		[MPK_OP_ADD] = "\tv$d = WRAP(v$a, +, v$b);\n",
		[MPK_OP_SUB] = "\tv$d = WRAP(v$a, -, v$b);\n",
		[MPK_OP_MUL] = "\tv$d = WRAP(v$a, *, v$b);\n",
		[MPK_OP_DIV] = "\tv$d = v$a / v$b;\n",
		[MPK_OP_REM] = "\tv$d = v$a % v$b;\n",
		[MPK_OP_AND] = "\tv$d = v$a & v$b;\n",
		[MPK_OP_OR] = "\tv$d = v$a | v$b;\n",
		[MPK_OP_ADD_OVER] = "\tv$d = add_over(v$a, v$b);\n",
		[MPK_OP_SUB_OVER] = "\tv$d = sub_over(v$a, v$b);\n",
		[MPK_OP_MUL_OVER] = "\tv$d = mul_over(v$a, v$b);\n",
		[MPK_OP_EQ] = "\tv$d = v$a == v$b;\n",
		[MPK_OP_LT] = "\tv$d = v$a < v$b;\n",
		[MPK_OP_LE] = "\tv$d = v$a <= v$b;\n",
		[MPK_OP_SELECT] = "\tv$d = v$a ? v$b : v$c;\n",
		[MPK_OP_TO_F64] = "\tv$d = (double)v$a;\n",
		[MPK_OP_CALL] = "\t$l;\n",
		[MPK_OP_SNPRINTF] = "\tsnprintf(v$a, $i, $q$x);\n",
		[MPK_OP_LABEL] = "l$i: __attribute__((unused));\n",
		[MPK_OP_JUMP_IF] = "\tif (v$a)\n\t\tgoto l$i;\n",
		[MPK_OP_JUMP] = "\tgoto l$i;\n",
		[MPK_OP_RETURN] = "\treturn $i;\n",
		[MPK_OP_COMMENT] = "\n\t/* $s */\n",
	};

	return forms[in->op];
}

/* Prints the parameters a0, a1, ... by the letters of f->params. */
static void print_c_put_head(struct mpk_strbuf *out, const struct mpk_hostfn *f, const char *end)
{
	mpk_strbuf_printf(out, "int32_t %s(", f->symbol);
	for (size_t i = 0; f->params[i]; i++)
		mpk_strbuf_printf(out, "%s%sa%zu", i ? ", " : "",
				  f->params[i] == 'P' ? "void *" : "int32_t ", i);
	mpk_strbuf_puts(out, end);
}

/* Declares before defining: -Wmissing-prototypes of a user's flags would complain. */
static void begin_function(struct mpk_host_printer *p, const struct mpk_hostfn *f)
{
	mpk_strbuf_puts(p->out, f->plain ? "EXPORT PLAIN " : "EXPORT ");
	print_c_put_head(p->out, f, ");\n");
	print_c_put_head(p->out, f, ")\n{\n");

	/* Variables come first: a goto may not jump past an initialisation. */
	struct mpk_strbuf *out = p->out;
	for (size_t i = 0; i < f->count; i++) {
		const struct mpk_host_insn *in = &f->insns[i];

		if (in->op == MPK_OP_SLOT)
			mpk_strbuf_printf(out,
					  "\tchar s%d[%" PRId64 "] __attribute__((aligned(16)));\n",
					  in->dst, in->imm);
		if (in->dst >= 0)
			mpk_strbuf_printf(out, "\t%sv%d;\n", c_type(in->type), in->dst);
	}
	for (size_t i = 0; f->params[i]; i++)
		mpk_strbuf_printf(out, "\t(void)a%zu;\n", i);
}

static enum mpk_code print_unit_c(const struct mpk_host_unit *unit, struct mpk_strbuf *out,
				  struct mpk_error *err)
{
	struct mpk_host_printer p = { .language = &mpk_host_c, .out = out };

	mpk_strbuf_printf(out, "/* %s: launch functions, generated by mpack */\n",
			  unit->source_name);
	mpk_strbuf_puts(out, prelude);

	static const char *const links[] = {
		[MPK_HOST_WEAK] = "__attribute__((weak)) ",
		[MPK_HOST_STRONG] = "",
		[MPK_HOST_HIDDEN] = "__attribute__((visibility(\"hidden\"))) ",
	};

	for (size_t i = 0; i < unit->extern_count; i++) {
		if (!unit->externs[i].label)
			continue;
		mpk_strbuf_puts(
			out,
			"#define TEXT_OF(x) #x\n"
			"#define PREFIX_OF(x) TEXT_OF(x)\n"
			"#define SYMBOL(name) __asm__(PREFIX_OF(__USER_LABEL_PREFIX__) name)\n");
		break;
	}
	/* Declared as bytes: only the address counts, and calls cast it to the right type. */
	for (size_t i = 0; i < unit->extern_count; i++) {
		const struct mpk_host_extern *e = &unit->externs[i];

		mpk_strbuf_printf(out, "extern %schar %s[]", links[e->link],
				  e->label ? e->label : e->name);
		if (e->label)
			mpk_strbuf_printf(out, " SYMBOL(\"%s\")", e->name);
		mpk_strbuf_puts(out, ";\n");
	}
	for (size_t i = 0; i < unit->global_count; i++)
		mpk_strbuf_printf(out, "%s void *%s;\n",
				  unit->globals[i].weak ? "EXPORT __attribute__((weak))" : "static",
				  unit->globals[i].name);

	mpk_strbuf_putc(out, '\n');
	MPK_TRY(host_print_functions(&p, unit, err));
	if (unit->register_function) {
		/* Nobody looks for a system library: it registers its functions when the program
		 * starts. */
		mpk_strbuf_printf(out, "int %s(const char *name, void *symbol);\n",
				  unit->register_function);
		mpk_strbuf_puts(
			out,
			"__attribute__((constructor)) static void register_functions(void)\n{\n");
		if (unit->context)
			mpk_strbuf_printf(out, "\t(void)%s(\"%s\", (void *)&%s);\n",
					  unit->register_function, unit->context, unit->context);
		for (size_t i = 0; i < unit->function_count; i++)
			mpk_strbuf_printf(out, "\t(void)%s(\"%s\", (void *)%s);\n",
					  unit->register_function, unit->functions[i].symbol,
					  unit->functions[i].symbol);
		mpk_strbuf_puts(out, "}\n");
	}
	return mpk_strbuf_status(out, err);
}

const struct mpk_host_language mpk_host_c = { print_unit_c, print_c_form_of, print_c_put_own,
					      begin_function };

/* --- Host code as LLVM IR, for targets without a C compiler here.
 *
 * Values are in SSA form already. Each jump that may be taken ends a block, and the next block
 * gets a name of its own (%nN).
 */

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
static void print_ll_begin_function(struct mpk_host_printer *p, const struct mpk_hostfn *f)
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
	enum mpk_code code = host_print_functions(&p.base, unit, err);

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
					       print_ll_begin_function };

/* SPDX-License-Identifier: Apache-2.0 */
/* print_c.c - host code as C
 *
 * One statement an instruction. Memory is read and written through memcpy, so that no alignment is
 * assumed; arithmetic that may wrap is unsigned.
 */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "launch/internal/hostcode.h"
#include "text/escape.h"

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
	MPK_TRY(mpk_host_print_functions(&p, unit, err));
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

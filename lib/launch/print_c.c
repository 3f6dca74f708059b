#include "launch/hostcode.h"

#include <inttypes.h>
#include <string.h>

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
	"\n";

static const char *const mem_names[MPK_MEM_COUNT] = { "u8", "u16", "i32", "i64", "ptr", "f64" };

static void put_string(struct mpk_strbuf *out, const char *text)
{
	mpk_strbuf_putc(out, '"');
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\' || c == '?')
			mpk_strbuf_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			mpk_strbuf_printf(out, "\\%03o", c);
		else
			mpk_strbuf_putc(out, (char)c);
	}
	mpk_strbuf_putc(out, '"');
}

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

static void put_call(struct mpk_strbuf *out, const struct mpk_host_insn *in)
{
	const char *result = in->result == 'i' ? "int" : in->result == 'p' ? "void *" : "void";

	mpk_strbuf_printf(out, "((%s (*)(", result);
	for (size_t i = 0; in->pass[i]; i++)
		mpk_strbuf_printf(out, "%s%s", i ? ", " : "",
				  in->pass[i] == 'p'   ? "void *"
				  : in->pass[i] == 'i' ? "int32_t"
						       : "int64_t");
	mpk_strbuf_printf(out, "))v%d)(", in->a);
	for (size_t i = 0; in->pass[i]; i++)
		mpk_strbuf_printf(out, "%s%sv%d", i ? ", " : "",
				  in->pass[i] == 'i' ? "(int32_t)" : "", in->args[i]);
	mpk_strbuf_putc(out, ')');
}

static void put_snprintf(struct mpk_strbuf *out, const struct mpk_host_insn *in)
{
	mpk_strbuf_printf(out, "\tsnprintf(v%d, %" PRId64 ", ", in->a, in->imm);
	put_string(out, in->text);
	for (size_t i = 0; in->pass[i]; i++)
		mpk_strbuf_printf(out, ", (%s)v%d",
				  in->pass[i] == 'p' ? "const char *" : "long long", in->args[i]);
	mpk_strbuf_puts(out, ");\n");
}

/* Operators of two values: before, between and behind them. */
static const char *const infix[MPK_OP_COUNT][3] = {
	[MPK_OP_ADD] = { "WRAP(", ", +, ", ")" },
	[MPK_OP_SUB] = { "WRAP(", ", -, ", ")" },
	[MPK_OP_MUL] = { "WRAP(", ", *, ", ")" },
	[MPK_OP_DIV] = { "", " / ", "" },
	[MPK_OP_REM] = { "", " % ", "" },
	[MPK_OP_AND] = { "", " & ", "" },
	[MPK_OP_OR] = { "", " | ", "" },
	[MPK_OP_ADD_OVER] = { "add_over(", ", ", ")" },
	[MPK_OP_SUB_OVER] = { "sub_over(", ", ", ")" },
	[MPK_OP_MUL_OVER] = { "mul_over(", ", ", ")" },
	[MPK_OP_EQ] = { "", " == ", "" },
	[MPK_OP_LT] = { "", " < ", "" },
	[MPK_OP_LE] = { "", " <= ", "" },
	[MPK_OP_OFFSET] = { "(char *)", " + ", "" },
};

/* The right-hand side of an instruction that has a value. */
static void put_value(struct mpk_strbuf *out, const struct mpk_host_insn *in)
{
	switch ((int)in->op) {
	case MPK_OP_CONST:
		if (in->imm == INT64_MIN)
			mpk_strbuf_puts(out, "INT64_MIN");
		else
			mpk_strbuf_printf(out, "INT64_C(%" PRId64 ")", in->imm);
		break;
	case MPK_OP_FCONST:
		mpk_strbuf_printf(out, "%a", in->fimm);
		break;
	case MPK_OP_NULL:
		mpk_strbuf_puts(out, "0");
		break;
	case MPK_OP_TEXT:
		mpk_strbuf_puts(out, "(void *)");
		put_string(out, in->text);
		break;
	case MPK_OP_NAMES:
		mpk_strbuf_puts(out, "(void *)(const char *const[]){ ");
		for (size_t i = 0; i < in->name_count; i++) {
			put_string(out, in->names[i]);
			mpk_strbuf_puts(out, ", ");
		}
		mpk_strbuf_printf(out, "}[v%d]", in->a);
		break;
	case MPK_OP_GLOBAL:
		mpk_strbuf_printf(out, "&%s", in->text);
		break;
	case MPK_OP_FUNCTION:
		mpk_strbuf_printf(out, "(void *)%s", in->text);
		break;
	case MPK_OP_ARG:
		mpk_strbuf_printf(out, "a%" PRId64, in->imm);
		break;
	case MPK_OP_SLOT:
		mpk_strbuf_printf(out, "s%d", in->dst);
		break;
	case MPK_OP_LOAD:
		mpk_strbuf_printf(out, "load_%s(v%d, %" PRId64 ")", mem_names[in->mem], in->a,
				  in->imm);
		break;
	case MPK_OP_ACQUIRE:
		mpk_strbuf_printf(out, "__atomic_load_n((void **)v%d, __ATOMIC_ACQUIRE)", in->a);
		break;
	case MPK_OP_ADDRESS:
		mpk_strbuf_printf(out, "(int64_t)(intptr_t)v%d", in->a);
		break;
	case MPK_OP_SELECT:
		mpk_strbuf_printf(out, "v%d ? v%d : v%d", in->a, in->b, in->c);
		break;
	case MPK_OP_TO_F64:
		mpk_strbuf_printf(out, "(double)v%d", in->a);
		break;
	case MPK_OP_CALL:
		put_call(out, in);
		break;
	default:
		break;
	}
}

static void put_effect(struct mpk_strbuf *out, const struct mpk_host_insn *in)
{
	switch ((int)in->op) {
	case MPK_OP_STORE:
		mpk_strbuf_printf(out, "\tstore_%s(v%d, %" PRId64 ", v%d);\n", mem_names[in->mem],
				  in->a, in->imm, in->b);
		break;
	case MPK_OP_RELEASE:
		mpk_strbuf_printf(out, "\t__atomic_store_n((void **)v%d, v%d, __ATOMIC_RELEASE);\n",
				  in->a, in->b);
		break;
	case MPK_OP_SNPRINTF:
		put_snprintf(out, in);
		break;
	case MPK_OP_LABEL:
		mpk_strbuf_printf(out, "l%" PRId64 ": __attribute__((unused));\n", in->imm);
		break;
	case MPK_OP_COMMENT:
		mpk_strbuf_printf(out, "\n\t/* %s */\n", in->text);
		break;
	case MPK_OP_JUMP_IF:
		mpk_strbuf_printf(out, "\tif (v%d)\n\t\tgoto l%" PRId64 ";\n", in->a, in->imm);
		break;
	case MPK_OP_JUMP:
		mpk_strbuf_printf(out, "\tgoto l%" PRId64 ";\n", in->imm);
		break;
	case MPK_OP_RETURN:
		mpk_strbuf_printf(out, "\treturn %" PRId64 ";\n", in->imm);
		break;
	case MPK_OP_CALL:
		mpk_strbuf_putc(out, '\t');
		put_call(out, in);
		mpk_strbuf_puts(out, ";\n");
		break;
	default:
		break;
	}
}

static void put_head(struct mpk_strbuf *out, const struct mpk_hostfn *f, const char *end)
{
	mpk_strbuf_printf(out, "int32_t %s(", f->symbol);
	for (size_t i = 0; f->params[i]; i++)
		mpk_strbuf_printf(out, "%s%sa%zu", i ? ", " : "",
				  f->params[i] == 'P' ? "void *" : "int32_t ", i);
	mpk_strbuf_puts(out, end);
}

/* Variables stand first: a goto may not jump past an initialisation unseen. */
static void put_variables(struct mpk_strbuf *out, const struct mpk_hostfn *f)
{
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

static void put_insn(struct mpk_strbuf *out, const struct mpk_host_insn *in)
{
	const char *const *form = infix[in->op];

	if (in->dst < 0) {
		put_effect(out, in);
		return;
	}
	if (in->op == MPK_OP_SLOT)
		mpk_strbuf_printf(out, "\tmemset(s%d, 0, sizeof s%d);\n", in->dst, in->dst);
	mpk_strbuf_printf(out, "\tv%d = ", in->dst);
	if (form[0])
		mpk_strbuf_printf(out, "%sv%d%sv%d%s", form[0], in->a, form[1], in->b, form[2]);
	else
		put_value(out, in);
	mpk_strbuf_puts(out, ";\n");
}

static void put_function(struct mpk_strbuf *out, const struct mpk_hostfn *f)
{
	mpk_strbuf_puts(out, "EXPORT ");
	put_head(out, f, ");\n");
	put_head(out, f, ")\n{\n");
	put_variables(out, f);
	for (size_t i = 0; i < f->count; i++)
		put_insn(out, &f->insns[i]);
	mpk_strbuf_puts(out, "}\n\n");
}

static void put_globals(struct mpk_strbuf *out, const struct mpk_host_unit *unit)
{
	static const char *const links[] = {
		[MPK_HOST_WEAK] = "__attribute__((weak)) ",
		[MPK_HOST_STRONG] = "",
		[MPK_HOST_HIDDEN] = "__attribute__((visibility(\"hidden\"))) ",
	};

	/* declared as bytes: only the address counts, calls cast it to the right type */
	for (size_t i = 0; i < unit->extern_count; i++)
		mpk_strbuf_printf(out, "extern %schar %s[];\n", links[unit->externs[i].link],
				  unit->externs[i].name);
	for (size_t i = 0; i < unit->global_count; i++)
		mpk_strbuf_printf(out, "%s void *%s;\n",
				  unit->globals[i].weak ? "EXPORT __attribute__((weak))" : "static",
				  unit->globals[i].name);
}

static void put_registration(struct mpk_strbuf *out, const struct mpk_host_unit *unit)
{
	mpk_strbuf_printf(out, "int %s(const char *name, void *symbol);\n",
			  unit->register_function);
	mpk_strbuf_puts(out,
			"__attribute__((constructor)) static void register_functions(void)\n{\n");
	for (size_t i = 0; i < unit->function_count; i++)
		mpk_strbuf_printf(out, "\t(void)%s(\"%s\", (void *)%s);\n", unit->register_function,
				  unit->functions[i].symbol, unit->functions[i].symbol);
	mpk_strbuf_puts(out, "}\n");
}

enum mpk_code mpk_host_print_c(const struct mpk_host_unit *unit, struct mpk_strbuf *out,
			       struct mpk_error *err)
{
	mpk_strbuf_printf(out, "/* %s: launch functions, generated by mpack */\n",
			  unit->source_name);
	mpk_strbuf_puts(out, prelude);
	put_globals(out, unit);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < unit->function_count; i++) {
		MPK_TRY(mpk_host_status(&unit->functions[i], err));
		put_function(out, &unit->functions[i]);
	}
	if (unit->register_function)
		put_registration(out, unit);
	return mpk_strbuf_status(out, err);
}

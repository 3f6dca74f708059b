/* SPDX-License-Identifier: Apache-2.0 */
/* hostcode.h - the intermediate language of generated launch functions
 *
 * A launch function is a straight line of instructions over values that are set once, with exits on
 * errors and forward jumps. It is built once and printed as C or as LLVM IR, so that both check the
 * same in the same order. Values are numbered from 0; -1 means none.
 *
 * Types: I64 (every integer and condition), PTR, F64. */
#ifndef MPK_LAUNCH_INTERNAL_HOSTCODE_H
#define MPK_LAUNCH_INTERNAL_HOSTCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

enum mpk_host_type { MPK_HOST_I64, MPK_HOST_PTR, MPK_HOST_F64 };

/* Types of values in memory. A load extends the value to I64, with the sign if the type has one. */
enum mpk_host_mem {
	MPK_MEM_U8,
	MPK_MEM_U16,
	MPK_MEM_I32,
	MPK_MEM_I64,
	MPK_MEM_PTR,
	MPK_MEM_F64,
	MPK_MEM_COUNT
};

enum mpk_host_op {
	MPK_OP_CONST,    /* imm */
	MPK_OP_FCONST,   /* constant fimm */
	MPK_OP_NULL,     /* null pointer */
	MPK_OP_TEXT,     /* address of the constant C string text */
	MPK_OP_NAMES,    /* address of the C string names[a]; the builder must ensure 0 <= a <
			  * name_count */
	MPK_OP_GLOBAL,   /* address of the global pointer variable text */
	MPK_OP_FUNCTION, /* address of the external function text; null if the function is weak and
			  * absent. names[0]: its name in C source */
	MPK_OP_ARG,      /* parameter number imm of the function; I64 or PTR by type */
	MPK_OP_SLOT,     /* address of imm zeroed bytes on the stack, aligned to 16 bytes */
	MPK_OP_LOAD,     /* loads mem from pointer a + imm */
	MPK_OP_ACQUIRE,  /* loads the pointer at pointer a, with acquire order */
	MPK_OP_STORE,    /* stores b as mem at pointer a + imm */
	MPK_OP_RELEASE,  /* stores pointer b at pointer a, with release order */
	MPK_OP_OFFSET,   /* pointer a + integer b bytes */
	MPK_OP_ADDRESS,  /* pointer a as integer */
	MPK_OP_ADD,
	MPK_OP_SUB,
	MPK_OP_MUL, /* product that wraps on overflow */
	MPK_OP_DIV,
	MPK_OP_REM, /* b is neither 0 nor -1 */
	MPK_OP_AND,
	MPK_OP_OR, /* bitwise */
	MPK_OP_ADD_OVER,
	MPK_OP_SUB_OVER,
	MPK_OP_MUL_OVER, /* 1 if the operation on a and b overflows */
	MPK_OP_EQ,
	MPK_OP_LT,
	MPK_OP_LE,       /* signed comparison: 0 or 1 */
	MPK_OP_SELECT,   /* a ? b : c */
	MPK_OP_TO_F64,   /* integer a as F64 */
	MPK_OP_CALL,     /* calls pointer a with args; the result is of `type`; 32-bit results are
			  * sign-extended */
	MPK_OP_SNPRINTF, /* snprintf(pointer a, imm, text, args...) */
	MPK_OP_LABEL,    /* label imm */
	MPK_OP_JUMP_IF,  /* to label imm when a != 0 */
	MPK_OP_JUMP,     /* to label imm */
	MPK_OP_RETURN,   /* return (int32_t)imm */
	MPK_OP_COMMENT,  /* text for readers of the generated code */
	MPK_OP_COUNT
};

enum { MPK_HOST_ARGS_MAX = 256 };

struct mpk_host_insn {
	enum mpk_host_op op;
	enum mpk_host_type type; /* type of the result */
	enum mpk_host_mem mem;
	int dst; /* value number of the result; -1: there is none */
	int a, b, c;
	int64_t imm;
	double fimm;
	const char *text;
	const char *const *names;
	size_t name_count;
	const int *args;  /* value numbers, in the arena */
	const char *pass; /* one letter for each argument, see mpk_host_call */
	char result;      /* the result's letter */
};

/* One generated function. It remembers failed allocations: check mpk_host_status at the end. */
struct mpk_hostfn {
	struct mpk_arena *arena;
	const char *symbol; /* external name */
	const char *params; /* "PPiP": P is a pointer, i a 32-bit integer */
	struct mpk_host_insn *insns;
	size_t count, cap;
	bool plain; /* so short that optimising it would cost more than it saves */
	int values; /* number of values so far */
	int labels;
	bool failed;
};

/* A global pointer variable. */
struct mpk_host_global {
	const char *name;
	bool weak; /* external, weak and initially null; loaders set it (tvm-blob(5)) */
};

enum mpk_host_link { MPK_HOST_WEAK, MPK_HOST_STRONG, MPK_HOST_HIDDEN };

/* A function that the code calls and another object defines. */
struct mpk_host_extern {
	const char *name;  /* its symbol; the text of MPK_OP_FUNCTION */
	const char *label; /* its name in C source, chosen so that it hides no other name; NULL: the
		        * symbol */
	enum mpk_host_link link; /* weak: may be absent; hidden: defined in the same library */
};

struct mpk_host_unit {
	const struct mpk_hostfn *functions;
	size_t function_count;
	const struct mpk_host_global *globals;
	size_t global_count;
	const struct mpk_host_extern *externs;
	size_t extern_count;
	const char *source_name;       /* name of the source for comments and file symbols */
	const char *context;           /* system library: the context symbol, which the loader finds
				        * by its name like functions; or NULL */
	const char *register_function; /* system library: int f(const char *, void *), called at
				        * program start for every function; else NULL */
};

/* mpk_host_add - append a copy of an instruction
 * Returns  the number of its value; -1 if it has no value or there is no memory */
int mpk_host_add(struct mpk_hostfn *f, const struct mpk_host_insn *insn, bool has_value);

/* Adds an instruction with a result and gives its value number; the second adds one without a
 * result. */
#define MPK_HOST_VALUE(f, ...) mpk_host_add(f, &(struct mpk_host_insn){ __VA_ARGS__ }, true)
#define MPK_HOST_EFFECT(f, ...) (void)mpk_host_add(f, &(struct mpk_host_insn){ __VA_ARGS__ }, false)

/* Builders; each returns the number of its value. */
int mpk_host_const(struct mpk_hostfn *f, int64_t v);
int mpk_host_text(struct mpk_hostfn *f, const char *text);
int mpk_host_global(struct mpk_hostfn *f, const char *name);
int mpk_host_function(struct mpk_hostfn *f, const char *name);
int mpk_host_arg(struct mpk_hostfn *f, unsigned index, enum mpk_host_type type);
int mpk_host_slot(struct mpk_hostfn *f, size_t bytes);
int mpk_host_load(struct mpk_hostfn *f, enum mpk_host_mem mem, int base, int64_t off);
void mpk_host_store(struct mpk_hostfn *f, enum mpk_host_mem mem, int base, int64_t off, int value);
int mpk_host_op2(struct mpk_hostfn *f, enum mpk_host_op op, int a, int b);
int mpk_host_select(struct mpk_hostfn *f, int cond, int yes, int no, enum mpk_host_type type);
int mpk_host_convert(struct mpk_hostfn *f, enum mpk_host_op op, int a);
int mpk_host_label(struct mpk_hostfn *f);
void mpk_host_set_label(struct mpk_hostfn *f, int label);
void mpk_host_jump_if(struct mpk_hostfn *f, int cond, int label);
void mpk_host_jump(struct mpk_hostfn *f, int label);

/* mpk_host_comment - append a comment for the generated code; characters that could end a comment
 * are replaced */
void mpk_host_comment(struct mpk_hostfn *f, const char *text);

/* mpk_host_call - append a call through a pointer
 * @pass    one letter for each argument: 'p' pointer; integers 'b' 8-bit, 'h' 16-bit, 'i' 32-bit,
 *          'l' 64-bit, unsigned if capital; 'z' bool, 'f' float, 'd' double
 * @result  such a letter; 'v': no result (-1 is returned)
 * @args    value numbers: I64 for integers, F64 for floating-point numbers; as many as letters in
 *          pass, at most MPK_HOST_ARGS_MAX */
int mpk_host_call(struct mpk_hostfn *f, int function, char result, const char *pass,
		  const int *args);

/* mpk_host_snprintf - append code that formats into buf; integers are passed as long long (%lld),
 * pointers as %s */
void mpk_host_snprintf(struct mpk_hostfn *f, int buf, size_t size, const char *format,
		       const int *args, const char *pass);

/* --- Printing as text ---
 *
 * A language has a form for each operation: text in which these stand for parts of the instruction.
 *
 *     $d            number of the result       $a $b $c   numbers of its values
 *     $i            imm, decimal               $s         text, unchanged
 *     $0 ... $9     numbers for helper values that no other instruction of the function uses
 *
 * Every other letter has a meaning that the language defines. */

struct mpk_host_printer;

struct mpk_host_language {
	/* prints the whole unit
	 * Returns  MPK_OK; MPK_E_NOMEM */
	enum mpk_code (*print)(const struct mpk_host_unit *unit, struct mpk_strbuf *out,
			       struct mpk_error *err);
	/* returns the form of an instruction; "" if it needs no text */
	const char *(*form)(const struct mpk_host_insn *in);
	/* prints a letter that the language defines */
	void (*put)(struct mpk_host_printer *p, char letter, const struct mpk_host_insn *in);
	/* prints the text before a function's instructions; "}" ends the function */
	void (*begin)(struct mpk_host_printer *p, const struct mpk_hostfn *f);
};

/* mpk_host_c: one C11 source that uses GNU C for weak symbols and overflow checks. mpk_host_ll:
 * LLVM IR with opaque pointers (LLVM 15 and later) and no target triple. */
extern const struct mpk_host_language mpk_host_c, mpk_host_ll;

struct mpk_host_printer {
	const struct mpk_host_language *language;
	struct mpk_strbuf *out;
	unsigned helpers; /* number of helper values in the current function so far */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* relaxvm.h - executables of the Relax virtual machine (FORMAT.md) */
#ifndef MPK_FORMATS_RELAXVM_RELAXVM_H
#define MPK_FORMATS_RELAXVM_RELAXVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "blob/blob.h"
#include "dtype/dtype.h"
#include "tensor/tensor.h"
#include "wire.h"

enum mpk_relax_func_kind {
	MPK_RELAX_PACKED = 0, /* looked up by name in the imports or among the builtins */
	MPK_RELAX_VM = 1,     /* bytecode */
	MPK_RELAX_TIR = 2,    /* compiled: __vmtir__<name> in the library */
};

struct mpk_relax_func {
	int32_t kind; /* enum mpk_relax_func_kind; others are refused */
	struct mpk_span name;
	int64_t start, end; /* instructions [start, end) */
	int64_t num_args;   /* -2 for packed functions */
	int64_t register_file_size;
	struct mpk_strs params; /* names */
};

enum mpk_relax_const_kind {
	MPK_RELAX_TENSOR,
	MPK_RELAX_DTYPE,
	MPK_RELAX_SHAPE,
	MPK_RELAX_STRING,
	MPK_RELAX_INT,
	MPK_RELAX_FLOAT,
	MPK_RELAX_CONST_KINDS
};

struct mpk_relax_const {
	enum mpk_relax_const_kind kind;
	union {
		struct mpk_tensor_record tensor;
		struct mpk_dtype dtype;
		struct mpk_span shape; /* i64 elements as stored, 8 bytes each */
		struct mpk_span string;
		int64_t i;
		double f;
	} u;
};

/* The memory for a constant, from TVM 0.23 on. */
struct mpk_relax_scope {
	int64_t constant;
	struct mpk_span scope;
};

struct mpk_relax {
	enum mpk_generation gen; /* decides whether there is an inner length, and the tags of
				  * constants */
	bool has_scopes;         /* has the later magic number */
	struct mpk_span version; /* of the bytecode, "0.14" */
	const struct mpk_relax_func *funcs;
	size_t func_count;
	const struct mpk_relax_scope *scopes;
	size_t scope_count;
	const struct mpk_relax_const *consts;
	size_t const_count;
	struct mpk_span instr_offset; /* i64: offset of each instruction in instr_data */
	struct mpk_span instr_data;   /* i64 words */
	uint64_t trailing;            /* bytes after the code, within the inner length */
};

/* mpk_relax_read - read a payload of kind relax.Executable or relax.VMExecutable
 * Instruction words are checked only for overlaps; see mpk_relax_instr.
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_relax_read(struct mpk_cursor *c, enum mpk_generation gen, struct mpk_arena *arena,
			     struct mpk_relax *out, struct mpk_error *err) MPK_MUST_CHECK;

enum mpk_relax_op {
	MPK_RELAX_CALL = 1,
	MPK_RELAX_RET = 2,
	MPK_RELAX_GOTO = 3,
	MPK_RELAX_IF = 4,
};

#define MPK_RELAX_REG_VOID (INT64_C(1) << 54)     /* as destination: discard the result */
#define MPK_RELAX_REG_VM ((INT64_C(1) << 54) + 1) /* the virtual machine itself */

/* An instruction. Members that op does not use are 0. */
struct mpk_relax_instr {
	enum mpk_relax_op op;
	int64_t reg;         /* call: destination; ret, if: the register that is read */
	int64_t func;        /* call: index into funcs */
	int64_t offset;      /* goto, if (when false): distance in instructions from this one */
	const uint8_t *args; /* call: i64 words; mpk_relax_arg reads one */
	size_t arg_count;
};

enum mpk_relax_arg_kind {
	MPK_RELAX_ARG_REG,
	MPK_RELAX_ARG_INT,
	MPK_RELAX_ARG_CONST,
	MPK_RELAX_ARG_FUNC
};

struct mpk_relax_arg {
	unsigned kind; /* enum mpk_relax_arg_kind, or an unknown number */
	int64_t value;
};

static inline size_t mpk_relax_instr_count(const struct mpk_relax *x)
{
	return x->instr_offset.len / 8;
}

/* mpk_relax_instr - decode an instruction; its words are checked against instr_data
 * Returns  MPK_OK; MPK_E_RANGE: no such instruction; MPK_E_CORRUPT: an unknown opcode, or words
 *          beyond the end. Operands are not checked: see mpk_relax_check. */
enum mpk_code mpk_relax_instr(const struct mpk_relax *x, size_t index, struct mpk_relax_instr *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_arg - argument i of a call; i < arg_count */
struct mpk_relax_arg mpk_relax_arg(const struct mpk_relax_instr *instr, size_t i);

/* mpk_relax_check - check everything that an interpreter relies on: instructions of functions
 * exist, registers are in their files, indices in their tables, jumps in their function
 * Returns  MPK_OK; MPK_E_CORRUPT: the first fault, naming function and instruction */
enum mpk_code mpk_relax_check(const struct mpk_relax *x, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_dump - append a listing: functions in table order, one instruction a line
 * Instructions are printed as TVM's as_text does. Words that cannot be decoded are printed as
 * words.
 * @index   of the function, < func_count; MPK_RELAX_ALL: all functions */
#define MPK_RELAX_ALL SIZE_MAX
void mpk_relax_dump(const struct mpk_relax *x, size_t index, struct mpk_strbuf *out);

/* mpk_relax_dump_instr - append one instruction as in the listing, without indent and line feed */
void mpk_relax_dump_instr(const struct mpk_relax *x, const struct mpk_relax_instr *instr,
			  struct mpk_strbuf *out);

#endif

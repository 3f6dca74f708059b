/* SPDX-License-Identifier: Apache-2.0 */
/* relayvm.h - executables of the Relay virtual machine, TVM 0.8 - 0.19 (FORMAT.md) */
#ifndef MPK_FORMATS_RELAYVM_RELAYVM_H
#define MPK_FORMATS_RELAYVM_RELAYVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "tensor/tensor.h"
#include "wire.h"

/* The layouts of different releases. */
enum mpk_relay_layout {
	MPK_RELAY_08, /* no devices; constants are tensors */
	MPK_RELAY_09, /* devices; a constant may be a name that is bound later */
	MPK_RELAY_14, /* a device has a memory scope; two instructions are longer */
	MPK_RELAY_LAYOUTS
};

struct mpk_relay_device {
	int32_t type, id;
	struct mpk_span scope; /* empty before 0.14 */
};

struct mpk_relay_const {
	bool late_bound;
	struct mpk_span name; /* name of a late-bound constant */
	struct mpk_tensor_record tensor;
};

/* Attributes of a packed function; TVM keeps only those with string values. */
struct mpk_relay_attrs {
	uint64_t packed_index;
	const struct mpk_span *pairs; /* key, value, key, value, ... */
	size_t count;                 /* number of pairs */
};

/* The words of an instruction: opcode and fields, without the hash. */
struct mpk_relay_instr {
	const uint8_t *words; /* i64; mpk_relay_word reads one */
	size_t count;         /* at least 1 */
};

struct mpk_relay_func {
	struct mpk_strs info; /* name, register file size, instruction count, as stored */
	struct mpk_strs params;
	struct mpk_span param_devices; /* i64 each */
	const struct mpk_relay_instr *instrs;
	size_t instr_count;
	uint64_t register_file_size;
};

struct mpk_relay {
	enum mpk_relay_layout layout;
	struct mpk_span version; /* version of the TVM that wrote it, "0.18.0" */
	const struct mpk_relay_device *devices;
	size_t device_count;
	int32_t host_device;     /* index in devices */
	struct mpk_strs globals; /* function names */
	const struct mpk_relay_const *consts;
	size_t const_count;
	struct mpk_span const_devices; /* i64 each */
	struct mpk_strs primitives;    /* names of packed functions */
	const struct mpk_relay_attrs *attrs;
	size_t attr_count;
	const struct mpk_relay_func *funcs;
	size_t func_count;
	uint64_t trailing; /* bytes after the last function, within the inner length */
};

enum mpk_relay_op {
	MPK_RELAY_MOVE,
	MPK_RELAY_RET,
	MPK_RELAY_INVOKE,
	MPK_RELAY_INVOKE_CLOSURE,
	MPK_RELAY_INVOKE_PACKED,
	MPK_RELAY_ALLOC_TENSOR,
	MPK_RELAY_ALLOC_TENSOR_REG,
	MPK_RELAY_ALLOC_ADT,
	MPK_RELAY_ALLOC_CLOSURE,
	MPK_RELAY_GET_FIELD,
	MPK_RELAY_IF,
	MPK_RELAY_LOAD_CONST,
	MPK_RELAY_GOTO,
	MPK_RELAY_GET_TAG,
	MPK_RELAY_LOAD_CONSTI,
	MPK_RELAY_FATAL,
	MPK_RELAY_ALLOC_STORAGE,
	MPK_RELAY_SHAPE_OF,
	MPK_RELAY_RESHAPE_TENSOR,
	MPK_RELAY_DEVICE_COPY,
	MPK_RELAY_KILL_REGISTER,
	MPK_RELAY_OPS
};

/* mpk_relay_word - word i of an instruction; 0 is the opcode */
static inline int64_t mpk_relay_word(const struct mpk_relay_instr *instr, size_t i)
{
	uint64_t bits = mpk_load_u64(instr->words + 8 * i);
	int64_t value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* mpk_relay_check - check what an interpreter also relies on: registers are in their files, indices
 * in their tables, jumps in their function
 * Returns  MPK_OK; MPK_E_CORRUPT: the first fault, naming function and instruction */
enum mpk_code mpk_relay_check(const struct mpk_relay *x, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relay_dump - append a listing: function by function, one instruction a line
 * @index   of the function, < func_count; MPK_RELAY_ALL: all functions */
#define MPK_RELAY_ALL SIZE_MAX
void mpk_relay_dump(const struct mpk_relay *x, size_t index, struct mpk_strbuf *out);

/* mpk_relay_dump_instr - append one instruction as in the listing, without number and line feed */
void mpk_relay_dump_instr(const struct mpk_relay *x, const struct mpk_relay_instr *instr,
			  struct mpk_strbuf *out);

/* The fields of an instruction. */
struct mpk_relay_shape {
	const char *name;
	/* One letter for each field: r register, d destination register, i number, f function, p packed
	 * function, c constant, j jump; n: the number of further fields at the end. */
	const char *fields;
	char rest; /* type of the further fields: r or i; 0: none */
};

/* mpk_relay_shape - the fields of an opcode; NULL: unknown */
const struct mpk_relay_shape *mpk_relay_shape(int64_t op, enum mpk_relay_layout layout);

/* mpk_relay_word_role - the role of word i of an instruction, 0 < i < count: 'r' a register, 'd'
 * the register of the result, 'i' a number, 'f' a function, 'p' a packed function, 'c' a constant,
 * 'j' a jump relative to this instruction, 'n' a count; '-' a word that was never set */
char mpk_relay_word_role(const struct mpk_relay *x, const struct mpk_relay_instr *instr, size_t i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the fields of each instruction as letters: reading, checks and listing share them */
#include "relayvm/internal/ops.h"

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

/* The two instructions that 0.14 made longer, as they were before. */
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

/* TVM writes the register although it never set it: its value differs between two runs and is
 * not to be shown or checked. */
size_t mpk_relay_garbage(const struct mpk_relay_instr *instr, const struct mpk_relay_shape *shape)
{
	return mpk_relay_word(instr, 0) == MPK_RELAY_ALLOC_STORAGE &&
	       instr->count - 1 > strlen(shape->fields);
}

const char *mpk_relay_op_name(enum mpk_relay_op op)
{
	return shapes[op].name;
}

/* Word 0 is the opcode, so field i - 1 is that of word i. */
char mpk_relay_word_role(const struct mpk_relay *x, const struct mpk_relay_instr *instr, size_t i)
{
	const struct mpk_relay_shape *shape = mpk_relay_shape(mpk_relay_word(instr, 0), x->layout);

	if (i - 1 < mpk_relay_garbage(instr, shape))
		return '-';
	return i - 1 < strlen(shape->fields) ? shape->fields[i - 1] : shape->rest;
}

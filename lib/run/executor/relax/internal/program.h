/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - an executable of the Relax VM, decoded once for running
 *
 * Byte code becomes an array of small structures: operands are checked, callees are resolved to
 * an address or a builtin, constants are indices. The loop that runs it looks nothing up.
 * A program is not changed after it was made and is shared by its machines.
 */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_PROGRAM_H
#define MPK_EXECUTOR_RELAX_INTERNAL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "executor/machine.h"
#include "executor/relax/internal/builtin.h"
#include "payload.h"
#include "signature/signature.h"
#include "value/function.h"

enum mpk_relax_operand_kind {
	MPK_OPERAND_REGISTER,
	MPK_OPERAND_INT,
	MPK_OPERAND_CONSTANT,
	MPK_OPERAND_FUNCTION, /* an entry of the function table, as a value */
	MPK_OPERAND_NONE,     /* the void register */
	MPK_OPERAND_VM,       /* the machine, as a pointer */
};

struct mpk_relax_operand {
	enum mpk_relax_operand_kind kind;
	int64_t value; /* register, integer or index */
};

enum mpk_relax_action {
	MPK_ACTION_NONE,     /* not decoded: no function owns it */
	MPK_ACTION_KERNEL,   /* compiled code at an address */
	MPK_ACTION_BUILTIN,  /* a builtin of the machine */
	MPK_ACTION_FUNCTION, /* any other function: device code, globals of the runtime */
	MPK_ACTION_CALL,     /* byte code */
	MPK_ACTION_COMPILED, /* a function of exec_mode="compiled" */
	MPK_ACTION_MISSING,  /* nobody has it */
	MPK_ACTION_RETURN,
	MPK_ACTION_GOTO,
	MPK_ACTION_IF,
};

/* One instruction. Members that the action does not name are 0. */
struct mpk_relax_step {
	enum mpk_relax_action action;
	int32_t dst;     /* register of the result; -1: it is dropped */
	uint32_t callee; /* calls: index of the function table */
	uint32_t first;  /* of its operands: a call's arguments; what is returned or tested */
	uint32_t count;  /* calls: arguments */
	int64_t target;  /* goto, if (when false): index of the step */
};

/* An entry of the function table. */
struct mpk_relax_callee {
	struct mpk_span name;
	enum mpk_relax_action action;
	struct mpk_function *function; /* kernels, functions, compiled: held */
	const struct mpk_relax_builtin *builtin;
	/* byte code and compiled functions */
	uint32_t start, end;
	uint32_t arg_count, register_count;
	const struct mpk_signature *signature;
};

struct mpk_relax_program {
	struct mpk_program base; /* first */
	struct mpk_relax x;      /* views of the blob */
	struct mpk_relax_callee *callees;
	size_t callee_count;
	struct mpk_relax_step *steps;
	size_t step_count;
	struct mpk_relax_operand *operands;
	int32_t devices[MPK_RUNTIME_DEVICES_MAX]; /* DLPack's number of what byte code means by each
						   * number of a device; 0: not known */
	bool resets_tuples; /* a function of it may reset items of the tuples it is given */
};

/* mpk_relax_place - on which devices byte code wants what it works on (place.c): adds to the inputs of
 * p's signatures, and to p->devices, what the kernels that the library's host code describes say
 * (struct mpk_host_code); what was known before stays
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_place(struct mpk_relax_program *p, struct mpk_error *err) MPK_MUST_CHECK;

#endif

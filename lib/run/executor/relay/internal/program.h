/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - an executable of the Relay VM, decoded once for running
 *
 * Instructions become an array of small structures: registers, functions, devices and jumps are
 * checked, packed functions are resolved, and what the releases wrote in different ways is the
 * same. The loop that runs it looks nothing up. A program is shared by its machines and not changed
 * after the first of them was made.
 */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_PROGRAM_H
#define MPK_EXECUTOR_RELAY_INTERNAL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "executor/machine.h"
#include "payload.h"
#include "program/model.h"
#include "value/function.h"
#include "value/tensor.h"

/* One instruction. What its members hold depends on op; those that are not named are 0.
 *
 *   op                 reg               index      list                 other
 *   MOVE, RET          source
 *   INVOKE                               function   arguments
 *   INVOKE_CLOSURE     closure                      arguments
 *   INVOKE_PACKED                        packed     arguments            number: of them outputs
 *   ALLOC_STORAGE      size              place      extents, if any      dtype
 *   ALLOC_TENSOR       storage, offset              extents              dtype
 *   ALLOC_TENSOR_REG   storage, offset, shape                            dtype
 *   ALLOC_ADT                                       fields               number: tag
 *   ALLOC_CLOSURE                        function   captured values
 *   GET_FIELD          object            field
 *   IF                 test, target                                      jump: equal, not equal
 *   GOTO                                                                 jump
 *   LOAD_CONST                           constant
 *   GET_TAG, SHAPE_OF  object
 *   RESHAPE_TENSOR     tensor, shape
 *   DEVICE_COPY        tensor            place      from: place
 *   KILL_REGISTER                                                        dst
 *
 * LOAD_CONSTI is a LOAD_CONST: its numbers follow the constants of the file. */
struct mpk_relay_step {
	enum mpk_relay_op op;
	uint32_t dst;    /* register of the result */
	uint32_t reg[3]; /* registers that are read */
	uint32_t index;
	uint32_t from;
	uint32_t first, count; /* of the list: in registers, or in extents */
	uint32_t jump[2];      /* steps */
	struct mpk_dtype dtype;
	int32_t number;
};

/* A function in byte code. */
struct mpk_relay_callee {
	const char *name;
	uint32_t start, end; /* steps */
	uint32_t register_count;
	struct mpk_strs params;
	const uint32_t *param_places; /* as many as params */
};

/* A function that byte code calls by name. */
struct mpk_relay_packed {
	struct mpk_span name;
	struct mpk_function *function; /* held; NULL: nobody has it */
};

/* A virtual device: where the program wants tensors. */
struct mpk_relay_place {
	int32_t type;          /* DLPack's number */
	struct mpk_span scope; /* of its memory; "" is "global" */
};

/* mpk_relay_place_is_plain - not one of images, or of a memory of its own */
static inline bool mpk_relay_place_is_plain(const struct mpk_relay_place *place)
{
	return place->scope.len == 0 || mpk_span_is(place->scope, "global");
}

struct mpk_relay_program {
	struct mpk_program base;  /* first */
	struct mpk_relay x;       /* views of the blob */
	struct mpk_models models; /* what each function takes, by its index */
	const struct mpk_relay_place *places;
	size_t place_count;
	uint32_t host_place; /* of scalars and shapes */
	struct mpk_relay_callee *callees;
	size_t callee_count;
	struct mpk_relay_packed *packed;
	size_t packed_count;
	struct mpk_relay_step *steps;
	size_t step_count;
	uint32_t *registers;
	int64_t *extents;
	/* Constants: those of the file, then the numbers of LOAD_CONSTI. */
	size_t const_count;
	const uint32_t *const_places; /* of those of the file */
	int64_t *numbers;
	struct mpk_tensor **late; /* by constant: what was bound to it, held; else NULL */
};

/* mpk_relay_decode - fill places, callees and steps from p->x, which mpk_relay_check found sound
 * Returns  MPK_OK; MPK_E_CORRUPT: the first fault, naming function and instruction; MPK_E_NOMEM */
enum mpk_code mpk_relay_decode(struct mpk_relay_program *p, struct mpk_error *err) MPK_MUST_CHECK;

#endif

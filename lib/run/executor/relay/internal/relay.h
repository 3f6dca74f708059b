/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - declarations shared by the files of this folder */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_RELAY_H
#define MPK_EXECUTOR_RELAY_INTERNAL_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "executor/machine.h"
#include "payload.h"
#include "program/model.h"
#include "runtime/devices.h"
#include "value/function.h"
#include "value/tensor.h"

/* An executable of the Relay VM, decoded once
 *
 * Instructions become an array of small structures in one form for all releases. Registers,
 * functions, devices and jumps are checked, and packed functions are resolved, so the interpreter's
 * loop looks nothing up. Machines share a program; it does not change after the first machine was
 * made. */

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
	uint32_t dst;    /* register that receives the result */
	uint32_t reg[3]; /* registers that the step reads */
	uint32_t index;
	uint32_t from;
	uint32_t first, count; /* range of the step's list, in registers or in extents */
	uint32_t jump[2];      /* indexes of steps */
	struct mpk_dtype dtype;
	int32_t number;
};

/* A function in byte code. */
struct mpk_relay_callee {
	const char *name;
	uint32_t start, end; /* indexes of the first step, and of the step after the last */
	uint32_t register_count;
	struct mpk_strs params;
	const uint32_t *param_places; /* places of the parameters */
};

/* A function that byte code calls by its name. */
struct mpk_relay_packed {
	struct mpk_span name;
	struct mpk_function *function; /* one reference; NULL if no such function was found */
};

/* A virtual device: where the program requires tensors to be. */
struct mpk_relay_place {
	int32_t type;          /* DLPack's number */
	struct mpk_span scope; /* memory scope; "" means "global" */
};

/* mpk_relay_place_is_plain - whether the place is ordinary memory: no images and no special memory
 * scope */
static inline bool mpk_relay_place_is_plain(const struct mpk_relay_place *place)
{
	return place->scope.len == 0 || mpk_span_is(place->scope, "global");
}

struct mpk_relay_program {
	struct mpk_program base;                /* must be the first member */
	struct mpk_relay x;                     /* views of the blob */
	const struct mpk_signature *signatures; /* signature of each function, by its index */
	const struct mpk_relay_place *places;
	size_t place_count;
	uint32_t host_place; /* place of scalars and shapes */
	struct mpk_relay_callee *callees;
	size_t callee_count;
	struct mpk_relay_packed *packed;
	size_t packed_count;
	struct mpk_relay_step *steps;
	size_t step_count;
	uint32_t *registers;
	int64_t *extents;
	/* Constants: first those of the file, then the numbers of LOAD_CONSTI. */
	size_t const_count;
	const uint32_t *const_places; /* places of the file's constants */
	int64_t *numbers;
	struct mpk_tensor *
		*late; /* for each constant: the bound tensor, one reference; else NULL */
};

/* A machine: a program with its devices, constants and registers
 *
 * A machine runs one call at a time; calls from several threads wait for each other. Machines of
 * one program share only the program.
 *
 * A register holds a tensor, a storage, an array (an algebraic data type with its tag; a tuple has
 * tag 0), a closure, or nothing. There are no scalars: sizes, offsets, conditions and tags are
 * tensors on the host. */

enum {
	MPK_RELAY_DEPTH_MAX = 256, /* most nested calls from outside byte code */
	MPK_RELAY_FRAMES_MAX =
		1 << 20, /* most nested calls in byte code, where loops are recursion */
	MPK_RELAY_STACK_MAX = 1 << 24, /* most registers of these calls */
};

struct mpk_observer;
struct mpk_plans;
struct mpk_recorder;
struct mpk_relay_vm;

struct mpk_relay_vm {
	struct mpk_machine base;           /* must be the first member */
	struct mpk_relay_program *program; /* the same as base.program */
	/* for each place of the program: its device and the allocator of its storages */
	struct mpk_dldevice *devices;
	struct mpk_allocator **allocators;
	struct mpk_tensor **constants; /* NULL until first used */
	struct mpk_frames frames;
	uint64_t step_limit;     /* most steps in one call from outside; a call with more is
					 * treated as an endless loop */
	uint64_t steps_left;     /* steps that the current call may still run */
	struct mpk_plans *plans; /* recorded plans; plan/plan.h */
	struct mpk_recorder
		*recorder; /* recorder of the current call; NULL if it is not recorded */
	struct mpk_observer *observers; /* observers of the current call; NULL if there are none */
};

/* How executables of the Relay VM are loaded (decode.c) and run (interp.c). As in TVM, a place of
 * the program becomes the first device of its type; the CPU is always available. If there is no
 * device of that type, loading fails with MPK_E_LOAD. A call has one argument for each parameter,
 * in order. Arguments on another device than their parameter's are copied there, and so are
 * arguments in host memory that kernels cannot use. */
extern const struct mpk_model_kind mpk_relay_kind;
extern const struct mpk_machine_kind mpk_relay_machine_kind;

/* mpk_relay_vm_devices - the devices of the machine's runtime */
static inline struct mpk_devices *mpk_relay_vm_devices(const struct mpk_relay_vm *vm)
{
	return mpk_runtime_devices(vm->program->base.runtime);
}

/* --- functions as values ------------------------------------------------------------------- */

/* A function with its first arguments; a function that a caller looked up has none. */
struct mpk_relay_closure {
	struct mpk_function base;
	struct mpk_function *bound; /* the function without captured arguments; it holds a reference
				     * to the machine */
	struct mpk_relay_vm *vm;
	size_t function;
	/* An array. Nested closures are freed through it, without recursion. */
	struct mpk_value captured;
};

/* mpk_relay_closure_make - make a function bound to a machine; calls from outside run on that
 * machine
 * @captured an array; taken over, also on failure
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_relay_closure_make(struct mpk_relay_vm *vm, size_t function,
				     struct mpk_value captured, struct mpk_function **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- steps --------------------------------------------------------------------------------- */

/* Runs one step in the innermost frame of the machine.
 * @result  none on entry; receives an owned value for the step's register
 * Returns  MPK_OK; MPK_E_RAISED: registers of the wrong kind, or an error of a kernel; MPK_E_RANGE:
 *          a size beyond 2^63; MPK_E_DEVICE; MPK_E_NOMEM; ... */
typedef enum mpk_code mpk_relay_op_fn(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_value *result, struct mpk_error *err);

/* Functions by opcode, for instructions that make a value, and for IF, whose value tells whether
 * its registers are equal. NULL for jumps and calls. */
extern mpk_relay_op_fn *const mpk_relay_makers[MPK_RELAY_OPS];

/* mpk_relay_invoke_packed - call a kernel (make.c), which writes its result to its arguments */
mpk_relay_op_fn mpk_relay_invoke_packed;

/* mpk_relay_registers - the registers of the innermost call */
static inline struct mpk_value *mpk_relay_registers(const struct mpk_relay_vm *vm)
{
	return mpk_frames_registers(&vm->frames);
}

/* mpk_relay_fault - MPK_E_RAISED "KIND: sentence (function, instruction n)" */
enum mpk_code mpk_relay_fault(const struct mpk_relay_vm *vm, struct mpk_error *err,
			      const char *kind, const char *fmt, ...)
	MPK_PRINTF(4, 5) MPK_MUST_CHECK;
#define mpk_relay_fault(...) mpk_failed(mpk_relay_fault(__VA_ARGS__))

#endif

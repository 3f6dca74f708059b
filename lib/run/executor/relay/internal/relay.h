/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - what the files of this folder share, and nobody else includes */
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

/* An executable of the Relay VM, decoded once for running
 *
 * Instructions become an array of small structures: registers, functions, devices and jumps are
 * checked, packed functions are resolved, and what the releases wrote in different ways is the
 * same. The loop that runs it looks nothing up. A program is shared by its machines and not changed
 * after the first of them was made.
 */

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
	struct mpk_program base;                /* first */
	struct mpk_relay x;                     /* views of the blob */
	const struct mpk_signature *signatures; /* what each function takes, by its index */
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

/* A machine: a program with its devices, constants and registers
 *
 * One machine runs one call at a time; calls of several threads wait for each other. Machines of
 * one program share nothing but the program.
 *
 * A register holds a tensor, a storage, an array (an algebraic data type with its tag; a tuple has
 * tag 0), a closure, or nothing. There are no scalars: sizes, offsets, conditions and tags are tensors
 * on the host.
 */

enum {
	MPK_RELAY_DEPTH_MAX = 256,      /* calls from outside, within each other */
	MPK_RELAY_FRAMES_MAX = 1 << 20, /* calls in byte code: loops are recursion there */
	MPK_RELAY_STACK_MAX = 1 << 24,  /* their registers */
};

struct mpk_observer;
struct mpk_plans;
struct mpk_recorder;
struct mpk_relay_vm;

struct mpk_relay_vm {
	struct mpk_machine base;           /* first */
	struct mpk_relay_program *program; /* base.program */
	/* of each place of the program: the device it is, and where storages come from */
	struct mpk_dldevice *devices;
	struct mpk_allocator **allocators;
	struct mpk_tensor **constants; /* made when they are first used; NULL: not so far */
	struct mpk_frames frames;
	uint64_t step_limit;            /* of one call from outside: more is a loop without end */
	uint64_t steps_left;            /* of the call under way */
	struct mpk_plans *plans;        /* what was recorded; plan/plan.h */
	struct mpk_recorder *recorder;  /* of the call under way; NULL: nobody records */
	struct mpk_observer *observers; /* of the call under way; NULL: nobody looks */
};

/* How executables of the Relay VM are loaded (decode.c) and run (interp.c). A place of the program becomes the first device of
 * the type that it wants, as TVM does; the CPU is always there. A type that is not among the devices
 * fails with MPK_E_LOAD. Arguments are one a parameter, in their order; those on another device than
 * their parameter's are copied there, and those in host memory that kernels cannot take. */
extern const struct mpk_model_kind mpk_relay_kind;
extern const struct mpk_machine_kind mpk_relay_machine_kind;

/* mpk_relay_vm_devices - the devices of the machine's runtime */
static inline struct mpk_devices *mpk_relay_vm_devices(const struct mpk_relay_vm *vm)
{
	return mpk_runtime_devices(vm->program->base.runtime);
}

/* --- functions as values ------------------------------------------------------------------- */

/* A function with its first arguments; those that a caller looked up have none. */
struct mpk_relay_closure {
	struct mpk_function base;
	struct mpk_function *bound; /* the function without them; holds the machine */
	struct mpk_relay_vm *vm;
	size_t function;
	/* An array: closures within closures are freed by way of it, without recursion. */
	struct mpk_value captured;
};

/* mpk_relay_closure_make - a function bound to a machine; called from outside it runs there
 * @captured an array; taken over also on failure
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_relay_closure_make(struct mpk_relay_vm *vm, size_t function,
				     struct mpk_value captured, struct mpk_function **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- steps --------------------------------------------------------------------------------- */

/* Runs one step in the innermost frame of the machine.
 * @result  none on entry; receives an owned value for the step's register
 * Returns  MPK_OK; MPK_E_RAISED: registers do not hold what the step needs, what a kernel raised;
 *          MPK_E_RANGE: a size beyond 2^63; MPK_E_DEVICE; MPK_E_NOMEM; ... */
typedef enum mpk_code mpk_relay_op_fn(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_value *result, struct mpk_error *err);

/* Of each instruction that makes a value, and of IF: whether its registers are equal; NULL for others that go
 * elsewhere. */
extern mpk_relay_op_fn *const mpk_relay_makers[MPK_RELAY_OPS];

/* mpk_relay_invoke_packed - the one that calls a kernel (make.c); its result is in its arguments */
mpk_relay_op_fn mpk_relay_invoke_packed;

/* mpk_relay_registers - those of the innermost call */
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

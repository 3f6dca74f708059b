/* SPDX-License-Identifier: Apache-2.0 */
/* relax.h - declarations shared by the files of this folder */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_RELAX_H
#define MPK_EXECUTOR_RELAX_INTERNAL_RELAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/convention.h"
#include "base/error.h"
#include "base/span.h"
#include "executor/machine.h"
#include "executor/relax/builtin.h"
#include "payload.h"
#include "runtime/devices.h"
#include "runtime/observer.h"
#include "signature/signature.h"
#include "value/function.h"
#include "value/value.h"

/* An executable of the Relax VM, decoded once
 *
 * Byte code becomes an array of small structures: operands are checked, callees are resolved to an
 * address or a builtin, constants are indexes. So the interpreter's loop looks nothing up. Machines
 * share a program. It does not change after it was made, except for missing callees, which no
 * machine calls. */

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
	int64_t value; /* register, integer or index, by kind */
};

enum mpk_relax_action {
	MPK_ACTION_NONE,     /* not decoded, because it belongs to no function */
	MPK_ACTION_KERNEL,   /* compiled code at an address */
	MPK_ACTION_BUILTIN,  /* a builtin of the machine */
	MPK_ACTION_FUNCTION, /* any other function: device code, globals of the runtime */
	MPK_ACTION_CALL,     /* a function in byte code */
	MPK_ACTION_COMPILED, /* a function of exec_mode="compiled" */
	MPK_ACTION_MISSING,  /* a function that nothing provides */
	MPK_ACTION_RETURN,
	MPK_ACTION_GOTO,
	MPK_ACTION_IF,
};

/* One instruction. Members that its action does not use are 0. */
struct mpk_relax_step {
	enum mpk_relax_action action;
	int32_t dst;     /* register for the result; -1: the result is dropped */
	uint32_t callee; /* calls: index of the function table */
	uint32_t first;  /* first operand: of a call's arguments, or what is returned or tested */
	uint32_t count;  /* calls: number of arguments */
	int64_t target;  /* goto, and if when false: index of the next step */
};

/* An entry of the function table. */
struct mpk_relax_callee {
	struct mpk_span name;
	enum mpk_relax_action action;
	struct mpk_function *function; /* one reference; for kernels, functions and compiled
				        * functions */
	const struct mpk_relax_builtin *builtin;
	/* for byte code and compiled functions */
	uint32_t start, end;
	uint32_t arg_count, register_count;
	const struct mpk_signature *signature;
};

struct mpk_relax_program {
	struct mpk_program base; /* must be the first member */
	struct mpk_relax x;      /* views of the blob */
	struct mpk_relax_callee *callees;
	size_t callee_count;
	struct mpk_relax_step *steps;
	size_t step_count;
	struct mpk_relax_operand *operands;
	/* DLPack's number for each device number of the byte code; 0: not known */
	int32_t devices[MPK_RUNTIME_DEVICES_MAX];
	bool resets_tuples; /* a function may reset items of the tuples that it is given */
};

/* A machine: a program with its devices, constants and registers
 *
 * A machine runs one call at a time; calls of several threads wait for each other. Machines of one
 * program share only the program. */

enum {
	MPK_RELAX_DEVICES_MAX = 8,
	MPK_RELAX_DEPTH_MAX = 2048,     /* most nested calls through closures and compiled code */
	MPK_RELAX_FRAMES_MAX = 1 << 18, /* most nested calls in byte code */
	MPK_RELAX_STACK_MAX = 1 << 22,  /* most registers of all these calls */
	MPK_RELAX_HEAP_MAX = 1 << 20,   /* most symbolic extents of one function */
};

struct mpk_any_list;
struct mpk_relax_kept;
struct mpk_observer;
struct mpk_plans;
struct mpk_relax_vm;

/* Tensors that were allocated and not filled yet, and heaps of symbolic extents; see watch.c. */
struct mpk_relax_fresh {
	struct mpk_relax_fresh_tensor {
		const struct mpk_tensor *tensor; /* borrowed, and only compared */
		bool is_heap;
	} *items;
	size_t count, cap;
};

struct mpk_relax_vm {
	struct mpk_machine base;                            /* must be the first member */
	struct mpk_relax_program *program;                  /* the same as base.program */
	struct mpk_dldevice devices[MPK_RELAX_DEVICES_MAX]; /* the last is the CPU */
	struct mpk_allocator *allocators[MPK_RELAX_DEVICES_MAX];
	size_t device_count;
	/* most instructions of a call, for programs that may not end; 0: no limit */
	uint64_t step_limit;
	uint64_t steps;              /* instructions of the current call so far */
	struct mpk_value *constants; /* each is made at its first use; NONE: not made yet */
	struct mpk_any_list *constant_list,
		/* list of functions for compiled functions, made at the first use */
		*function_list, *register_list; /* empty registers for the next compiled function */
	struct mpk_relax_kept *kept;            /* what compiled functions keep */
	struct mpk_frames frames;
	struct mpk_plans *plans;       /* recorded plans; plan/plan.h */
	struct mpk_recorder *recorder; /* of the current call; NULL: it is not recorded */
	/* the current step only calls a function of the machine; watch.c */
	bool passes_on;
	struct mpk_observer *observers; /* of the current call; NULL: it is not observed */
	struct mpk_relax_fresh fresh;   /* while the call is observed */
};

/* How executables of the Relax VM are loaded (program.c) and run (interp.c). Devices are those of
 * vm_initialization: tensors live on the first; the CPU is appended unless it is the last. More
 * than MPK_RELAX_DEVICES_MAX devices fail with MPK_E_RANGE. */
extern const struct mpk_model_kind mpk_relax_kind;
extern const struct mpk_machine_kind mpk_relax_machine_kind;

/* mpk_relax_vm_host - the device of shapes and scalars: the last of the machine */
static inline size_t mpk_relax_vm_host(const struct mpk_relax_vm *vm)
{
	return vm->device_count - 1;
}

/* mpk_relax_vm_constant - get a constant, which is made at its first use
 * A tensor on the host stays in the blob if it is aligned for kernels there, else it is copied; for
 * another device it is copied to that device.
 * @out     borrowed from the machine
 * Returns  MPK_OK; MPK_E_NOMEM, MPK_E_DEVICE */
enum mpk_code mpk_relax_vm_constant(struct mpk_relax_vm *vm, size_t index,
				    const struct mpk_value **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_vm_function - get an entry of the function table as a value; for byte code it is a
 * function that holds the machine
 * Returns  MPK_OK, one reference in *out; MPK_E_LOAD: the function is missing; MPK_E_NOMEM */
enum mpk_code mpk_relax_vm_function(struct mpk_relax_vm *vm, size_t index,
				    struct mpk_function **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_call_compiled - call a function of exec_mode="compiled"
 * Returns  MPK_OK; MPK_E_RAISED: an error of the function, or a wrong number of arguments;
 *          MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_relax_call_compiled(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				      const struct mpk_value *args, size_t count,
				      struct mpk_value *result,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_compiled_fini - drop the machine's lists for compiled functions, some of whose items
 * hold the machine */
void mpk_relax_compiled_fini(struct mpk_relax_vm *vm);

/* Objects that a function requests, in the order of its requests. */
struct mpk_relax_sites {
	void **objects;
	size_t count, cap;
	size_t at;
};

/* What compiled functions keep for their next call (cells.c). */
struct mpk_relax_kept {
	uint64_t bytes;                     /* bytes of all storages that are kept */
	struct mpk_relax_sites *now;        /* those of the running function; NULL: none runs */
	struct mpk_relax_sites functions[]; /* one for each function of the machine */
};

/* mpk_relax_kept_destroy - free everything that is kept; k may be NULL */
void mpk_relax_kept_destroy(struct mpk_relax_kept *k, size_t functions);

/* Builtins that take cells of tvm-ffi directly; their object is a handle of the builtin. A row without a name ends the list
 * (cells.c). */
struct mpk_relax_cells {
	const char *name;
	mpk_ffi_safe_call *code;
};
extern const struct mpk_relax_cells mpk_relax_cells[];

/* mpk_relax_find_registered - look up a missing callee again, which may have been registered in the meantime
 * The caller holds the model's lock.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_find_registered(struct mpk_relax_program *p, size_t callee,
					struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_registers - the registers of the innermost call */
static inline struct mpk_value *mpk_relax_registers(const struct mpk_relax_vm *vm)
{
	return mpk_frames_registers(&vm->frames);
}

/* --- Calls that are recorded (plan/plan.h) or observed (runtime/observer.h) --- */

enum { MPK_RELAX_ARGUMENTS_FEW = 24 }; /* calls with at most this many arguments allocate nothing */

/* The arguments of one call. Values are borrowed from registers and constants; only functions are made for the call. */
struct mpk_relax_arguments {
	struct mpk_value few[MPK_RELAX_ARGUMENTS_FEW], *values;
	size_t count;
	bool has_functions;
};

/* Runs a step that calls something other than byte code.
 * @result  none on entry; owned */
typedef enum mpk_code mpk_relax_call_fn(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
					const struct mpk_relax_arguments *a,
					struct mpk_value *result, struct mpk_error *err);

/* mpk_relax_call_watched - run a step between the begin and the end that the machine's observers see; without observers, note it
 * for the recorder
 * Returns  as call; an observer's error; MPK_E_NOMEM */
enum mpk_code mpk_relax_call_watched(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				     const struct mpk_relax_arguments *a, mpk_relax_call_fn *call,
				     struct mpk_value *result,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_watch_control - show the observers a call of byte code, a return or a jump
 * Returns  as mpk_operator_control */
enum mpk_code mpk_relax_watch_control(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				      struct mpk_error *err) MPK_MUST_CHECK;

#endif

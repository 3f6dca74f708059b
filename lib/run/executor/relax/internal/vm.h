/* SPDX-License-Identifier: Apache-2.0 */
/* vm.h - a machine: a program with its devices, constants and registers
 *
 * One machine runs one call at a time; calls of several threads wait for each other. Machines of
 * one program share nothing but the program.
 */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_VM_H
#define MPK_EXECUTOR_RELAX_INTERNAL_VM_H

#include "executor/relax/internal/program.h"
#include "runtime/devices.h"

enum {
	MPK_RELAX_DEVICES_MAX = 8,
	MPK_RELAX_DEPTH_MAX = 2048,     /* calls through closures and compiled code */
	MPK_RELAX_FRAMES_MAX = 1 << 18, /* calls in byte code */
	MPK_RELAX_STACK_MAX = 1 << 22,  /* their registers */
};

struct mpk_any_list;
struct mpk_observer;
struct mpk_plans;
struct mpk_relax_vm;

/* Tensors that were allocated and that no operator filled so far, and heaps of symbolic
 * extents; see watch.h. */
struct mpk_relax_fresh {
	struct mpk_relax_fresh_tensor {
		const struct mpk_tensor *tensor; /* borrowed, to be compared with others */
		bool is_heap;
	} *items;
	size_t count, cap;
};

struct mpk_relax_vm {
	struct mpk_machine base;                            /* first */
	struct mpk_relax_program *program;                  /* base.program */
	struct mpk_dldevice devices[MPK_RELAX_DEVICES_MAX]; /* the last is the CPU */
	struct mpk_allocator *allocators[MPK_RELAX_DEVICES_MAX];
	size_t device_count;
	uint64_t step_limit;         /* of byte code in a call, for programs that may have no
				      * end; 0: none */
	uint64_t steps;              /* so far, of the call under way */
	struct mpk_value *constants; /* made when they are first used; NONE: not so far */
	struct mpk_any_list *constant_list,
		*function_list; /* for compiled functions, made then too */
	struct mpk_frames frames;
	struct mpk_plans *plans;        /* what was recorded; plan/plan.h */
	struct mpk_recorder *recorder;  /* of the call under way; NULL: nobody records */
	bool passes_on;                 /* the step under way only calls a function of the machine;
					 * watch.c */
	struct mpk_observer *observers; /* of the call under way; NULL: nobody looks */
	struct mpk_relax_fresh fresh;   /* while somebody does */
};

/* How executables of the Relax VM are loaded and run. Devices are as vm_initialization takes them: the
 * first is where tensors live; the CPU is appended unless it is the last. More than
 * MPK_RELAX_DEVICES_MAX fail with MPK_E_RANGE. */
extern const struct mpk_model_kind mpk_relax_kind;

/* mpk_relax_load, mpk_relax_vm_invoke - of struct mpk_model_kind; arguments by position or by name */
enum mpk_code mpk_relax_load(struct mpk_program *base, struct mpk_node_module *node,
			     struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_relax_vm_invoke(struct mpk_machine *m, size_t function,
				  const struct mpk_args *args, struct mpk_value *result,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_vm_host - the device of shapes and scalars: the last */
static inline size_t mpk_relax_vm_host(const struct mpk_relax_vm *vm)
{
	return vm->device_count - 1;
}

/* mpk_relax_vm_constant - a constant, made when it is first asked for: a tensor lies in the blob
 * where that is aligned for kernels, else it is copied; on a device it is sent there
 * @out     borrowed from the machine
 * Returns  MPK_OK; MPK_E_NOMEM, MPK_E_DEVICE */
enum mpk_code mpk_relax_vm_constant(struct mpk_relax_vm *vm, size_t index,
				    const struct mpk_value **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_vm_function - an entry of the function table as a value; what is byte code becomes a
 * function that holds the machine
 * Returns  MPK_OK, one reference in *out; MPK_E_LOAD: nobody has it; MPK_E_NOMEM */
enum mpk_code mpk_relax_vm_function(struct mpk_relax_vm *vm, size_t index,
				    struct mpk_function **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_call_compiled - call a function of exec_mode="compiled"
 * Returns  as mpk_relax_vm_invoke */
enum mpk_code mpk_relax_call_compiled(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				      const struct mpk_value *args, size_t count,
				      struct mpk_value *result,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_registers - those of the innermost call */
static inline struct mpk_value *mpk_relax_registers(const struct mpk_relax_vm *vm)
{
	return mpk_frames_registers(&vm->frames);
}

#endif

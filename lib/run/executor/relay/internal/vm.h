/* SPDX-License-Identifier: Apache-2.0 */
/* vm.h - a machine: a program with its devices, constants and registers
 *
 * One machine runs one call at a time; calls of several threads wait for each other. Machines of
 * one program share nothing but the program.
 *
 * A register holds a tensor, a storage, an array (an algebraic data type with its tag; a tuple has
 * tag 0), a closure, or nothing. There are no scalars: sizes, offsets, conditions and tags are tensors
 * on the host.
 */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_VM_H
#define MPK_EXECUTOR_RELAY_INTERNAL_VM_H

#include <pthread.h>
#include <stdatomic.h>

#include "executor/relay/internal/program.h"
#include "runtime/devices.h"

enum {
	MPK_RELAY_DEPTH_MAX = 256,      /* calls from outside, within each other */
	MPK_RELAY_FRAMES_MAX = 1 << 20, /* calls in byte code: loops are recursion there */
	MPK_RELAY_STACK_MAX = 1 << 24,  /* their registers */
};

struct mpk_observer;
struct mpk_plans;
struct mpk_recorder;
struct mpk_relay_vm;

/* One call of a function. */
struct mpk_relay_frame {
	size_t base;     /* of its registers in the stack */
	uint32_t callee; /* index of the function */
	uint32_t at;     /* step */
};

/* Runs a function of the program; mpk_relay_vm_invoke, which functions that are bound to a machine
 * find here. */
typedef enum mpk_code mpk_relay_invoke_fn(struct mpk_relay_vm *vm, size_t function,
					  const struct mpk_value *args, size_t count,
					  struct mpk_value *result, struct mpk_error *err);

struct mpk_relay_vm {
	atomic_uint refs;
	mpk_relay_invoke_fn *invoke;
	struct mpk_relay_program *program;
	/* of each place of the program: the device it stands for, and where storages come from */
	struct mpk_dldevice *devices;
	struct mpk_allocator **allocators;
	struct mpk_tensor **constants; /* made when they are first used; NULL: not so far */
	pthread_mutex_t lock;          /* recursive: a kernel may call back */
	unsigned depth;                /* mpk_relay_vm_invoke under way, within each other */
	struct mpk_value *stack;       /* register files, one behind the other */
	size_t stack_used, stack_cap;
	struct mpk_relay_frame *frames; /* calls under way */
	size_t frame_count, frame_cap;
	uint64_t step_limit;            /* of one call from outside: more is a loop without end */
	uint64_t steps_left;            /* of the call under way */
	struct mpk_plans *plans;        /* what was recorded; plan/plan.h */
	struct mpk_recorder *recorder;  /* of the call under way; NULL: nobody records */
	struct mpk_observer *observers; /* of the call under way; NULL: nobody looks */
};

/* mpk_relay_vm_create - a machine for a program
 * @devices what the program may run on; the CPU is always there. Of those with the type that a place
 *          wants the first is taken, as TVM does
 * Returns  MPK_OK, one reference in *out; MPK_E_LOAD: a type that is not among them; MPK_E_DEVICE:
 *          one does not open; MPK_E_NOMEM */
enum mpk_code mpk_relay_vm_create(struct mpk_relay_program *program, mpk_relay_invoke_fn *invoke,
				  const struct mpk_dldevice *devices, size_t count,
				  struct mpk_relay_vm **out, struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_relay_vm *mpk_relay_vm_hold(struct mpk_relay_vm *vm);
void mpk_relay_vm_drop(struct mpk_relay_vm *vm);

/* mpk_relay_vm_devices - the devices of the machine's runtime */
static inline struct mpk_devices *mpk_relay_vm_devices(const struct mpk_relay_vm *vm)
{
	return mpk_runtime_devices(vm->program->runtime);
}

/* mpk_relay_vm_constant - a constant on its device, made when it is first asked for
 * @out     borrowed from the machine; not to be written
 * Returns  MPK_OK; MPK_E_LOAD: it was never bound; MPK_E_UNSUPPORTED: it is to be an image;
 *          MPK_E_NOMEM, MPK_E_DEVICE */
enum mpk_code mpk_relay_vm_constant(struct mpk_relay_vm *vm, size_t index, struct mpk_tensor **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relay_vm_invoke - run a function of the program
 * @args    one a parameter, in their order; borrowed. Those on another device than their parameter's
 *          are copied there, and those in host memory that kernels cannot take
 * Returns  MPK_OK, *result owned; MPK_E_USAGE: a value that Relay does not have; MPK_E_RAISED: what a
 *          kernel or the program raised; MPK_E_UNSUPPORTED; MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_relay_vm_invoke(struct mpk_relay_vm *vm, size_t function,
				  const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

#endif

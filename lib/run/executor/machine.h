/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the common part of the executors of all kinds of models
 *
 * A node of a library becomes a program, which is decoded once and then does not change. A machine
 * is a program on devices, with its memory. A machine runs one call at a time; calls of several
 * threads wait for each other. Machines of one program share only the program. A function that a
 * caller looked up holds a reference to its machine, even after the model has made another machine
 * for other devices.
 *
 * A kind of model fills in struct mpk_model_kind for its programs and struct mpk_machine_kind for
 * its machines. Its own structures begin with the structures declared here. */
#ifndef MPK_EXECUTOR_MACHINE_H
#define MPK_EXECUTOR_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strmap.h"
#include "payload.h"
#include "runtime/library.h"
#include "signature/signature.h"
#include "value/function.h"
#include "value/tensor.h"

struct mpk_machine_kind;
struct mpk_model_kind;
struct mpk_shared_constant;

struct mpk_program {
	atomic_uint refs;
	const struct mpk_model_kind *kind;
	struct mpk_arena arena;
	struct mpk_runtime *runtime;
	struct mpk_context context; /* context of its functions */
	struct mpk_host *host;      /* one reference; keeps the blob and the code alive */
	pthread_mutex_t lock;       /* protects the fields below */
	struct mpk_strmap shared;   /* constants that were requested; all machines share them */
	struct mpk_shared_constant *last_shared;
};

struct mpk_machine {
	atomic_uint refs;
	const struct mpk_machine_kind *kind;
	unsigned own_refs;           /* references in refs that come from functions which the
				      * machine itself keeps */
	struct mpk_program *program; /* one reference */
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX]; /* devices that the machine was
							       * started with */
	size_t device_count;
	pthread_mutex_t lock; /* recursive, because a kernel may call back */
	unsigned depth;       /* number of nested calls from outside */
};

/* The content of node->state while a node is open: its program, and a machine for the devices that
 * were requested last. */
struct mpk_node_model {
	const struct mpk_model_kind *kind;
	struct mpk_program *program; /* NULL: not loaded yet */
	struct mpk_machine *machine; /* NULL: no function was looked up yet */
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX];
	size_t device_count;
};

/* Operations to load models of one kind; static storage. */
struct mpk_model_kind {
	size_t program_bytes;
	const struct mpk_machine_kind *machine;

	/* Fills in a program, which is zero except for its base.
	 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_UNSUPPORTED, MPK_E_LOAD, MPK_E_NOMEM, ... */
	enum mpk_code (*load)(struct mpk_program *p, struct mpk_node_module *node,
			      struct mpk_error *err);
	/* Frees everything outside the program's arena, also after load failed. */
	void (*unload)(struct mpk_program *p);

	/* Returns the number of devices that a program runs on, at most MPK_RUNTIME_DEVICES_MAX, and stores
	 * them. NULL: the devices that the runtime has for models. */
	size_t (*choose_devices)(const struct mpk_program *p, struct mpk_dldevice *out);
};

/* Operations to run programs of one kind; static storage. */
struct mpk_machine_kind {
	size_t bytes;
	unsigned depth_max; /* limit of nested calls from outside */

	/* Fills in a machine, which is zero except for its base; m->program is set.
	 * Returns  MPK_OK; MPK_E_DEVICE, MPK_E_LOAD, MPK_E_RANGE, MPK_E_NOMEM */
	enum mpk_code (*start)(struct mpk_machine *m, const struct mpk_dldevice *devices,
			       size_t count, struct mpk_error *err);
	/* Frees everything in a machine, also after start failed. */
	void (*stop)(struct mpk_machine *m);
	/* Drops the functions that the machine keeps, once there are no other references to it. NULL if
	 * own_refs is always 0. */
	void (*drop_own)(struct mpk_machine *m);

	/* Runs a function by its index. The machine is locked, and the current context is the program's. */
	enum mpk_code (*invoke)(struct mpk_machine *m, size_t function, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err);
};

/* mpk_program_constant - a storage with content of the program's library; all machines of the
 * program share it, and it lives as long as the program
 * Returns  as mpk_constant_storage */
enum mpk_code mpk_program_constant(struct mpk_program *p, struct mpk_span content,
				   struct mpk_dtype type, struct mpk_dldevice where,
				   struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_machine_bind - make a function of the program into a value that holds the machine
 * Calls of one machine wait for each other. More than kind->depth_max nested calls fail with
 * MPK_E_RAISED.
 * @name    copied
 * @signature  points into memory that the machine keeps; may be NULL
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_machine_bind(struct mpk_machine *m, size_t function, struct mpk_span name,
			       const struct mpk_signature *signature, struct mpk_function **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_machine_again - bind the same function to another machine of the same program on the same
 * devices, for parallel calls
 * Returns  MPK_OK, one reference in *out, which is NULL if f was not bound by mpk_machine_bind; as
 *          kind->start; MPK_E_NOMEM */
enum mpk_code mpk_machine_again(const struct mpk_function *f, struct mpk_function **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_machine_owns - whether f was bound to this machine */
bool mpk_machine_owns(const struct mpk_machine *m, const struct mpk_function *f);

/* mpk_node_model_open - a loader's open: load the program
 * Returns  MPK_OK; as kind->load; MPK_E_NOMEM */
enum mpk_code mpk_node_model_open(struct mpk_node_module *node, const struct mpk_model_kind *kind,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_model_program - load the program of an open node unless it is loaded
 * Returns  MPK_OK; as kind->load; MPK_E_NOMEM */
enum mpk_code mpk_node_model_program(struct mpk_node_module *node,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_model_machine - the machine of an open node for the devices that are requested now
 * Makes a new machine if the last one is for other devices, and loads the program if necessary.
 * @out     borrowed from the model
 * Returns  MPK_OK; as kind->load and kind->machine->start; MPK_E_NOMEM */
enum mpk_code mpk_node_model_machine(struct mpk_node_module *node, struct mpk_machine **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_machine - the machine that functions of a node are bound to now; borrowed. NULL before
 * the first function was looked up */
static inline struct mpk_machine *mpk_node_machine(const struct mpk_node_module *node)
{
	const struct mpk_node_model *model = node->state;

	return model ? model->machine : NULL;
}

/* mpk_node_model_close - a loader's close: free the model, which may be NULL */
void mpk_node_model_close(struct mpk_node_module *node);

/* mpk_node_model_has - a loader's has: look for a name in the payload, which is not decoded again
 * if the node is open */
enum mpk_code mpk_node_model_has(struct mpk_node_module *node, const char *name, bool *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_payload - decode a node's payload into the program's arena
 * @out     views of the blob and the arena
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_node_payload(const struct mpk_node_module *node, struct mpk_arena *arena,
			       struct mpk_payload *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- calls in byte code --------------------------------------------------------------------- */

/* One call of a function in byte code. */
struct mpk_frame {
	size_t base;     /* index of its first register in the stack */
	uint32_t callee; /* index of the function */
	uint32_t at;     /* index of the current step */
};

/* The active calls and their registers, in one array. They are not on the native stack, because
 * compilers turn loops into recursion. */
struct mpk_frames {
	struct mpk_value *stack;
	size_t stack_used, stack_cap, stack_max;
	struct mpk_frame *items;
	size_t count, cap, max;
};

/* mpk_frames_push - begin a call, with empty registers
 * @name    name of the function, for messages
 * Returns  MPK_OK; MPK_E_RAISED: more than f->max calls or f->stack_max registers; MPK_E_NOMEM */
enum mpk_code mpk_frames_push(struct mpk_frames *f, struct mpk_span name, uint32_t callee,
			      uint32_t at, uint32_t register_count,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_frames_pop - end calls, innermost first, until `floor` calls are left; their registers are
 * dropped */
void mpk_frames_pop(struct mpk_frames *f, size_t floor);
void mpk_frames_fini(struct mpk_frames *f);

/* mpk_frames_top - the innermost call; valid until the next push */
static inline struct mpk_frame *mpk_frames_top(const struct mpk_frames *f)
{
	return &f->items[f->count - 1];
}

/* mpk_frames_registers - the registers of the innermost call; valid until the next push */
static inline struct mpk_value *mpk_frames_registers(const struct mpk_frames *f)
{
	return f->stack + mpk_frames_top(f)->base;
}

/* mpk_frames_set - set a register of the innermost call; takes over v */
static inline void mpk_frames_set(struct mpk_frames *f, uint32_t reg, struct mpk_value v)
{
	struct mpk_value *r = &mpk_frames_registers(f)[reg], old = *r;

	/* store the new value first, because dropping the old one may call back */
	*r = v;
	mpk_value_drop(&old);
}

/* --- content of a library (constant.c) ------------------------------------------------------- */

/* mpk_constant_storage - make a storage with content of a library
 * @host    the library; a storage that points into its content holds a reference
 * @content in the blob, or in the data of the library's code. Nobody may write to the storage.
 * @type    type of the elements, which are little-endian
 * @where   device of the storage
 * @out     one reference; at least content.len bytes
 * Pages of a file are released after they were copied, so that a large file is not in memory twice.
 * Returns  MPK_OK; MPK_E_DEVICE: the device cannot be opened or has no room; MPK_E_NOMEM */
enum mpk_code mpk_constant_storage(struct mpk_host *host, struct mpk_span content,
				   struct mpk_dtype type, struct mpk_dldevice where,
				   struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- the inputs of a call against what a model takes, before anything runs -------------------- */

/* Checks the inputs of a call before anything runs. Kernels check their arguments too, but with
 * cryptic messages ("Assert fail: ...ndim == 2") and after other kernels have run. This check
 * reports a wrong call as a usage error and shows a correct call. */

/* mpk_signature_bind - match the values of a call to the inputs of a model, and check them
 * A value with a name goes to the input or parameter of that name. Values without a name go to the
 * remaining inputs, in order.
 * @m       its inputs are known; an input of unknown type accepts any value
 * @bound   m->input_count + m->param_count elements: receives the value of each input, then of each
 *          parameter, borrowed from args; NULL for parameters that are not replaced
 * Returns  MPK_OK; MPK_E_USAGE: an unknown name, an input given twice, too many or too few values,
 *          a value that is not a tensor, a wrong type, rank or shape, a symbolic extent with two
 *          sizes. The error tells what was expected and what was given, and shows the options of a
 *          correct call. bound is then undefined. */
enum mpk_code mpk_signature_bind(const struct mpk_signature *m, const struct mpk_args *args,
				 const struct mpk_value **bound,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_signature_order - put the values of a call with names into the order of the inputs
 * @out     m->input_count + m->param_count values, to be freed; what they refer to is borrowed from
 *          args
 * Returns  as mpk_signature_bind; MPK_E_NOMEM */
enum mpk_code mpk_signature_order(const struct mpk_signature *m, const struct mpk_args *args,
				  struct mpk_value **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

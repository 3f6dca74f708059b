/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - what the executors of all kinds of models have in common
 *
 * A node of a library becomes a program, which is decoded once and not changed afterwards. A machine is
 * a program on devices, with its memory. One machine runs one call at a time, and calls of several
 * threads wait for each other; machines of one program share nothing but the program. Functions that
 * a caller looked up hold the machine they are bound to, also when the model gets another one
 * because other devices were asked for.
 *
 * A kind of model fills in struct mpk_model_kind for its programs and struct mpk_machine_kind for its
 * machines. These and its models begin with the structures here.
 */
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
	struct mpk_context context; /* of its functions */
	struct mpk_host *host;      /* held: keeps the blob and the code */
	pthread_mutex_t lock;       /* over what follows */
	struct mpk_strmap shared;   /* constants that were asked for, which its machines share */
	struct mpk_shared_constant *last_shared;
};

struct mpk_machine {
	atomic_uint refs;
	const struct mpk_machine_kind *kind;
	unsigned own_refs;           /* of refs: those of functions that the machine itself keeps */
	struct mpk_program *program; /* held */
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX]; /* what it was started with */
	size_t device_count;
	pthread_mutex_t lock; /* recursive: a kernel may call back */
	unsigned depth;       /* calls from outside under way, within each other */
};

/* What a node that is open has in node->state: its program, and a machine for the devices that were
 * asked for last. */
struct mpk_node_model {
	const struct mpk_model_kind *kind;
	struct mpk_program *program; /* NULL: not loaded so far */
	struct mpk_machine *machine; /* NULL: no function was looked up so far */
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX];
	size_t device_count;
};

/* How models of a kind are loaded; static storage. */
struct mpk_model_kind {
	size_t program_bytes;
	const struct mpk_machine_kind *machine;

	/* Fills a program, all of which is zero but for its base.
	 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_UNSUPPORTED, MPK_E_LOAD, MPK_E_NOMEM, ... */
	enum mpk_code (*load)(struct mpk_program *p, struct mpk_node_module *node,
			      struct mpk_error *err);
	/* Frees what a program has outside of its arena, also after load failed. */
	void (*unload)(struct mpk_program *p);

	/* Which devices a program runs on, at most MPK_RUNTIME_DEVICES_MAX; their number. NULL: those
	 * that the runtime has for models. */
	size_t (*choose_devices)(const struct mpk_program *p, struct mpk_dldevice *out);
};

/* How they are run; static storage. */
struct mpk_machine_kind {
	size_t bytes;
	unsigned depth_max; /* calls from outside, within each other */

	/* Fills a machine, all of which is zero but for its base; m->program is there.
	 * Returns  MPK_OK; MPK_E_DEVICE, MPK_E_LOAD, MPK_E_RANGE, MPK_E_NOMEM */
	enum mpk_code (*start)(struct mpk_machine *m, const struct mpk_dldevice *devices,
			       size_t count, struct mpk_error *err);
	/* Frees what a machine has, also after start failed. */
	void (*stop)(struct mpk_machine *m);
	/* Lets go of the functions that the machine keeps, when nobody else holds it. NULL where
	 * own_refs stays 0. */
	void (*drop_own)(struct mpk_machine *m);

	/* Runs a function, by its index; the machine is locked and the context is the program's. */
	enum mpk_code (*invoke)(struct mpk_machine *m, size_t function, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err);
};

/* mpk_program_constant - content of the program's library as a storage; all machines of the program get the
 * same, which stays as long as the program
 * Returns  as mpk_constant_storage */
enum mpk_code mpk_program_constant(struct mpk_program *p, struct mpk_span content,
				   struct mpk_dtype type, struct mpk_dldevice where,
				   struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_machine_bind - a function of the program as a value that holds the machine. Calls of one machine
 * wait for each other; calls within each other that are more than kind->depth_max fail with
 * MPK_E_RAISED
 * @name    copied
 * @signature  of what the machine holds; may be NULL
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_machine_bind(struct mpk_machine *m, size_t function, struct mpk_span name,
			       const struct mpk_signature *signature, struct mpk_function **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_machine_again - the function that f is, bound to another machine of the same program, on the same devices:
 * for calls side by side
 * Returns  MPK_OK, one reference in *out; NULL in *out where f was not bound by mpk_machine_bind; as
 *          kind->start; MPK_E_NOMEM */
enum mpk_code mpk_machine_again(const struct mpk_function *f, struct mpk_function **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_machine_owns - whether f was bound to this very machine */
bool mpk_machine_owns(const struct mpk_machine *m, const struct mpk_function *f);

/* mpk_node_model_open - as a loader's open: load the program
 * Returns  MPK_OK; as kind->load; MPK_E_NOMEM */
enum mpk_code mpk_node_model_open(struct mpk_node_module *node, const struct mpk_model_kind *kind,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_model_program - load the program of an open node where it has none so far
 * Returns  MPK_OK; as kind->load; MPK_E_NOMEM */
enum mpk_code mpk_node_model_program(struct mpk_node_module *node,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_model_machine - the machine of an open node for the devices that are asked for now, made where the
 * last one is for others; its program is loaded where the model has none so far
 * @out     borrowed from the model
 * Returns  MPK_OK; as kind->load and kind->machine->start; MPK_E_NOMEM */
enum mpk_code mpk_node_model_machine(struct mpk_node_module *node, struct mpk_machine **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_machine - the machine that functions of a node are bound to now; NULL before the first was looked up.
 * Borrowed */
static inline struct mpk_machine *mpk_node_machine(const struct mpk_node_module *node)
{
	const struct mpk_node_model *model = node->state;

	return model ? model->machine : NULL;
}

/* mpk_node_model_close - as a loader's close: frees the model with what it has; NULL in it is fine */
void mpk_node_model_close(struct mpk_node_module *node);

/* mpk_node_model_has - as a loader's has: by the names in the payload, which is not decoded again where
 * the node is open */
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
	size_t base;     /* of its registers in the stack */
	uint32_t callee; /* index of the function */
	uint32_t at;     /* step */
};

/* The calls under way, and their registers, one file of them after the other. They are not on the
 * native stack, because compilers make loops of recursion. */
struct mpk_frames {
	struct mpk_value *stack;
	size_t stack_used, stack_cap, stack_max;
	struct mpk_frame *items;
	size_t count, cap, max;
};

/* mpk_frames_push - begin a call, with registers that hold nothing
 * @name    of the function, for messages
 * Returns  MPK_OK; MPK_E_RAISED: more than f->max calls or f->stack_max registers; MPK_E_NOMEM */
enum mpk_code mpk_frames_push(struct mpk_frames *f, struct mpk_span name, uint32_t callee,
			      uint32_t at, uint32_t register_count,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_frames_pop - end the innermost call until `floor` are left; what the registers hold is dropped */
void mpk_frames_pop(struct mpk_frames *f, size_t floor);
void mpk_frames_fini(struct mpk_frames *f);

/* mpk_frames_top - the innermost call; until the next push */
static inline struct mpk_frame *mpk_frames_top(const struct mpk_frames *f)
{
	return &f->items[f->count - 1];
}

/* mpk_frames_registers - those of the innermost call; until the next push */
static inline struct mpk_value *mpk_frames_registers(const struct mpk_frames *f)
{
	return f->stack + mpk_frames_top(f)->base;
}

/* mpk_frames_set - what a register of the innermost call holds; v is taken over */
static inline void mpk_frames_set(struct mpk_frames *f, uint32_t reg, struct mpk_value v)
{
	struct mpk_value *r = &mpk_frames_registers(f)[reg], old = *r;

	/* first the new value: dropping the old one may call back */
	*r = v;
	mpk_value_drop(&old);
}

/* --- content of a library (constant.c) ------------------------------------------------------- */

/* mpk_constant_storage - content of a library as a storage
 * @host    whose content it is; held by a storage that leads into it
 * @content of the blob, or data of the library's code. Nobody may write to the storage.
 * @type    of its elements, whose numbers are little-endian there
 * @where   device of the storage
 * @out     one reference; at least content.len bytes
 * Pages of a file that were copied are not kept in memory, so that a large one is not there twice.
 * Returns  MPK_OK; MPK_E_DEVICE: the device does not open, or has no room; MPK_E_NOMEM */
enum mpk_code mpk_constant_storage(struct mpk_host *host, struct mpk_span content,
				   struct mpk_dtype type, struct mpk_dldevice where,
				   struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- the inputs of a call against what a model takes, before anything runs -------------------- */

/* Kernels check their arguments, too, but in words of their own ("Assert fail: ...ndim == 2") and
 * after other kernels have run. A model that knows its inputs refuses a wrong call as a mistake
 * of the caller, and shows him a right one. */

/* mpk_signature_bind - which value of a call is which input, and whether it is right
 * A value with a name is the input or the parameter of that name; those without are the inputs
 * that no value was named for, in their order.
 * @m       its inputs are known; those of no known type take any value
 * @bound   m->input_count + m->param_count places: receives the value of each input, then of each
 *          parameter, borrowed from args; NULL for parameters that keep what they are
 * Returns  MPK_OK; MPK_E_USAGE: a name that the model has not, an input twice, too many or too
 *          few, something else than a tensor, another type, rank or shape, a symbolic extent
 *          with two sizes. The sentence says what was expected and what came, and shows the
 *          options of a call that is right. bound is then undefined. */
enum mpk_code mpk_signature_bind(const struct mpk_signature *m, const struct mpk_args *args,
				 const struct mpk_value **bound,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_signature_order - the values of a call with names in the order of the inputs
 * @out     m->input_count + m->param_count values, to be freed; what they hold is borrowed from args
 * Returns  as mpk_signature_bind; MPK_E_NOMEM */
enum mpk_code mpk_signature_order(const struct mpk_signature *m, const struct mpk_args *args,
				  struct mpk_value **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - a call whose shapes are known is an array of kernel calls
 *
 * Byte code of a model is almost always a straight line whose every shape follows from the shapes
 * of the inputs. When a function is called again with the same types and shapes, its run is
 * recorded: which kernels with which tensors, and where those lie. From then on such a call checks
 * the inputs (they are the key of the plan), patches their addresses into arguments that were laid
 * out beforehand, and calls the kernels. Interpreters of every kind of byte code share this: they
 * say what they do while they do it (mpk_record_...).
 *
 * A plan repeats kernels and copies, in their order, on tensors that lie where they lay: at the same
 * offsets of the same storages, over one another or not. What it leaves out - storages, tensors and
 * views, tuples, shapes, the matching and making of extents - must follow from the key. Where that
 * cannot be shown there is no plan, and the function stays byte code:
 *  - something depends on the content of a tensor: a condition, a shape out of data, extents that are
 *    matched into or made from a tensor which is no heap of the call;
 *  - a kernel returns something, or its result goes to a register: it might, in the next call;
 *  - a kernel is given something that is not known of: a heap among other tensors, a tuple, a
 *    function, memory that a function brought itself, an image;
 *  - byte code is called by anything but byte code (a kernel, a closure, compiled functions).
 *
 * A storage of the plan is one allocation, whatever copies of it registers and tuples hold.
 * The memory of a plan is of three sorts. Inputs and constants are where they are; an input that is
 * passed twice, lies over another or is written to is so in each call. What the caller receives lies
 * in storages of its own, which are used again when nobody has them. All other storages lie in slots,
 * which the plans of a machine share and a plan gives out by lifetimes: from the first to the last
 * step that uses a tensor of the storage. Compiled code at an address sees memory for the time of the
 * call; any other function gets tensors as objects and may keep them. A storage of such a tensor is
 * shared with none that comes later in the call, and its slot gets other memory for the next one.
 */
#ifndef MPK_EXECUTOR_PLAN_PLAN_H
#define MPK_EXECUTOR_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/devices.h"
#include "value/function.h"
#include "value/value.h"

struct mpk_plans;
struct mpk_recorder;

/* Where the storages of a machine may lie: its devices, each with its allocator. */
struct mpk_plan_places {
	struct mpk_devices *devices;
	const struct mpk_dldevice *where;
	struct mpk_allocator *const *allocators;
	size_t count;
};

/* mpk_plans_create - the plans of one machine, which is used by one thread at a time
 * @places  borrowed, with what it points to, until destroy
 * Returns  NULL when memory is out */
struct mpk_plans *mpk_plans_create(const struct mpk_plan_places *places);
void mpk_plans_destroy(struct mpk_plans *plans);

/* Runs a function step by step, and informs the recorder that mpk_plan_call set, if any. */
typedef enum mpk_code mpk_plan_interpret_fn(void *machine, size_t function,
					    const struct mpk_value *args, size_t count,
					    struct mpk_value *result, struct mpk_error *err);

/* Who interprets the functions of a machine. */
struct mpk_plan_interpreter {
	mpk_plan_interpret_fn *interpret;
	void *machine;
	struct mpk_recorder **recorder; /* the machine's; NULL in it: nobody records */
};

/* mpk_plan_call - call a function by its plan; without one step by step, and recorded when a call
 * of the same key came before
 * @result  none on entry; owned afterwards
 * Returns  MPK_OK; MPK_E_RAISED: what a kernel raised; MPK_E_DEVICE; MPK_E_NOMEM; what interpreting
 *          it gave */
enum mpk_code mpk_plan_call(struct mpk_plans *plans, const struct mpk_plan_interpreter *interpreter,
			    size_t function, const struct mpk_value *args, size_t count,
			    struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_record_... - what the machine does in the call; a NULL recorder is fine. What follows from the
 * key alone (shapes, tuples, views) is not recorded: the tensors that come of it are followed. */

/* mpk_record_kernel - a call that works on tensors in place; repeated with the same arguments. Host
 * code all of whose tensors are heaps is left out: it computed shapes. */
void mpk_record_kernel(struct mpk_recorder *r, struct mpk_function *function,
		       const struct mpk_value *args, size_t count, const struct mpk_value *result);

/* mpk_record_copy - the content of one tensor copied into another, whose storage is new, and which
 * nobody holds but the caller */
void mpk_record_copy(struct mpk_recorder *r, const struct mpk_tensor *from,
		     const struct mpk_tensor *to);

/* mpk_record_storage - a storage was allocated just now; nobody holds it but the caller. Once for
 * each: a second one is other memory in the plan. */
void mpk_record_storage(struct mpk_recorder *r, const struct mpk_storage *storage);

/* mpk_record_constant - a value that stays where it is, beyond the call */
void mpk_record_constant(struct mpk_recorder *r, const struct mpk_value *constant);

/* What is known of a storage in this call. Storages are recognised by their address; one that was
 * freed and given out again is a new one, because its allocation was recorded, too. */
enum mpk_origin {
	MPK_ORIGIN_UNKNOWN,  /* memory that a function brought itself */
	MPK_ORIGIN_INPUT,    /* index: which tensor among the arguments */
	MPK_ORIGIN_CONSTANT, /* stays, with its content, beyond the call */
	MPK_ORIGIN_STORAGE,  /* allocated by the call; index: of the plan's storages */
	MPK_ORIGIN_HEAP,     /* symbolic extents, which the call changes as it goes */
	MPK_ORIGIN_KNOWN,    /* its content follows from the key and is final */
};

/* mpk_record_origin - what is known of a storage from now on
 * @origin  MPK_ORIGIN_HEAP: memory for symbolic extents, whose content follows from the key;
 *          MPK_ORIGIN_KNOWN: so does its content, which is final: kernels may be given it, and what is read of
 *          it does not end the recording. It is in host memory and small: a plan that needs it keeps a copy
 * @index   of an input or a storage of the plan; else 0 */
void mpk_record_origin(struct mpk_recorder *r, const struct mpk_storage *storage,
		       enum mpk_origin origin, size_t index);

/* mpk_record_nothing - something happened that no plan can repeat */
void mpk_record_nothing(struct mpk_recorder *r);

/* What a recording knows of a tensor. */
enum mpk_recorded {
	MPK_RECORDED_OTHER,
	MPK_RECORDED_KNOWN, /* its content is the same in every call with this key: a constant, or MPK_ORIGIN_KNOWN */
	MPK_RECORDED_HEAP, /* MPK_ORIGIN_HEAP, or a view of it */
	MPK_RECORDED_UNTOUCHED, /* it lies in a storage of the call that no recorded kernel was given so far */
};

/* mpk_recorder_look - that of a tensor of the call */
enum mpk_recorded mpk_recorder_look(const struct mpk_recorder *r, const struct mpk_tensor *t);

/* What the plans of a machine did so far. */
struct mpk_plan_stats {
	uint64_t recorded, replayed, unplannable;
	size_t kept;  /* plans now */
	size_t tapes; /* that they share */
};
struct mpk_plan_stats mpk_plans_get_stats(const struct mpk_plans *plans);

#endif

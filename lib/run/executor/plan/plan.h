/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - plans: recorded calls that are repeated without interpreting byte code
 *
 * The byte code of a model is almost always a straight line in which every shape follows from the
 * shapes of the inputs. When a function is called again with the same types and shapes, its run is
 * recorded: the kernels, their tensors, and where these lie. Later calls of that kind check the
 * inputs (they are the key of the plan), patch addresses in arguments that were laid out
 * beforehand, and call the kernels. All interpreters of byte code use this: they report each step
 * to the recorder (mpk_record_...).
 *
 * A plan repeats kernels and copies in their order. Tensors lie at the same offsets of the same
 * storages as in the recorded call, and overlap in the same way. The plan omits everything else:
 * allocating storages, making tensors, views, tuples and shapes, and matching and computing
 * extents. All of these must follow from the key. If one does not, there is no plan, and the
 * function stays byte code:
 *  - a step depends on the content of a tensor: a condition, a shape computed from data, or extents
 *  matched into or made from a tensor that is not a heap of the call;
 *  - a kernel returns a value, or its result goes to a register: it could do so in the next call;
 *  - a kernel gets an argument of unknown origin: a heap among other tensors, a tuple, a function,
 *  memory that a function allocated itself, an image;
 *  - byte code is called from outside byte code (a kernel, a closure, compiled functions).
 *
 * A storage of the plan is one allocation, even if several registers and tuples refer to it.
 * The memory of a plan is of three kinds. Inputs and constants stay where they are; an input that
 * is passed twice, overlaps another or is written to does so in each call. Results lie in storages
 * of their own, which are reused once the caller has dropped them. All other storages lie in slots,
 * which all plans of a machine share. A plan assigns slots by lifetimes: from the first to the last
 * step that uses a tensor of the storage. Compiled code at an address uses memory only during the
 * call. Any other function gets tensors as objects and may keep them. The storage of such a tensor
 * shares its slot with no later storage of the call, and if the tensor was kept, the slot gets new
 * memory for the next call. */
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

/* The devices of a machine, each with the allocator of its storages. */
struct mpk_plan_places {
	struct mpk_devices *devices;
	const struct mpk_dldevice *where;
	struct mpk_allocator *const *allocators;
	size_t count;
};

/* mpk_plans_create - create the plans of one machine, which only one thread uses at a time
 * @places  borrowed until mpk_plans_destroy, with everything it points to
 * Returns  NULL if there is no memory */
struct mpk_plans *mpk_plans_create(const struct mpk_plan_places *places);
void mpk_plans_destroy(struct mpk_plans *plans);

/* Runs a function step by step, and reports to the recorder that mpk_plan_call set, if there is
 * one. */
typedef enum mpk_code mpk_plan_interpret_fn(void *machine, size_t function,
					    const struct mpk_value *args, size_t count,
					    struct mpk_value *result, struct mpk_error *err);

/* The interpreter of a machine's functions. */
struct mpk_plan_interpreter {
	mpk_plan_interpret_fn *interpret;
	void *machine;
	struct mpk_recorder **recorder; /* the machine's recorder; *recorder is NULL if nothing is
					 * recorded */
};

/* mpk_plan_call - call a function by its plan. Without a plan it is interpreted, and recorded if a
 * call with the same key came before
 * @result  none on entry; owned afterwards
 * Returns  MPK_OK; MPK_E_RAISED: an error of a kernel; MPK_E_DEVICE; MPK_E_NOMEM; errors of the
 *          interpreter */
enum mpk_code mpk_plan_call(struct mpk_plans *plans, const struct mpk_plan_interpreter *interpreter,
			    size_t function, const struct mpk_value *args, size_t count,
			    struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_record_... - report a step of the call; the recorder may be NULL. Values that follow from the
 * key alone (shapes, tuples, views) are not reported: the recorder looks at the tensors made from
 * them. */

/* mpk_record_kernel - a call that works on tensors in place; the plan repeats it with the same
 * arguments. Host code whose tensors are all heaps is omitted, because it only computes shapes. */
void mpk_record_kernel(struct mpk_recorder *r, struct mpk_function *function,
		       const struct mpk_value *args, size_t count, const struct mpk_value *result);

/* mpk_record_copy - a copy of one tensor into another, whose storage is new and to which only the
 * caller has a reference */
void mpk_record_copy(struct mpk_recorder *r, const struct mpk_tensor *from,
		     const struct mpk_tensor *to);

/* mpk_record_storage - a storage was allocated just now; only the caller has a reference. Report a
 * storage once: a second report means other memory in the plan. */
void mpk_record_storage(struct mpk_recorder *r, const struct mpk_storage *storage);

/* mpk_record_constant - a value that keeps its place after the call */
void mpk_record_constant(struct mpk_recorder *r, const struct mpk_value *constant);

/* Origin of a storage in this call. Storages are identified by their address. If one is freed and
 * its address reused, the new storage has been reported too and replaces the old. */
enum mpk_origin {
	MPK_ORIGIN_UNKNOWN,  /* memory that a function allocated itself */
	MPK_ORIGIN_INPUT,    /* an input; index: number of the tensor among the arguments */
	MPK_ORIGIN_CONSTANT, /* a constant, which keeps its place and content after the call */
	MPK_ORIGIN_STORAGE,  /* allocated by the call; index: number among the plan's storages */
	MPK_ORIGIN_HEAP,     /* a heap of symbolic extents, which the call fills step by step */
	MPK_ORIGIN_KNOWN,    /* content that follows from the key and does not change any more */
};

/* mpk_record_origin - set the origin of a storage from now on
 * @origin  MPK_ORIGIN_HEAP: memory for symbolic extents, whose content follows from the key;
 *          MPK_ORIGIN_KNOWN: the content follows from the key and is final. Kernels may use such
 *          memory, and reading it does not end the recording. It must be small and in host memory:
 *          a plan that needs it keeps a copy
 * @index   for an input or a storage of the plan; else 0 */
void mpk_record_origin(struct mpk_recorder *r, const struct mpk_storage *storage,
		       enum mpk_origin origin, size_t index);

/* mpk_record_nothing - a step happened that a plan cannot repeat */
void mpk_record_nothing(struct mpk_recorder *r);

/* Knowledge of a recording about a tensor. */
enum mpk_recorded {
	MPK_RECORDED_OTHER,
	MPK_RECORDED_KNOWN, /* the content is the same in every call with this key: a constant, or
			     * MPK_ORIGIN_KNOWN */
	MPK_RECORDED_HEAP,  /* MPK_ORIGIN_HEAP, or a view of it */
	MPK_RECORDED_UNTOUCHED, /* the tensor lies in a storage of the call that no recorded kernel
				 * has used so far */
};

/* mpk_recorder_look - what the recording knows about a tensor of the call */
enum mpk_recorded mpk_recorder_look(const struct mpk_recorder *r, const struct mpk_tensor *t);

/* Statistics of a machine's plans. */
struct mpk_plan_stats {
	uint64_t recorded, replayed, unplannable;
	size_t kept;  /* number of plans now */
	size_t tapes; /* number of tapes that these plans share */
};
struct mpk_plan_stats mpk_plans_get_stats(const struct mpk_plans *plans);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - plans from within: the recording of a call, the tape of its steps, the plans of a machine
 *
 * A recording (plan.c) is what a call did. Its storages get slots (plan.c), its steps
 * are laid out on a tape (run.c), and a plan is a tape with the words that are its own (run.c).
 */
#ifndef MPK_EXECUTOR_PLAN_INTERNAL_PLANS_H
#define MPK_EXECUTOR_PLAN_INTERNAL_PLANS_H

#include <string.h>

#include "abi/convention.h"
#include "executor/plan/plan.h"
#include "value/function.h"
#include "value/value.h"

enum {
	MPK_PLANS_MAX = 256,      /* kept by a machine: lengths that come back */
	MPK_PLANS_SEEN = 1024,    /* keys remembered by their hash */
	MPK_PLANS_FUNCTIONS = 64, /* functions that can be marked as having no plan */
	MPK_PLAN_SLOTS_MAX = 4096,
	MPK_PLAN_STEPS_MAX = 1 << 20,
	/* Arrays within arrays, of what a plan takes and gives: it is no place for recursion
	 * without end. */
	MPK_PLAN_NEST_MAX = 16,
};

/* What a plan depends on, as words that are compared: the function, type, shape and device of each
 * tensor, value and type of each integer, value of each shape among the arguments.
 * Zero-initialise; free(words). */
struct mpk_plan_key {
	int64_t *words;
	size_t count, cap;
	uint64_t hash;
};

/* --- what a recorder gathered of a call ----------------------------------------------------- */

/* Where the memory of a tensor in a plan comes from. */
enum mpk_plan_source {
	MPK_PLAN_INPUT,    /* an argument of the call: `index` among their tensors */
	MPK_PLAN_CONSTANT, /* stays where it is */
	MPK_PLAN_STORAGE,  /* a storage of the plan: `index` */
};

/* A storage that the call allocated. Members share 64-bit words with those of their sort alone:
 * see run.c. */
struct mpk_plan_storage {
	uint64_t bytes;
	uint32_t device;          /* index of the machine's places */
	uint32_t is_result;       /* the caller receives a tensor of it: memory of its own */
	uint32_t first, last;     /* step at which it is first and last used; last UINT32_MAX: to
				   * the end of the call and beyond */
	uint64_t slot;            /* unless is_result: where it lies */
	struct mpk_storage *kept; /* results: of the call before; used again when nobody has it */
	void *data;               /* what its tensors point to now */
};

enum mpk_plan_action { MPK_PLAN_KERNEL, MPK_PLAN_FUNCTION, MPK_PLAN_COPY };

struct mpk_recorded_tensor {
	struct mpk_tensor *tensor; /* owned; constants are held with their storage */
	enum mpk_plan_source source;
	uint32_t index;
};

struct mpk_recorded_step {
	enum mpk_plan_action action;
	struct mpk_function *function; /* held */
	struct mpk_value *values;      /* arguments, with numbers in place of tensors */
	size_t count;
	uint32_t from, to; /* copies: tensors */
};

struct mpk_recording {
	struct mpk_plan_key key;
	struct mpk_recorded_tensor *tensors;
	size_t tensor_count, tensor_cap;
	struct mpk_plan_storage *storages;
	size_t storage_count, storage_cap;
	struct mpk_recorded_step *steps;
	size_t step_count, step_cap;
	size_t input_count;      /* tensors among the arguments */
	struct mpk_value result; /* of the call, with numbers in place of tensors */
};

/* mpk_recording_number - the value that is written in place of a tensor: its index, typed as a handle
 * so that no integer of a model is taken for one */
static inline struct mpk_value mpk_recording_number(uint32_t tensor)
{
	struct mpk_value v = mpk_value_of_int(tensor);

	v.type = (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 };
	return v;
}

static inline bool mpk_recording_is_number(const struct mpk_value *v)
{
	return v->kind == MPK_VALUE_INT && v->type.code == MPK_DTYPE_HANDLE;
}

/* mpk_recording_free - with everything in it; NULL is fine */
void mpk_recording_free(struct mpk_recording *recording);

struct mpk_origin_entry {
	const struct mpk_storage *storage; /* NULL: a free entry */
	enum mpk_origin origin;
	uint32_t index;
};

/* A hash table by address. */
struct mpk_origins {
	struct mpk_origin_entry *items;
	size_t count, cap; /* cap: a power of two, at most half of it filled */
};

struct mpk_recorder {
	struct mpk_plans *plans;
	struct mpk_recording *plan;
	bool failed;
	struct mpk_origins origins;
};

/* --- tapes and plans ------------------------------------------------------------------------ */

/* A tensor of a tape; what kernels are passed is its DLTensor. */
struct mpk_plan_tensor {
	struct mpk_dltensor *dl;
	enum mpk_plan_source source;
	uint32_t index;
};

struct mpk_plan_step {
	struct mpk_function *function;
	struct mpk_packed packed;       /* kernels */
	const struct mpk_value *values; /* functions: arguments, with numbers in place of tensors */
	uint64_t bytes;                 /* copies */
	uint32_t action, count;         /* count: of values */
	uint32_t from, to;              /* copies: tensors */
};

/* A word of a tape that is not the same in all plans. */
struct mpk_plan_variable {
	size_t word;
	uint64_t first; /* what it is in plans that are older than this entry */
};

/* The steps of a function, shared by plans that differ in nothing but extents, scalars and sizes:
 * one block of memory, in which a few words change when another plan of it is run. */
struct mpk_plan_tape {
	struct mpk_plan_tape *next;
	size_t plans;                    /* that share it */
	struct mpk_recording *recording; /* of the first of them; owns what the block points to */
	uint64_t *words;
	uint8_t *sorts; /* of each word */
	size_t word_count;
	struct mpk_plan_variable *variables;
	size_t variable_count, variable_cap;
	const struct mpk_plan *current; /* whose words these are */
	/* within words */
	struct mpk_plan_tensor *tensors;
	struct mpk_plan_storage *storages;
	struct mpk_plan_step *steps;
	size_t tensor_count, storage_count, step_count, input_count;
};

struct mpk_plan {
	struct mpk_plan_key key;
	uint64_t used; /* when last, by the clock of the plans */
	struct mpk_plan_tape *tape;
	uint64_t *values; /* of the first value_count variables; of others it is their first */
	size_t value_count;
	struct mpk_value result; /* of the call: the numbers are those of the tape's tensors */
};

struct mpk_plan_slot {
	size_t device;
	struct mpk_storage *storage;
};

struct mpk_plans {
	struct mpk_plan_places places;
	struct mpk_plan *items[MPK_PLANS_MAX];
	struct mpk_plan_tape *tapes;   /* of all of them */
	uint64_t seen[MPK_PLANS_SEEN]; /* hashes of keys that came once */
	uint64_t clock;
	uint64_t unplannable; /* a bit a function: recording it came to nothing */
	struct mpk_plan_slot *slots;
	size_t slot_count, slot_cap;
	struct mpk_plan_key key; /* of the call that is looked up */
	struct mpk_plan_stats stats;
};

/* mpk_plan_replace - free the plan at a place, and put that of a recorded call there: on a tape that another
 * plan has, or on its own
 * @recording  owned from now on; its storages have their slots. NULL: the place is empty afterwards
 * Returns     false when memory is out: then the plan stays */
bool mpk_plan_replace(struct mpk_plans *plans, struct mpk_plan **place,
		      struct mpk_recording *recording);

/* mpk_plan_set_word - by bytes: the words are members of structures */
static inline void mpk_plan_set_word(struct mpk_plan_tape *t, size_t i, uint64_t value)
{
	memcpy(&t->words[i], &value, sizeof value);
}

/* mpk_plan_run - the call by its plan
 * @result  none on entry; owned afterwards
 * Returns  MPK_OK; MPK_E_RAISED: what a kernel raised; MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_plan_run(struct mpk_plans *plans, struct mpk_plan *plan,
			   const struct mpk_value *args, size_t count, struct mpk_value *result,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif

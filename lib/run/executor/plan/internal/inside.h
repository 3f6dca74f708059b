/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - the inside of plans; for the files of this folder */
#ifndef MPK_EXECUTOR_PLAN_INTERNAL_INSIDE_H
#define MPK_EXECUTOR_PLAN_INTERNAL_INSIDE_H

#include "abi/packed.h"
#include "executor/plan/internal/key.h"
#include "executor/plan/internal/recording.h"
#include "executor/plan/plan.h"

enum {
	MPK_PLANS_MAX = 256,      /* kept by a machine: lengths that come back */
	MPK_PLANS_SEEN = 1024,    /* keys remembered by their hash */
	MPK_PLANS_FUNCTIONS = 64, /* functions that can be marked as having no plan */
	MPK_PLAN_SLOTS_MAX = 4096,
};

/* A tensor of a tape; what kernels are passed is its DLTensor. */
struct mpk_plan_tensor {
	struct mpk_dltensor *dl;
	enum mpk_plan_source source;
	uint32_t index;
};

struct mpk_plan_step {
	struct mpk_function *function;
	struct mpk_packed packed;       /* kernels */
	const struct mpk_value *values; /* functions: arguments; tensors stand as their numbers */
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
	size_t plans; /* that share it */
	struct mpk_recording
		*recording; /* of the first of them: it owns what the block points to */
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
	/* What the call returns: tensors stand as integers, the index of a tensor of the tape,
	 * typed as handles. */
	struct mpk_value result;
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

/* mpk_plans_place - give the storages of a recording slots; false when there are too many, or memory
 * is out */
bool mpk_plans_place(struct mpk_plans *plans, struct mpk_recording *recording);

/* mpk_plan_make - the plan of a recorded call: on a tape that another plan has, or on its own
 * @recording  owned from now on; its storages have their slots
 * Returns     NULL when memory is out */
struct mpk_plan *mpk_plan_make(struct mpk_plans *plans, struct mpk_recording *recording);
void mpk_plan_free(struct mpk_plans *plans, struct mpk_plan *plan);

/* mpk_plan_load - make the words of the tape those of this plan */
void mpk_plan_load(const struct mpk_plan *plan);

/* mpk_plans_add - keep a plan; of those that would stand in its place the one used longest
 * ago goes */
void mpk_plans_add(struct mpk_plans *plans, struct mpk_plan *plan);

/* mpk_plans_slot - a slot of a device that is not taken; false when there are too many */
bool mpk_plans_slot(struct mpk_plans *plans, size_t device, const bool *taken, size_t *out);

/* mpk_plans_fill_slot - make a slot hold at least bytes bytes that nobody else has. The memory may be
 * another afterwards: a call fills all of its slots before it uses one.
 * Returns  MPK_OK; as mpk_allocator_storage */
enum mpk_code mpk_plans_fill_slot(struct mpk_plans *plans, size_t slot, uint64_t bytes,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif

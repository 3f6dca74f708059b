/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - the inside of plans; for plan.c, record.c and run.c */
#ifndef MPK_EXECUTOR_PLAN_INSIDE_H
#define MPK_EXECUTOR_PLAN_INSIDE_H

#include "abi/packed.h"
#include "executor/plan/key.h"
#include "executor/plan/plan.h"

enum {
	MPK_PLANS_MAX = 256,      /* kept by a machine: lengths that come back */
	MPK_PLANS_SEEN = 1024,    /* keys remembered by their hash */
	MPK_PLANS_FUNCTIONS = 64, /* functions that can be marked as having no plan */
	MPK_PLAN_SLOTS_MAX = 4096,
	MPK_PLAN_STEPS_MAX = 1 << 20,
};

/* Where the memory of a tensor in a plan comes from. */
enum mpk_plan_source {
	MPK_PLAN_INPUT,    /* an argument of the call: `index` among their tensors */
	MPK_PLAN_CONSTANT, /* stays where it is */
	MPK_PLAN_STORAGE,  /* a storage of the plan: `index` */
};

/* A tensor of a plan; what steps pass is its DLTensor, of which only the address changes. */
struct mpk_plan_tensor {
	struct mpk_tensor *tensor;
	enum mpk_plan_source source;
	uint32_t index;
	uint64_t offset; /* of inputs: behind the argument's own */
};

/* A storage that the call allocated. */
struct mpk_plan_storage {
	uint64_t bytes;
	uint32_t device;          /* index of the machine's places */
	uint32_t first, last;     /* step at which it is first and last used */
	bool is_result;           /* the caller receives a tensor of it: memory of its own */
	uint32_t slot;            /* else where it lies */
	struct mpk_storage *kept; /* results: of the call before; used again when nobody has it */
	void *data;               /* what its tensors point to now */
};

enum mpk_plan_action { MPK_PLAN_KERNEL, MPK_PLAN_FUNCTION, MPK_PLAN_COPY };

struct mpk_plan_step {
	enum mpk_plan_action action;
	struct mpk_function *function; /* held */
	struct mpk_packed packed;      /* kernels */
	void *memory;                  /* of packed */
	struct mpk_value *values;      /* functions: arguments; tensors are those of the plan */
	size_t count;
	uint32_t from, to; /* copies: tensors */
};

struct mpk_plan {
	struct mpk_plan_key key;
	uint64_t used; /* when last, by the clock of the plans */
	struct mpk_plan_tensor *tensors;
	size_t tensor_count, tensor_cap;
	struct mpk_plan_storage *storages;
	size_t storage_count, storage_cap;
	struct mpk_plan_step *steps;
	size_t step_count, step_cap;
	size_t input_count; /* tensors among the arguments */
	/* What the call returns: tensors stand as integers, the index of a plan tensor, typed as
	 * handles. */
	struct mpk_value result;
};

struct mpk_plan_slot {
	size_t device;
	struct mpk_storage *storage;
};

struct mpk_plans {
	struct mpk_plan_places places;
	struct mpk_plan *items[MPK_PLANS_MAX];
	uint64_t seen[MPK_PLANS_SEEN]; /* hashes of keys that came once */
	uint64_t clock;
	uint64_t unplannable; /* a bit a function: recording it came to nothing */
	struct mpk_plan_slot *slots;
	size_t slot_count, slot_cap;
	struct mpk_plan_key key; /* of the call that is looked up */
	struct mpk_plan_stats stats;
};

void mpk_plan_free(struct mpk_plan *plan);

/* mpk_plans_add - keep a plan; of those that would stand in its place the one used longest
 * ago goes */
void mpk_plans_add(struct mpk_plans *plans, struct mpk_plan *plan);

/* mpk_plans_slot - a slot of a device that is not taken; false when there are too many */
bool mpk_plans_slot(struct mpk_plans *plans, size_t device, const bool *taken, size_t *out);

/* mpk_plans_fill_slot - make a slot hold at least bytes bytes
 * Returns  MPK_OK; as mpk_allocator_storage */
enum mpk_code mpk_plans_fill_slot(struct mpk_plans *plans, size_t slot, uint64_t bytes,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - inside plans: the recording of a call, the tape of its steps, the plans of a machine
 *
 * A recording says what a call did. plan.c gives its storages slots; run.c lays its steps out on a tape. A plan is a tape
 * together with the words in which it differs from the tape's other plans. */
#ifndef MPK_EXECUTOR_PLAN_INTERNAL_PLANS_H
#define MPK_EXECUTOR_PLAN_INTERNAL_PLANS_H

#include <string.h>

#include "abi/convention.h"
#include "executor/plan/plan.h"
#include "value/function.h"
#include "value/value.h"

enum {
	MPK_PLANS_MAX = 256,      /* plans that a machine keeps, because lengths come back */
	MPK_PLANS_SEEN = 1024,    /* remembered hashes of keys */
	MPK_PLANS_FUNCTIONS = 64, /* functions that can be marked as unplannable */
	MPK_PLAN_SLOTS_MAX = 4096,
	MPK_PLAN_STEPS_MAX = 1 << 20,
	/* Bounds recursion through nested arrays among arguments and results. */
	MPK_PLAN_NEST_MAX = 16,
};

/* The key of a plan, as words that are compared: the function; type, shape and device of each tensor; type and value of each
 * integer; value of each shape among the arguments. Zero-initialise; free(words). */
struct mpk_plan_key {
	int64_t *words;
	size_t count, cap;
	uint64_t hash;
};

/* --- what a recorder noted of a call -------------------------------------------------------- */

/* Where the memory of a tensor in a plan comes from. */
enum mpk_plan_source {
	MPK_PLAN_INPUT,    /* an argument of the call; `index` counts its tensors */
	MPK_PLAN_CONSTANT, /* constant: memory that never moves */
	MPK_PLAN_STORAGE,  /* `index` of a storage of the plan */
};

/* A storage that the call allocated. A 64-bit word never mixes members of different sorts: see run.c. */
struct mpk_plan_storage {
	uint64_t bytes;
	uint32_t device; /* index of the machine's places */
	/* the caller receives a tensor in it, so it has memory of its own */
	uint32_t is_result;
	/* steps of its first and last use; last is UINT32_MAX when it is used after the end of the call */
	uint32_t first, last;
	uint64_t slot; /* offset in the plan's memory; unused when is_result */
	/* a result's storage of the preceding call, reused when nobody holds it */
	struct mpk_storage *kept;
	void *data; /* address that its tensors have now */
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
	struct mpk_value *values;      /* arguments; tensors are replaced by their indices */
	size_t count;
	uint32_t from, to; /* copies: indices of tensors */
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
	struct mpk_value result; /* result of the call; tensors are replaced by their indices */
};

/* mpk_recording_number - the value that stands for a tensor: its index, typed as a handle so that it differs from every
 * integer of a model */
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

/* mpk_recording_free - free the recording and everything in it; NULL is fine */
void mpk_recording_free(struct mpk_recording *recording);

struct mpk_origin_entry {
	const struct mpk_storage *storage; /* NULL: a free entry */
	enum mpk_origin origin;
	uint32_t index;
};

/* A hash table by address. */
struct mpk_origins {
	struct mpk_origin_entry *items;
	size_t count, cap; /* cap: a power of two, at least twice count */
};

struct mpk_recorder {
	struct mpk_plans *plans;
	struct mpk_recording *plan;
	bool failed;
	struct mpk_origins origins;
};

/* --- tapes and plans ------------------------------------------------------------------------ */

/* A tensor of a tape; kernels receive the DLTensor. */
struct mpk_plan_tensor {
	struct mpk_dltensor *dl;
	enum mpk_plan_source source;
	uint32_t index;
};

struct mpk_plan_step {
	struct mpk_function *function;
	struct mpk_packed packed; /* for kernels */
	/* for functions: arguments, with indices in place of tensors */
	const struct mpk_value *values;
	uint64_t bytes;         /* for copies */
	uint32_t action, count; /* count: number of values */
	uint32_t from, to;      /* for copies: indices of tensors */
};

/* A word of a tape that differs between plans. */
struct mpk_plan_variable {
	size_t word;
	uint64_t first; /* value of the word in all plans that are older than this entry */
};

/* The steps of a function, shared by plans that differ only in extents, scalars and sizes: one block of memory, in which a few
 * words are set before another plan runs. */
struct mpk_plan_tape {
	struct mpk_plan_tape *next;
	size_t plans; /* number of plans that share the tape */
	/* recording of the first plan; owns what the block points to */
	struct mpk_recording *recording;
	uint64_t *words;
	uint8_t *sorts; /* sort of each word */
	size_t word_count;
	struct mpk_plan_variable *variables;
	size_t variable_count, variable_cap;
	const struct mpk_plan *current; /* the plan whose words the block holds now */
	/* places in words */
	struct mpk_plan_tensor *tensors;
	struct mpk_plan_storage *storages;
	struct mpk_plan_step *steps;
	size_t tensor_count, storage_count, step_count, input_count;
};

struct mpk_plan {
	struct mpk_plan_key key;
	uint64_t used; /* time of the last use, by the clock of the plans */
	struct mpk_plan_tape *tape;
	/* of the first value_count variables; every later variable has its first value */
	uint64_t *values;
	size_t value_count;
	struct mpk_value result; /* result of the call; its numbers count the tape's tensors */
};

struct mpk_plan_slot {
	size_t device;
	struct mpk_storage *storage;
};

struct mpk_plans {
	struct mpk_plan_places places;
	struct mpk_plan *items[MPK_PLANS_MAX];
	struct mpk_plan_tape *tapes;   /* list of all tapes */
	uint64_t seen[MPK_PLANS_SEEN]; /* hashes of keys that came once */
	uint64_t clock;
	uint64_t unplannable; /* a bit for each function whose recording gave no plan */
	struct mpk_plan_slot *slots;
	size_t slot_count, slot_cap;
	struct mpk_plan_key key; /* key of the call that is being looked up */
	struct mpk_plan_stats stats;
};

/* mpk_plan_replace - free the plan at an index and put the plan of a recorded call there, on a shared tape if one fits
 * @recording  owned from now on; its storages have their slots. NULL: the index is empty afterwards
 * Returns     false when memory is out; the old plan stays */
bool mpk_plan_replace(struct mpk_plans *plans, struct mpk_plan **place,
		      struct mpk_recording *recording);

/* mpk_plan_set_word - set a word byte by byte, because words are members of structures */
static inline void mpk_plan_set_word(struct mpk_plan_tape *t, size_t i, uint64_t value)
{
	memcpy(&t->words[i], &value, sizeof value);
}

/* mpk_plan_run - make the call by its plan
 * @result  none on entry; owned afterwards
 * Returns  MPK_OK; MPK_E_RAISED: what a kernel raised; MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_plan_run(struct mpk_plans *plans, struct mpk_plan *plan,
			   const struct mpk_value *args, size_t count, struct mpk_value *result,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif

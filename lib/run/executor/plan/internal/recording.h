/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - what a recorder gathered of a call; for the files of this folder */
#ifndef MPK_EXECUTOR_PLAN_INTERNAL_RECORDING_H
#define MPK_EXECUTOR_PLAN_INTERNAL_RECORDING_H

#include "executor/plan/internal/key.h"
#include "value/function.h"

enum { MPK_PLAN_STEPS_MAX = 1 << 20 };

/* Where the memory of a tensor in a plan comes from. */
enum mpk_plan_source {
	MPK_PLAN_INPUT,    /* an argument of the call: `index` among their tensors */
	MPK_PLAN_CONSTANT, /* stays where it is */
	MPK_PLAN_STORAGE,  /* a storage of the plan: `index` */
};

/* A storage that the call allocated. Members share 64-bit words with those of their sort alone:
 * see tape.c. */
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
	struct mpk_value *values;      /* arguments; tensors among them stand as their numbers */
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
	size_t input_count; /* tensors among the arguments */
	/* What the call returns: tensors stand as their numbers. */
	struct mpk_value result;
};

/* mpk_recording_number - the value that stands for a tensor: an integer, typed as a handle */
struct mpk_value mpk_recording_number(uint32_t tensor);
bool mpk_recording_is_number(const struct mpk_value *v);

/* mpk_recording_free - with everything in it; NULL is fine */
void mpk_recording_free(struct mpk_recording *recording);

/* mpk_recording_tensor - a tensor of the recording for one of the call; the same number when it is
 * already there
 * @t     its DLTensor, origin and, of constants, the memory make it the same
 * @known the content is final: a copy is kept
 * Returns  false when memory is out */
bool mpk_recording_tensor(struct mpk_recording *recording, const struct mpk_tensor *t,
			  enum mpk_plan_source source, uint32_t index, bool known, uint32_t *out);

#endif

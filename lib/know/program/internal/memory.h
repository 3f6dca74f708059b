/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the allocations, frees and steps of a call, in order; for the files beside it */
#ifndef MPK_PROGRAM_INTERNAL_MEMORY_H
#define MPK_PROGRAM_INTERNAL_MEMORY_H

#include "program/memory.h"
#include "program/model.h"

enum mpk_memory_event_kind { MPK_MEMORY_ALLOC, MPK_MEMORY_FREE, MPK_MEMORY_STEP };

struct mpk_memory_event {
	enum mpk_memory_event_kind kind;
	uint32_t index; /* number of the storage or the step */
};

/* Zero-initialise; mpk_timeline_fini. */
struct mpk_timeline {
	struct mpk_memory_event *events;
	size_t event_count, event_cap;
	struct mpk_memory_step *steps;
	size_t step_count, step_cap;
	struct mpk_memory_storage *storages; /* bytes may grow until mpk_timeline_sum */
	size_t storage_count, storage_cap;
};

void mpk_timeline_fini(struct mpk_timeline *t);

/* mpk_timeline_alloc, _free, _step - append an event; false: memory is out
 * @s       a storage: bytes, kind, device and type are read; a step: name and instruction
 * @out     number of the storage */
bool mpk_timeline_alloc(struct mpk_timeline *t, const struct mpk_memory_storage *s, size_t *out);
bool mpk_timeline_free(struct mpk_timeline *t, size_t storage);
bool mpk_timeline_step(struct mpk_timeline *t, const struct mpk_memory_step *s);

/* mpk_timeline_sum - compute the bytes of steps, peak, results and caches; false: a sum does not fit 64 bits
 * mpk_timeline_keep - copy steps and storages into arena; false: memory is out */
bool mpk_timeline_sum(struct mpk_timeline *t, struct mpk_function_memory *out);
bool mpk_timeline_keep(const struct mpk_timeline *t, struct mpk_arena *arena,
		       struct mpk_function_memory *out);

/* mpk_memory_bytes - the bytes of a tensor; false: they do not fit 64 bits, or an extent is negative */
bool mpk_memory_bytes(struct mpk_dtype dtype, const int64_t *shape, size_t ndim, uint64_t *out);

/* mpk_relax_memory - the memory of the functions in byte code
 * @models  the signatures of x
 * @out     receives weights and functions
 * Returns  as mpk_memory_of */
enum mpk_code mpk_relax_memory(const struct mpk_relax *x, const struct mpk_models *models,
			       const struct mpk_memory_ask *ask, struct mpk_arena *arena,
			       struct mpk_model_memory *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

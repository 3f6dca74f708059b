/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the memory that a call of a model takes, over time, from its byte code or graph alone
 *
 * A compiler plans the memory of a model: which storages are allocated and when, which tensors lie in them, when a
 * register that holds one is emptied. With the extents of the inputs all of that is arithmetic, so that the peak of a
 * call is known without making it. A storage lives from its allocation until nothing refers to it, as in TVM without
 * a pool and in libmpk-run's first call.
 *
 * What is not in the code is not counted: memory that kernels take for themselves, libraries that they call, and what
 * an allocator keeps.
 */
#ifndef MPK_PROGRAM_MEMORY_H
#define MPK_PROGRAM_MEMORY_H

#include "base/arena.h"
#include "base/error.h"
#include "payload.h"
#include "signature/signature.h"

/* What the caller says of the call. */
struct mpk_memory_ask {
	const struct mpk_extent_value
		*extents; /* of symbolic extents, by their names; others are 1 */
	size_t extent_count;
	/* Computes extents as a compiled function of the model does: NULL, or false, where that cannot be done; then they
	 * are followed as far as the texts of checks tell them.
	 * @name    of the function, "shape_func"
	 * @slots   count extents, which it reads and writes; those that nothing set yet are 0 */
	bool (*compute)(void *arg, struct mpk_span name, int64_t *slots, size_t count);
	void *arg;
};

enum mpk_memory_kind {
	MPK_MEMORY_SCRATCH, /* gone when the call returns */
	MPK_MEMORY_RESULT,  /* the caller has it then */
	MPK_MEMORY_CACHE,   /* keys and values or states of a sequence, which later calls take */
};

/* One allocation of a call. */
struct mpk_memory_storage {
	uint64_t bytes;
	enum mpk_memory_kind kind;
	bool at_least; /* an extent of something in it is not known: bytes is less than, or what it takes */
	int64_t device;       /* which of the devices of the model; 0 is its main one */
	size_t first, end;    /* steps [first, end) during which it is there */
	struct mpk_type type; /* of the first tensor in it */
	size_t tensor_count;  /* that lie in it, one after the other or side by side */
};

/* A kernel or a builtin that works on tensors, in the order of the call. */
struct mpk_memory_step {
	struct mpk_span name;
	int64_t instruction; /* -1: a node of a graph */
	uint64_t bytes;      /* of all storages that are there while it runs */
};

/* A function of a model. */
struct mpk_function_memory {
	const struct mpk_signature *signature;
	uint64_t input_bytes;                   /* the caller's */
	uint64_t peak_bytes;                    /* of storages, at the worst moment */
	size_t peak_step;                       /* then; step_count: no step runs */
	uint64_t peak_of[MPK_MEMORY_CACHE + 1]; /* the parts of peak_bytes, by kind */
	uint64_t result_bytes, cache_bytes;     /* that are left when it has returned */
	uint64_t total_bytes;                   /* of all its storages, were none used again */
	const struct mpk_memory_step *steps;
	size_t step_count;
	const struct mpk_memory_storage *storages; /* in the order of their allocation */
	size_t storage_count;
	const struct mpk_extent_value *extents; /* that were counted with, each once */
	size_t extent_count, given_count; /* of them given_count were asked for, and come first */
	size_t unknown; /* extents and memory that the code does not tell: peak_bytes is at least that */
	const char *why; /* one of them in words; NULL: unknown is 0 */
	size_t paths; /* that data could choose between, of which this is the one that takes most */
};

struct mpk_model_memory {
	uint64_t weight_bytes; /* tensors in the file */
	size_t weight_count;
	bool is_static; /* storages are allocated when the model is loaded, and stay: a graph */
	const struct mpk_function_memory *functions;
	size_t function_count;
	size_t most; /* the function that takes most, inputs and all; function_count: there is none */
	/* weights, the caches that its functions make, and inputs and peak of the function that takes most */
	uint64_t need_bytes, cache_bytes;
	size_t unknown; /* of all functions, and functions that are left out */
	const char *
		untold; /* what is left out: "compiled functions, whose code is not read"; NULL: nothing */
};

/* mpk_memory_of - the memory of each function that can be called
 * @p       an executor's payload
 * @out     in arena; function_count is 0 for payloads that are no executors, and for those whose memory is not in
 *          the file (byte code of Relay)
 * Returns  MPK_OK; MPK_E_CORRUPT: byte code or a graph that makes no sense; MPK_E_RANGE: an extent or a size that fits
 *          no 64 bits, more steps than are followed; MPK_E_NOMEM */
enum mpk_code mpk_memory_of(const struct mpk_payload *p, const struct mpk_memory_ask *ask,
			    struct mpk_arena *arena, struct mpk_model_memory *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif

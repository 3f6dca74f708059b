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

/* The caller's assumptions about the call. */
struct mpk_memory_ask {
	const struct mpk_extent_value
		*extents; /* values of symbolic extents, by name; all others are 1 */
	size_t extent_count;
	/* Computes extents as a compiled function of the model does: NULL, or false, where that cannot be done; then they
	 * are followed as far as the texts of checks tell them.
	 * @name    of the function, "shape_func"
	 * @slots   count extents, which it reads and writes; those that nothing set yet are 0 */
	bool (*compute)(void *arg, struct mpk_span name, int64_t *slots, size_t count);
	void *arg;
};

enum mpk_memory_kind {
	MPK_MEMORY_SCRATCH, /* freed when the call returns */
	MPK_MEMORY_RESULT,  /* passed to the caller */
	MPK_MEMORY_CACHE,   /* keys and values or states of a sequence, for later calls */
};

/* One allocation of a call. */
struct mpk_memory_storage {
	uint64_t bytes;
	enum mpk_memory_kind kind;
	bool at_least;     /* an extent of a tensor in it is not known: it has at least `bytes` */
	int64_t device;    /* number of one of the model's devices; 0: the main device */
	size_t first, end; /* steps [first, end) during which it is allocated */
	struct mpk_type type; /* type of its first tensor */
	size_t tensor_count;  /* tensors in it, one after the other or side by side */
};

/* A kernel or a builtin that works on tensors, in the order of the call. */
struct mpk_memory_step {
	struct mpk_span name;
	int64_t instruction; /* index of the instruction; -1: a node of a graph */
	uint64_t bytes;      /* bytes of all storages during the step */
};

/* A function of a model. */
struct mpk_function_memory {
	const struct mpk_signature *signature;
	uint64_t input_bytes; /* owned by the caller */
	uint64_t peak_bytes;  /* most bytes of storages at one time */
	/* the step at that time; step_count: between steps */
	size_t peak_step;
	uint64_t peak_of[MPK_MEMORY_CACHE + 1]; /* the parts of peak_bytes, by kind */
	uint64_t result_bytes, cache_bytes;     /* bytes that remain after the call */
	uint64_t total_bytes;                   /* bytes of all storages if no memory were reused */
	const struct mpk_memory_step *steps;
	size_t step_count;
	const struct mpk_memory_storage *storages; /* in the order of their allocation */
	size_t storage_count;
	const struct mpk_extent_value *extents; /* values that were used, each name once */
	size_t extent_count, given_count;       /* the first given_count were given by the caller */
	/* number of extents and sizes that the code does not tell: if not 0, peak_bytes is a lower bound */
	size_t unknown;
	const char *why; /* the first of them, in words; NULL: unknown is 0 */
	/* number of paths that data chooses between; this is the one with the highest peak */
	size_t paths;
};

struct mpk_model_memory {
	uint64_t weight_bytes; /* bytes of tensors in the file */
	size_t weight_count;
	bool is_static; /* storages are allocated once, when the model is loaded: a graph */
	const struct mpk_function_memory *functions;
	size_t function_count;
	size_t most; /* function with the highest sum of inputs and peak; function_count: none */
	/* weights, plus caches, plus inputs and peak of that function */
	uint64_t need_bytes, cache_bytes;
	size_t unknown; /* sum over all functions, plus functions that are left out */
	/* what is left out, in words: "compiled functions, whose code is not read"; NULL: nothing */
	const char *untold;
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

/* model.h - what a caller may call in an executor: names, inputs, outputs */
#ifndef MPK_EXECUTOR_MODEL_H
#define MPK_EXECUTOR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "payload.h"

struct mpk_graph_json; /* graphjson/graphjson.h */

struct mpk_model_tensor {
	struct mpk_span name; /* may be empty */
	bool typed;           /* dtype and shape are known */
	struct mpk_dtype dtype;
	const int64_t *shape;
	size_t ndim;
	/* ndim names: an extent with a name is symbolic, "n", and what stands in shape for it does
	 * not count; it is the same wherever a call has the name. NULL: all are fixed */
	const struct mpk_span *symbols;
};

struct mpk_model {
	struct mpk_span name; /* as --run takes it: "main", "default" */
	bool named_inputs;    /* inputs are set by name (executors), not by position */
	bool outputs_known;
	const struct mpk_model_tensor *inputs; /* parameters that the file has left out */
	size_t input_count;
	const struct mpk_model_tensor *outputs;
	size_t output_count;
	const struct mpk_model_tensor *params; /* what the file fills, and a call may replace by
						* name; NULL: not known, or nothing */
	size_t param_count;
};

struct mpk_models {
	const struct mpk_model *items;
	size_t count;
	const struct mpk_graph_json *graph; /* of a graph executor, else NULL */
};

/* mpk_models_of - the callable functions of an executor's payload, in stored order
 * @p       decoded
 * @out     in arena; count 0 for payloads that are no executors
 * Returns  MPK_OK; MPK_E_CORRUPT (a graph that does not parse); MPK_E_NOMEM */
enum mpk_code mpk_models_of(const struct mpk_payload *p, struct mpk_arena *arena,
			    struct mpk_models *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

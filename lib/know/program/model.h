/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - what a caller may call in an executor: names, inputs, outputs */
#ifndef MPK_PROGRAM_MODEL_H
#define MPK_PROGRAM_MODEL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "payload.h"
#include "signature/signature.h"

struct mpk_graph_json; /* graphjson/graphjson.h */

struct mpk_models {
	const struct mpk_signature *items;
	size_t count;
	const struct mpk_graph_json *graph; /* of a graph executor, else NULL */
};

/* mpk_models_of - the callable functions of an executor's payload, in stored order
 * @p       decoded
 * @out     in arena; count 0 for payloads that are no executors
 * Returns  MPK_OK; MPK_E_CORRUPT (a graph that does not parse); MPK_E_NOMEM */
enum mpk_code mpk_models_of(const struct mpk_payload *p, struct mpk_arena *arena,
			    struct mpk_models *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_model_is_kind - whether modules of a kind are models, to whose functions an executor can be found: of
 * each kind with that role there is one in run/executor */
bool mpk_model_is_kind(struct mpk_span kind);

/* mpk_model_has - whether a caller finds a function of that name in an executor's payload; nothing is
 * read but names */
bool mpk_model_has(const struct mpk_payload *p, struct mpk_span name);

#endif

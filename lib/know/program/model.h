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
	const struct mpk_graph_json *graph; /* the graph of a graph executor, else NULL */
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

/* mpk_relax_signatures - of each function that can be called: byte code and compiled
 * A function in byte code begins with checks of its parameters; what it returns is followed from
 * where it is made as far as there are no branches. Of compiled functions only the texts of their
 * checks say something. Byte code that makes no sense gives no types.
 * @x       need not have passed mpk_relax_check
 * @out     x->func_count places; receives *count signatures in table order, in arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_signatures(const struct mpk_relax *x, struct mpk_arena *arena,
				   struct mpk_signature *out, size_t *count,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relay_signatures - of each function, x->func_count of them: the names of its inputs, and no types
 * @out     in arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relay_signatures(const struct mpk_relay *x, struct mpk_arena *arena,
				   const struct mpk_signature **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif

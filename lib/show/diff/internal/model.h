/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - what differs between two models: byte code by function, graphs by node, tensors */
#ifndef MPK_DIFF_INTERNAL_MODEL_H
#define MPK_DIFF_INTERNAL_MODEL_H

#include "diff/internal/list.h"
#include "graphjson/graphjson.h"
#include "relaxvm/relaxvm.h"

/* mpk_diff_listings - two listings of byte code (mpk_relax_dump, mpk_relay_dump), function by function,
 * an instruction a line; numbers of instructions do not count */
void mpk_diff_listings(struct mpk_differ *d, struct mpk_span a, struct mpk_span b);

/* mpk_diff_constants - the constant pools of two executables of the Relax machine as lists of lines:
 * shapes, types, texts and numbers, and of tensors their types */
void mpk_diff_constants(struct mpk_differ *d, const struct mpk_relax *a, const struct mpk_relax *b);

/* mpk_diff_graphs - two graphs, node by node: operator, inputs, types, storage
 * Returns  whether a difference was found */
bool mpk_diff_graphs(struct mpk_differ *d, const struct mpk_graph_json *a,
		     const struct mpk_graph_json *b);

/* mpk_diff_tensors - two tensors of one name */
void mpk_diff_tensors(struct mpk_differ *d, struct mpk_span name, const struct mpk_tensor_record *a,
		      const struct mpk_tensor_record *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - what differs between two models: byte code by function, graphs by node, tensors */
#ifndef MPK_DIFF_INTERNAL_MODEL_H
#define MPK_DIFF_INTERNAL_MODEL_H

#include "diff/diff.h"

/* mpk_diff_listings - two listings of byte code (mpk_relax_dump, mpk_relay_dump), function by function,
 * an instruction a line; numbers of instructions do not count */
void mpk_diff_listings(struct mpk_differ *d, struct mpk_span a, struct mpk_span b);

/* mpk_diff_tensors - two tensors of one name */
void mpk_diff_tensors(struct mpk_differ *d, struct mpk_span name, const struct mpk_tensor_record *a,
		      const struct mpk_tensor_record *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - a model compiled ahead of time as a program */
#ifndef MPK_EXECUTOR_AOT_INTERNAL_LOAD_H
#define MPK_EXECUTOR_AOT_INTERNAL_LOAD_H

#include "executor/static/model.h"

/* mpk_aot_load - one call of the model's entry, with the tensors that its metadata names
 * Asks the library's code for the metadata. Parameters are those of the factory.
 * Returns  as mpk_static_load_fn; MPK_E_CORRUPT, MPK_E_UNSUPPORTED: as mpk_aot_metadata_read, sizes
 *          beyond 2^63; MPK_E_RAISED: by get_c_metadata */
enum mpk_code mpk_aot_load(struct mpk_node_module *node, const struct mpk_factory *factory,
			   struct mpk_static_program **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - a factory's node as a module: one function, which runs the model
 *
 * The loaders of graph and AOT executors differ in how a factory becomes a program; the rest is here.
 */
#ifndef MPK_EXECUTOR_STATIC_INTERNAL_MODEL_H
#define MPK_EXECUTOR_STATIC_INTERNAL_MODEL_H

#include "executor/static/internal/program.h"
#include "factory/factory.h"

/* Makes a program of a factory: what a factory's payload says, and what the node imports.
 * Returns  MPK_OK, one reference in *out; MPK_E_CORRUPT, MPK_E_UNSUPPORTED: what the factory says;
 *          MPK_E_LOAD: a function that nobody has; what made an import fail; MPK_E_NOMEM */
typedef enum mpk_code mpk_static_load_fn(struct mpk_node_module *node,
					 const struct mpk_factory *factory,
					 struct mpk_static_program **out, struct mpk_error *err);

/* mpk_static_model_open - as a loader's open: decode the factory
 * @load    makes the program, when the model is first looked up
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_static_model_open(struct mpk_node_module *node, mpk_static_load_fn *load,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_model_find - as a loader's find: the model by the factory's name for it, bound to a
 * machine on the devices that the runtime has for models at that time
 * Returns  MPK_OK; as load and mpk_static_machine_create */
enum mpk_code mpk_static_model_find(struct mpk_node_module *node, const char *name,
				    struct mpk_function **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_model_name_at, mpk_static_model_close - as a loader's */
bool mpk_static_model_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out);
void mpk_static_model_close(struct mpk_node_module *node);

#endif

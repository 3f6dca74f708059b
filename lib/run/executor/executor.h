/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h - executors: loaders for the kinds of modules that are interpreted, which are models
 *
 * An executor is a loader (runtime/runtime.h) for one kind of node. It decodes the payload, looks
 * up kernels in the node's imports, and provides functions. It works on values, storages and
 * functions only, without files, child processes or printing. */
#ifndef MPK_EXECUTOR_EXECUTOR_H
#define MPK_EXECUTOR_EXECUTOR_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "value/module.h"
#include "value/tensor.h"

/* mpk_executors_add - add to a runtime every executor of the profile (device/profile.h) and the
 * global functions that kernels of models call (contrib/contrib.h)
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_executors_add(struct mpk_runtime *runtime, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_executors_have - whether there is an executor for modules of a kind */
bool mpk_executors_have(struct mpk_span kind);

/* --- models whose tensors and memory are laid out before they run: graph and AOT executors ---- */

/* Loads GraphExecutorFactory and GraphRuntimeFactory. Provides one function under the factory's
 * name for it, usually "default". The function takes the inputs that are not parameters, and
 * parameters by name, and returns the graph's outputs. */
extern const struct mpk_loader mpk_graph_executor;

/* Loads AotExecutorFactory, with one function as above. Such models always run on the CPU. */
extern const struct mpk_loader mpk_aot_executor;

/* --- models of the Relax VM: relax.VMExecutable, relax.Executable ----------------------------- */

/* Provides the functions in byte code and the compiled functions, bound to a machine on the devices
 * that the runtime has for models (mpk_runtime_set_devices). */
extern const struct mpk_loader mpk_relax_executor;

/* mpk_relax_add_globals - add the global functions that compiled functions look up
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_add_globals(struct mpk_runtime *runtime,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* --- models of the Relay VM, TVM 0.8 - 0.19: VMExecutable ------------------------------------- */

/* Provides the functions of the executable by name, bound to a machine on the devices that the
 * runtime has for models (mpk_runtime_set_devices). They take arguments by position or by name. */
extern const struct mpk_loader mpk_relay_executor;

/* A value for a constant that the executable names but does not contain. */
struct mpk_relay_binding {
	struct mpk_span name;
	struct mpk_tensor *tensor; /* in host memory */
};

/* mpk_relay_bind - give an executable its late-bound constants, before its first function is looked
 * up
 * Looking up a function fails if it needs a constant that was not bound.
 * @module  the executable's own module, usually the root of a library
 * @bindings names that the executable does not have are ignored, so that a file of all parameters
 *          may be passed. If a name occurs twice, the last binding counts. Tensors get a reference
 * Returns  MPK_OK; MPK_E_USAGE: a module of another kind, or a tensor that is not in host memory;
 *          MPK_E_CONFLICT: functions were looked up before; errors of loading the executable
 *          (MPK_E_CORRUPT, ...); MPK_E_NOMEM */
enum mpk_code mpk_relay_bind(struct mpk_module *module, const struct mpk_relay_binding *bindings,
			     size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* Finds the value of a constant: one reference in *out, or NULL if there is no constant of that
 * name. */
typedef enum mpk_code mpk_relay_find_fn(void *user, struct mpk_span name, struct mpk_tensor **out,
					struct mpk_error *err);

/* mpk_relay_bind_library - bind constants of all executables in a library; only the needed tensors
 * are looked up
 * Returns  MPK_OK, also for a library without such executables; as mpk_relay_bind; errors of find */
enum mpk_code mpk_relay_bind_library(struct mpk_library *library, mpk_relay_find_fn *find,
				     void *user, struct mpk_error *err) MPK_MUST_CHECK;

#endif

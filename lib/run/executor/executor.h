/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h - kinds of modules that are interpreted: models
 *
 * An executor is a loader (runtime/runtime.h) for one kind of node: it decodes the payload, finds
 * the kernels in what the node imports, and gives functions. It knows values, storages and
 * functions; no file, no child process and no text.
 */
#ifndef MPK_EXECUTOR_EXECUTOR_H
#define MPK_EXECUTOR_EXECUTOR_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "value/module.h"
#include "value/tensor.h"

/* mpk_executors_add - let a runtime bring models to life: every executor of the profile (device/profile.h), and
 * the global functions that their kernels call (contrib/contrib.h)
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_executors_add(struct mpk_runtime *runtime, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_executors_have - whether there is an executor for modules of a kind */
bool mpk_executors_have(struct mpk_span kind);

/* --- models whose tensors and memory are laid out before they run: graph and AOT executors ---- */

/* GraphExecutorFactory, GraphRuntimeFactory. Gives one function, by the name that the factory has for
 * it, usually "default": it takes the inputs that no parameter fills, and parameters by name, and
 * returns the graph's outputs. */
extern const struct mpk_loader mpk_graph_executor;

/* AotExecutorFactory. Gives one function in the same way. Such models run on the CPU, whatever other
 * devices there are. */
extern const struct mpk_loader mpk_aot_executor;

/* --- models of the Relax VM: relax.VMExecutable, relax.Executable ----------------------------- */

/* Gives the functions that are byte code or compiled, bound to a machine on the devices that the
 * runtime has for models (mpk_runtime_set_devices). */
extern const struct mpk_loader mpk_relax_executor;

/* mpk_relax_add_globals - what compiled functions look up as global functions
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_add_globals(struct mpk_runtime *runtime,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* --- models of the Relay VM, TVM 0.8 - 0.19: VMExecutable ------------------------------------- */

/* Gives the functions of the executable by name, bound to a machine on the devices that the runtime
 * has for models (mpk_runtime_set_devices). They take their arguments by position or by name. */
extern const struct mpk_loader mpk_relay_executor;

/* A value for a constant that the executable names and does not have. */
struct mpk_relay_binding {
	struct mpk_span name;
	struct mpk_tensor *tensor; /* in host memory */
};

/* mpk_relay_bind - give an executable its late-bound constants, before a function of it is looked up
 * A function that needs a constant which was not bound is refused when it is looked up.
 * @module  the executable's own: the root of a library, as a rule
 * @bindings names that the executable does not have are left aside, so a file of all parameters may
 *          be passed; of a name given twice the last counts. Tensors are held
 * Returns  MPK_OK; MPK_E_USAGE: a module of another kind, or a tensor that is not in host memory;
 *          MPK_E_CONFLICT: functions were looked up before; what made the executable fail to load
 *          (MPK_E_CORRUPT, ...); MPK_E_NOMEM */
enum mpk_code mpk_relay_bind(struct mpk_module *module, const struct mpk_relay_binding *bindings,
			     size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* Finds the value of a constant: one reference in *out, NULL when there is none of that name. */
typedef enum mpk_code mpk_relay_find_fn(void *user, struct mpk_span name, struct mpk_tensor **out,
					struct mpk_error *err);

/* mpk_relay_bind_library - the same for every executable of a library that names constants which it does not have,
 * with tensors that are looked up: only those that are needed are asked for
 * Returns  MPK_OK, also for a library without such executables; as mpk_relay_bind; what find returned */
enum mpk_code mpk_relay_bind_library(struct mpk_library *library, mpk_relay_find_fn *find,
				     void *user, struct mpk_error *err) MPK_MUST_CHECK;

#endif

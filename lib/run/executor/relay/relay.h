/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - models of the Relay VM, TVM 0.8 - 0.19: VMExecutable */
#ifndef MPK_EXECUTOR_RELAY_RELAY_H
#define MPK_EXECUTOR_RELAY_RELAY_H

#include "base/error.h"
#include "base/span.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "value/module.h"
#include "value/tensor.h"

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

struct mpk_node_module;
struct mpk_relay_vm;

/* mpk_relay_machine_of - the machine that functions of an executable's node are bound to now; NULL
 * before the first was looked up. Borrowed */
struct mpk_relay_vm *mpk_relay_machine_of(const struct mpk_node_module *node);

#endif

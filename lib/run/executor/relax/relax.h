/* SPDX-License-Identifier: Apache-2.0 */
/* relax.h - models of the Relax VM: relax.VMExecutable, relax.Executable */
#ifndef MPK_EXECUTOR_RELAX_RELAX_H
#define MPK_EXECUTOR_RELAX_RELAX_H

#include "runtime/runtime.h"

/* Gives the functions that are byte code or compiled, bound to a machine on the devices that the
 * runtime has for models (mpk_runtime_set_devices). */
extern const struct mpk_loader mpk_relax_executor;

struct mpk_node_module;
struct mpk_relax_vm;

/* mpk_relax_machine_of - the machine that functions of an executable's node are bound to now; NULL
 * before the first was looked up. Borrowed */
struct mpk_relax_vm *mpk_relax_machine_of(const struct mpk_node_module *node);

/* mpk_relax_add_globals - what compiled functions look up as global functions
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_add_globals(struct mpk_runtime *runtime,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* aot.h - models that were compiled ahead of time: AotExecutorFactory */
#ifndef MPK_EXECUTOR_AOT_AOT_H
#define MPK_EXECUTOR_AOT_AOT_H

#include "runtime/runtime.h"

/* Gives one function, by the name that the factory has for it, usually "default". Such models run
 * on the CPU, whatever other devices there are. */
extern const struct mpk_loader mpk_aot_executor;

#endif

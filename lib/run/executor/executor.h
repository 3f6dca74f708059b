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
#include "runtime/runtime.h"

/* mpk_executors_add - let a runtime bring models to life: every executor of the profile (device/profile.h), and
 * the global functions that their kernels call (contrib/contrib.h)
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_executors_add(struct mpk_runtime *runtime, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_executors_have - whether there is an executor for modules of a kind */
bool mpk_executors_have(struct mpk_span kind);

#endif

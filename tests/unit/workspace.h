/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - scratch memory as compiled code has it: by the names of the functions that it imports */
#ifndef WORKSPACE_H
#define WORKSPACE_H

#include "dtype/dlpack.h"
#include "runtime/internal/runtime.h"

static inline void *workspace_take(int type, int id, uint64_t bytes)
{
	void *(*take)(int, int, uint64_t, int, int) =
		(void *(*)(int, int, uint64_t, int, int))mpk_module_api_find(
			"TVMBackendAllocWorkspace", MPK_API_BACKEND);

	return take(type, id, bytes, MPK_DTYPE_INT, 8);
}

static inline int workspace_give(int type, int id, void *data)
{
	int (*give)(int, int, void *) = (int (*)(int, int, void *))mpk_module_api_find(
		"TVMBackendFreeWorkspace", MPK_API_BACKEND);

	return give(type, id, data);
}

/* Of the processor's. */
static inline void workspace_use(uint64_t bytes)
{
	(void)workspace_give(MPK_DL_CPU, 0, workspace_take(MPK_DL_CPU, 0, bytes));
}

#endif

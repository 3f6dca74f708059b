/* SPDX-License-Identifier: Apache-2.0 */
/* The backend functions that compiled code of every generation imports by name. */
#include "runtime/stub/export.h"

STUB_TABLE;

STUB int TVMBackendGetFuncFromEnv(void *ctx, const char *name, void **out)
{
	return table->get_func_from_env(ctx, name, out);
}

STUB void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes, int code,
				    int bits)
{
	return table->alloc_workspace(device_type, device_id, bytes, code, bits);
}

STUB int TVMBackendFreeWorkspace(int device_type, int device_id, void *data)
{
	return table->free_workspace(device_type, device_id, data);
}

STUB int TVMBackendParallelLaunch(mpk_parallel_fn *fn, void *data, int num_task)
{
	return table->parallel_launch(fn, data, num_task);
}

STUB int TVMBackendParallelBarrier(int task, struct mpk_parallel_env *env)
{
	return table->parallel_barrier(task, env);
}

STUB int TVMBackendRunOnce(void **slot, int (*fn)(void *), void *data, int bytes)
{
	return table->run_once(slot, fn, data, bytes);
}

STUB int TVMBackendRegisterSystemLibSymbol(const char *name, void *address)
{
	return table->register_symbol(name, address);
}

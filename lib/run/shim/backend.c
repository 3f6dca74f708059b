/* The backend functions that compiled code of every generation imports by name. */
#include "run/shim/shim.h"

SHIM_TABLE;

SHIM int TVMBackendGetFuncFromEnv(void *ctx, const char *name, void **out)
{
	return table->get_func_from_env(ctx, name, out);
}

SHIM void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes,
				    int code, int bits)
{
	return table->alloc_workspace(device_type, device_id, bytes, code, bits);
}

SHIM int TVMBackendFreeWorkspace(int device_type, int device_id, void *data)
{
	return table->free_workspace(device_type, device_id, data);
}

SHIM int TVMBackendParallelLaunch(mpk_parallel_fn *fn, void *data, int num_task)
{
	return table->parallel_launch(fn, data, num_task);
}

SHIM int TVMBackendParallelBarrier(int task, struct mpk_parallel_env *env)
{
	return table->parallel_barrier(task, env);
}

SHIM int TVMBackendRunOnce(void **slot, int (*fn)(void *), void *data, int bytes)
{
	return table->run_once(slot, fn, data, bytes);
}

SHIM int TVMBackendRegisterSystemLibSymbol(const char *name, void *address)
{
	return table->register_symbol(name, address);
}

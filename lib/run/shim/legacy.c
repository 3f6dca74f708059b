/* The C API of TVM up to 0.20 that compiled code imports by name. */
#include "run/shim/shim.h"

SHIM_TABLE;

SHIM int TVMFuncCall(void *function, union mpk_tvm_value *args, int *codes, int count,
		     union mpk_tvm_value *result, int *result_code)
{
	return table->tvm_call(function, args, codes, count, result, result_code);
}

SHIM void TVMAPISetLastError(const char *message)
{
	table->tvm_set_last_error(message);
}

SHIM const char *TVMGetLastError(void)
{
	return table->tvm_get_last_error();
}

SHIM int TVMFuncGetGlobal(const char *name, void **out)
{
	return table->tvm_get_global(name, out);
}

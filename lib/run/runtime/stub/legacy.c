/* SPDX-License-Identifier: Apache-2.0 */
/* The C API of TVM up to 0.20 that compiled code imports by name. */
#include "runtime/stub/export.h"

STUB_TABLE;

STUB int TVMFuncCall(void *function, union mpk_tvm_value *args, int *codes, int count,
		     union mpk_tvm_value *result, int *result_code)
{
	return table->tvm_call(function, args, codes, count, result, result_code);
}

STUB void TVMAPISetLastError(const char *message)
{
	table->tvm_set_last_error(message);
}

STUB const char *TVMGetLastError(void)
{
	return table->tvm_get_last_error();
}

STUB int TVMFuncGetGlobal(const char *name, void **out)
{
	return table->tvm_get_global(name, out);
}

STUB int TVMBackendAnyListSetPackedArg(void *list, int index, union mpk_tvm_value *args, int *codes,
				       int at)
{
	return table->tvm_list_set_arg(list, index, args, codes, at);
}

STUB int TVMBackendAnyListMoveFromPackedReturn(void *list, int index, union mpk_tvm_value *args,
					       int *codes, int at)
{
	return table->tvm_list_move(list, index, args, codes, at);
}

STUB int TVMBackendAnyListResetItem(void *list, int index)
{
	return table->tvm_list_reset(list, index);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The part of tvm-ffi's C API that compiled code (not C++ code) imports by name. */
#include "runtime/stub/export.h"

STUB_TABLE;

STUB int TVMFFIFunctionCall(void *function, struct mpk_ffi_any *args, int32_t count,
			    struct mpk_ffi_any *result)
{
	return table->ffi_call(function, args, count, result);
}

STUB void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message)
{
	table->ffi_raise(kind, message);
}

STUB void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count)
{
	table->ffi_raise_parts(kind, parts, count);
}

STUB void TVMFFIErrorSetRaised(void *error)
{
	table->ffi_raise_object(error);
}

STUB void TVMFFIErrorMoveFromRaised(void **out)
{
	table->ffi_move_raised(out);
}

STUB int TVMFFIErrorCreate(const struct mpk_ffi_bytes *kind, const struct mpk_ffi_bytes *message,
			   const struct mpk_ffi_bytes *backtrace, void **out)
{
	(void)backtrace;
	return table->ffi_make_error(kind, message, out);
}

STUB int TVMFFIEnvModLookupFromImports(void *ctx, const char *name, void **out)
{
	return table->get_func_from_env(ctx, name, out);
}

STUB int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *address)
{
	return table->register_symbol(name, address);
}

STUB int TVMFFIHandleInitOnce(void **slot, int (*init)(void **result))
{
	return table->ffi_init_once(slot, init);
}

STUB int TVMFFIHandleDeinitOnce(void **slot, int (*deinit)(void *handle))
{
	return table->ffi_deinit_once(slot, deinit);
}

STUB int TVMFFIObjectIncRef(void *object)
{
	return table->ffi_hold(object);
}

STUB int TVMFFIObjectDecRef(void *object)
{
	return table->ffi_drop(object);
}

/* 0.21's name for it */
STUB int TVMFFIObjectFree(void *object)
{
	return table->ffi_drop(object);
}

STUB int TVMFFIFunctionGetGlobal(const struct mpk_ffi_bytes *name, void **out)
{
	return table->ffi_get_global(name, out);
}

STUB int TVMFFIStringFromByteArray(const struct mpk_ffi_bytes *text, struct mpk_ffi_any *out)
{
	return table->ffi_make_text(text, out, 0);
}

STUB int TVMFFIBytesFromByteArray(const struct mpk_ffi_bytes *text, struct mpk_ffi_any *out)
{
	return table->ffi_make_text(text, out, 1);
}

STUB int TVMFFIAnyViewToOwnedAny(const struct mpk_ffi_any *view, struct mpk_ffi_any *out)
{
	return table->ffi_own(view, out);
}

/* Streams belong to devices; host code asks on the CPU only, where there is none. */
STUB void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id)
{
	(void)device_type;
	(void)device_id;
	return NULL;
}

STUB int TVMBackendAnyListSetPackedArg(void *list, int index, struct mpk_ffi_any *args, int at)
{
	return table->ffi_list_set_arg(list, index, args, at);
}

STUB int TVMBackendAnyListMoveFromPackedReturn(void *list, int index, struct mpk_ffi_any *args,
					       int at)
{
	return table->ffi_list_move(list, index, args, at);
}

STUB int TVMBackendAnyListResetItem(void *list, int index)
{
	return table->ffi_list_reset(list, index);
}

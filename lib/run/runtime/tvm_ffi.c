/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/internal/tvm_ffi.h"

#include <dlfcn.h>
#include <string.h>

#include "abi/convention.h"
#include "base/strbuf.h"
#include "text/escape.h"

static struct mpk_ffi_real api;

/* C functions of tvm-ffi that need its type registry: compiled C++ code calls them. */
static bool is_registry_function(const char *name)
{
	static const char *const names[] = {
		"TVMFFIGetTypeInfo",       "TVMFFIBacktrace",          "TVMFFITypeGetOrAllocIndex",
		"TVMFFITypeKeyToIndex",    "TVMFFIFunctionCreate",     "TVMFFIFunctionSetGlobal",
		"TVMFFITypeRegisterField", "TVMFFITypeRegisterMethod",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool mpk_tvm_ffi_is_needed(const struct mpk_host_code *code)
{
	for (size_t i = 0; i < code->needed_count; i++)
		if (strcmp(code->needed[i], MPK_TVM_FFI_SONAME) == 0)
			return true;
	for (size_t i = 0; i < code->undefined_count; i++)
		if (is_registry_function(code->undefined[i]))
			return true;
	return false;
}

bool mpk_tvm_ffi_is_loaded(void)
{
	void *handle = dlopen(MPK_TVM_FFI_SONAME, RTLD_LAZY | RTLD_NOLOAD);

	if (handle)
		(void)dlclose(handle);
	return handle != NULL;
}

static enum mpk_code use(void *handle, struct mpk_error *err)
{
	void *move = dlsym(handle, "TVMFFIErrorMoveFromRaised");
	void *raise = dlsym(handle, "TVMFFIErrorSetRaisedFromCStr");
	void *get_global = dlsym(handle, "TVMFFIFunctionGetGlobal");

	/* 0.21 has no version function, and objects of another layout */
	if (!move || !raise || !get_global || !dlsym(handle, "TVMFFIGetVersion"))
		return mpk_fail(err, MPK_E_LOAD,
				"the " MPK_TVM_FFI_SONAME
				" that was found has not the C API of apache-tvm-ffi");
	api.move_raised = MPK_CODE(mpk_ffi_move_raised_fn, move);
	api.raise = MPK_CODE(mpk_ffi_raise_fn, raise);
	api.get_global = MPK_CODE(mpk_ffi_get_global_fn, get_global);
	mpk_conv_use_real(&api);
	return MPK_OK;
}

static void *try_open(const char *path)
{
	return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

static enum mpk_code not_found(const struct mpk_tvm_ffi_search *search, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf places = { 0 };

	mpk_strbuf_puts(&places, "the dynamic linker's path");
	for (size_t i = 0; i < search->path_count; i++)
		mpk_strbuf_printf(&places, ", %s", MPK_QUOTE(mpk_span_str(search->paths[i])));
	return mpk_fail(
		err, MPK_E_LOAD,
		"it needs " MPK_TVM_FFI_SONAME
		", looked for in: %s; get it with 'pip install apache-tvm-ffi' and name it with --tvm-ffi PATH",
		mpk_strbuf_text(&places));
}

enum mpk_code mpk_tvm_ffi_open(const struct mpk_tvm_ffi_search *search, struct mpk_error *err)
{
	void *handle;

	if (search->explicit_path) {
		handle = try_open(search->explicit_path);
		if (!handle)
			return mpk_fail(err, MPK_E_LOAD,
					"it needs " MPK_TVM_FFI_SONAME
					", and the one named cannot be opened: %s",
					MPK_QUOTE(mpk_span_str(dlerror())));
		return use(handle, err);
	}
	handle = try_open(MPK_TVM_FFI_SONAME);
	for (size_t i = 0; i < search->path_count && !handle; i++)
		handle = try_open(search->paths[i]);
	return handle ? use(handle, err) : not_found(search, err);
}

bool mpk_tvm_ffi_global(const char *name, void **out)
{
	struct mpk_ffi_bytes key = { name, strlen(name) };

	*out = NULL;
	return api.get_global && api.get_global(&key, out) == 0 && *out;
}

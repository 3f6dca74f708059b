/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - opening the shared object of a library, and what must be open before it
 *
 * Module code imports functions of its loader by name, so the runtime stubs come first, then the
 * library, then the check of its symbols: the dynamic linker names one that is missing, this names
 * all. Two implementations of tvm-ffi must not meet in a process. When a library needs the real
 * libtvm_ffi.so our stub of it stays out, and where that shows too late the caller has to begin
 * again in a fresh process.
 */
#include "runtime/internal/runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "abi/convention.h"
#include "base/strbuf.h"
#include "runtime/segments.h"
#include "text/escape.h"

/* --- the real libtvm_ffi.so ------------------------------------------------------------------ */

static struct mpk_ffi_real real_api;

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

/* Whether the library itself names it, or imports functions of
 * tvm-ffi that only the real one has */
static bool needs_real(const struct mpk_host_code *code)
{
	for (size_t i = 0; i < code->needed_count; i++)
		if (strcmp(code->needed[i], MPK_TVM_FFI_SONAME) == 0)
			return true;
	for (size_t i = 0; i < code->undefined_count; i++)
		if (is_registry_function(code->undefined[i]))
			return true;
	return false;
}

/* Whether it is in this process */
static bool is_real_loaded(void)
{
	void *handle = dlopen(MPK_TVM_FFI_SONAME, RTLD_LAZY | RTLD_NOLOAD);

	if (handle)
		(void)dlclose(handle);
	return handle != NULL;
}

/* Only what is called here; all other functions are called by the library itself. */
static enum mpk_code use_real(void *handle, struct mpk_error *err)
{
	void *move = dlsym(handle, "TVMFFIErrorMoveFromRaised");
	void *raise = dlsym(handle, "TVMFFIErrorSetRaisedFromCStr");
	void *get_global = dlsym(handle, "TVMFFIFunctionGetGlobal");

	/* 0.21 has no version function, and objects of another layout */
	if (!move || !raise || !get_global || !dlsym(handle, "TVMFFIGetVersion"))
		return mpk_fail(err, MPK_E_LOAD,
				"the " MPK_TVM_FFI_SONAME
				" that was found has not the C API of apache-tvm-ffi");
	real_api.move_raised = MPK_CODE(mpk_ffi_move_raised_fn, move);
	real_api.raise = MPK_CODE(mpk_ffi_raise_fn, raise);
	real_api.get_global = MPK_CODE(mpk_ffi_get_global_fn, get_global);
	mpk_conv_use_real(&real_api);
	return MPK_OK;
}

static void *try_open_real(const char *path)
{
	return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

/* With each place that was searched, and how to get it. */
static enum mpk_code fail_no_real(const struct mpk_tvm_ffi_search *search, struct mpk_error *err)
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

/* Find it, open it for all, and use it from now on
 * Returns  MPK_OK; MPK_E_LOAD: not found, with every place that was tried and how to get
 *          it, or one whose C API is not the one we know */
static enum mpk_code open_real(const struct mpk_tvm_ffi_search *search, struct mpk_error *err)
{
	void *handle;

	if (search->explicit_path) {
		handle = try_open_real(search->explicit_path);
		if (!handle)
			return mpk_fail(err, MPK_E_LOAD,
					"it needs " MPK_TVM_FFI_SONAME
					", and the one named cannot be opened: %s",
					MPK_QUOTE(mpk_span_str(dlerror())));
		return use_real(handle, err);
	}
	handle = try_open_real(MPK_TVM_FFI_SONAME);
	for (size_t i = 0; i < search->path_count && !handle; i++)
		handle = try_open_real(search->paths[i]);
	return handle ? use_real(handle, err) : fail_no_real(search, err);
}

/* Functions that the real registry has and this program has not, such as those of Python
 * packages. */
bool mpk_tvm_ffi_global(const char *name, void **out)
{
	struct mpk_ffi_bytes key = { name, strlen(name) };

	*out = NULL;
	return real_api.get_global && real_api.get_global(&key, out) == 0 && *out;
}

/* --- the stubs ------------------------------------------------------------------------------- */

/* RTLD_GLOBAL, as the library is to find the functions; opening one again only binds it again. */
static enum mpk_code open_stub(const char *dir, const char *name, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf path = { 0 };
	void *handle, *bind;

	mpk_strbuf_printf(&path, "%s/mpk-%s.so", dir, name);
	MPK_TRY(mpk_strbuf_status(&path, err));
	handle = dlopen(path.data, RTLD_NOW | RTLD_GLOBAL);
	bind = handle ? dlsym(handle, MPK_STUB_BIND) : NULL;
	if (!bind)
		return mpk_fail(
			err, MPK_E_LOAD,
			"the program's own runtime part cannot be opened (is the installation complete?): %s",
			MPK_QUOTE(mpk_span_str(dlerror())));
	((mpk_stub_bind_fn *)(uintptr_t)bind)(mpk_module_api());
	return MPK_OK;
}

/* "x.so" would be searched in the linker's path; a file in memory has no path at all. */
static void library_path(const struct mpk_host *host, struct mpk_strbuf *out)
{
	const char *path = host->code.path;

	mpk_strbuf_printf(out, "%s%s", strchr(path, '/') ? "" : "./", path);
}

/* --- symbols nobody has ------------------------------------------------------------- */

/* What RTLD_LAZY left open would end the process at the first call. */
static bool is_resolved(const struct mpk_host *host, const char *name)
{
	const struct mpk_host_code *code = &host->code;
	bool found = dlsym(RTLD_DEFAULT, name) || (host->handle && dlsym(host->handle, name));

	/* when the library could not be opened its needs are asked one by one */
	for (size_t i = 0; i < code->needed_count && !found && !host->handle; i++) {
		void *needed = dlopen(code->needed[i], RTLD_LAZY | RTLD_LOCAL);

		found = needed && dlsym(needed, name);
		if (needed)
			(void)dlclose(needed);
	}
	return found;
}

/* All of them, since each may come from another library that is missing. */
static size_t list_unresolved(const struct mpk_host *host, struct mpk_strbuf *list)
{
	const struct mpk_host_code *code = &host->code;
	size_t count = 0;

	for (size_t i = 0; i < code->undefined_count; i++) {
		if (is_resolved(host, code->undefined[i]))
			continue;
		mpk_strbuf_printf(list, "%s%s", count ? ", " : "",
				  MPK_QUOTE(mpk_span_str(code->undefined[i])));
		count++;
	}
	return count;
}

static enum mpk_code check_symbols(const struct mpk_host *host, const char *why,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf list = { 0 };
	size_t count = list_unresolved(host, &list);

	if (count)
		return mpk_fail(err, MPK_E_LOAD, "nobody defines %zu symbol%s that it imports: %s",
				count, count == 1 ? "" : "s", mpk_strbuf_text(&list));
	if (why)
		return mpk_fail(err, MPK_E_LOAD, "%s", MPK_QUOTE(mpk_span_str(why)));
	return MPK_OK;
}

/* --- the library -------------------------------------------------------------------- */

/* What constructors register belongs to the library whose constructors run. */
static void run_constructors(struct mpk_host *host, const char *path, char *why, size_t size)
{
	struct mpk_context context = mpk_host_context(host), before;

	context.loading = host;
	before = mpk_context_swap(context);
	host->handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!host->handle)
		(void)snprintf(why, size, "%s", dlerror());
	(void)mpk_context_swap(before);
}

/* RTLD_LAZY: functions that are missing are all listed afterwards, instead of the first one by
 * the linker. */
static enum mpk_code open_library(struct mpk_host *host, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf path = { 0 };
	char why[512];

	library_path(host, &path);
	MPK_TRY(mpk_strbuf_status(&path, err));
	run_constructors(host, path.data, why, sizeof why);
	if (host->handle && !mpk_host_claim(host))
		return mpk_fail(err, MPK_E_CONFLICT, "it is open in this process already");
	if (host->handle)
		return check_symbols(host, NULL, err);

	/* the message begins with the path, which the caller puts in front anyway */
	const char *text = strncmp(why, path.data, path.len) == 0 ? why + path.len + 2 : why;
	if (strstr(text, "undefined symbol"))
		return check_symbols(host, text, err);
	return mpk_fail(err, MPK_E_LOAD, "%s", MPK_QUOTE(mpk_span_str(text)));
}

/* The context in a direct import goes to the real look-up, which knows no module of
 * ours. */
static bool looks_up_directly(const struct mpk_host_code *code)
{
	for (size_t i = 0; i < code->undefined_count; i++)
		if (strcmp(code->undefined[i], "TVMFFIEnvModLookupFromImports") == 0)
			return true;
	return false;
}

/* Whether the file names it itself. */
static bool is_linked(const struct mpk_host_code *code)
{
	for (size_t i = 0; i < code->needed_count; i++)
		if (strcmp(code->needed[i], MPK_TVM_FFI_SONAME) == 0)
			return true;
	return false;
}

/* The library stays open: C++ code of it has registered types and functions with the real one. */
static enum mpk_code open_with_real(struct mpk_host *host, struct mpk_error *err)
{
	const struct mpk_runtime_options *o = mpk_runtime_options(host->runtime);

	host->stays_open = true;
	if (looks_up_directly(&host->code))
		return mpk_fail(
			err, MPK_E_LOAD,
			"it needs " MPK_TVM_FFI_SONAME
			" and looks its imports up through it; only TVM's own loader can open such a library");
	/* its own run path may lead to the real one, when it was linked with it */
	if (!o->tvm_ffi.explicit_path && is_linked(&host->code) &&
	    open_library(host, NULL) == MPK_OK && is_real_loaded())
		return open_real(&(struct mpk_tvm_ffi_search){ 0 }, err);
	MPK_TRY(open_real(&o->tvm_ffi, err));
	return open_library(host, err);
}

enum mpk_code mpk_host_link(struct mpk_host *host, struct mpk_error *err)
{
	const struct mpk_runtime_options *o = mpk_runtime_options(host->runtime);
	bool legacy = host->code.convention == MPK_CONV_LEGACY;

	MPK_TRY(open_stub(o->stub_dir, "backend", err));
	if (!legacy && (o->use_real_tvm_ffi || needs_real(&host->code)))
		return open_with_real(host, err);
	MPK_TRY(open_stub(o->stub_dir, legacy ? "legacy" : "ffi", err));

	enum mpk_code rc = open_library(host, err);
	/* what it needs may need the real one: then this process can make no calls */
	if (!legacy && !o->use_real_tvm_ffi &&
	    (is_real_loaded() ||
	     (rc == MPK_E_LOAD && err && strstr(err->text, MPK_TVM_FFI_SONAME))))
		return mpk_fail(err, MPK_E_AGAIN, "a needed library needs " MPK_TVM_FFI_SONAME);
	return rc;
}

/* --- memory of a shared object --------------------------------------------------------------- */

struct search {
	uintptr_t code, data;
	size_t room;
};

/* How many bytes of a segment begin at an address; 0 when it is not in it. */
static size_t room_in(const struct dl_phdr_info *object, size_t segment, uintptr_t address)
{
	const ElfW(Phdr) *s = &object->dlpi_phdr[segment];
	uintptr_t start = object->dlpi_addr + s->p_vaddr;

	if (s->p_type != PT_LOAD || !(s->p_flags & PF_R) || address < start ||
	    address - start >= s->p_memsz)
		return 0;
	return s->p_memsz - (address - start);
}

/* Stops at the object that has the code: addresses of others say nothing. */
static int look_into(struct dl_phdr_info *object, size_t size, void *user)
{
	struct search *s = user;
	bool has_code = false;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++)
		has_code |= room_in(object, i, s->code) > 0;
	for (size_t i = 0; has_code && i < object->dlpi_phnum && !s->room; i++)
		s->room = room_in(object, i, s->data);
	return has_code;
}

/* The kernel's list of segments is asked, as reading a pointer that leads nowhere ends the
 * process. */
size_t mpk_segments_room(const void *code, const void *data)
{
	struct search s = { (uintptr_t)code, (uintptr_t)data, 0 };

	(void)dl_iterate_phdr(look_into, &s);
	return s.room;
}

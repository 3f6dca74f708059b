/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - opening the shared object: runtime stubs first, then the library, then the check of its
 * symbols */
#include "runtime/internal/link.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "runtime/internal/module_api.h"
#include "runtime/internal/tvm_ffi.h"
#include "text/escape.h"

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

static bool is_linked(const struct mpk_host_code *code)
{
	for (size_t i = 0; i < code->needed_count; i++)
		if (strcmp(code->needed[i], MPK_TVM_FFI_SONAME) == 0)
			return true;
	return false;
}

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
	    open_library(host, NULL) == MPK_OK && mpk_tvm_ffi_is_loaded())
		return mpk_tvm_ffi_open(&(struct mpk_tvm_ffi_search){ 0 }, err);
	MPK_TRY(mpk_tvm_ffi_open(&o->tvm_ffi, err));
	return open_library(host, err);
}

enum mpk_code mpk_host_link(struct mpk_host *host, struct mpk_error *err)
{
	const struct mpk_runtime_options *o = mpk_runtime_options(host->runtime);
	bool legacy = host->code.convention == MPK_CONV_LEGACY;

	MPK_TRY(open_stub(o->stub_dir, "backend", err));
	if (!legacy && (o->use_real_tvm_ffi || mpk_tvm_ffi_is_needed(&host->code)))
		return open_with_real(host, err);
	MPK_TRY(open_stub(o->stub_dir, legacy ? "legacy" : "ffi", err));

	enum mpk_code rc = open_library(host, err);
	/* what it needs may need the real one: then this process can make no calls */
	if (!legacy && !o->use_real_tvm_ffi &&
	    (mpk_tvm_ffi_is_loaded() ||
	     (rc == MPK_E_LOAD && err && strstr(err->text, MPK_TVM_FFI_SONAME))))
		return mpk_fail(err, MPK_E_AGAIN, "a needed library needs " MPK_TVM_FFI_SONAME);
	return rc;
}

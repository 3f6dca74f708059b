/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - opening the shared object of a library, and giving it the functions that it imports of its loader
 *
 * Module code imports functions by name. Nothing exports them: the library is opened, and their addresses
 * are written into its slots, so that no other code of the process can find them, and that the library finds
 * ours also beside the real runtime. Functions that are bound at their first call may be missing until then.
 * Where the dynamic linker wants one earlier (the file says so, an address was taken, a constructor calls it),
 * a copy of the library is opened in which it may be missing (copy.c).
 *
 * Afterwards all imports are looked for: the dynamic linker names one that is missing, this names all.
 * Two implementations of tvm-ffi must not meet in one library. When it, or what it needs, brings the real
 * libtvm_ffi.so, that one has its slots.
 */
#include "runtime/internal/runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/convention.h"
#include "base/strbuf.h"
#include "elfdyn/elfdyn.h"
#include "io/mapping.h"
#include "text/escape.h"

/* A library while it is opened. */
struct opening {
	struct mpk_host *host;
	struct mpk_arena arena;
	struct mpk_mapping file; /* closed when the bytes came from elsewhere */
	struct mpk_elfdyn object;
	unsigned parts; /* MPK_API_...: whose functions are ours */
};

static void opening_fini(struct opening *o)
{
	mpk_mapping_close(&o->file);
	mpk_arena_fini(&o->arena);
}

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

/* Whether the file itself names a library. */
static bool is_needed(const struct mpk_elfdyn *object, const char *name)
{
	for (size_t i = 0; i < object->needed_count; i++)
		if (strcmp(object->needed[i], name) == 0)
			return true;
	return false;
}

/* Whether the library itself names it, or imports functions of
 * tvm-ffi that only the real one has */
static bool needs_real(const struct mpk_elfdyn *object)
{
	if (is_needed(object, MPK_TVM_FFI_SONAME))
		return true;
	for (size_t i = 0; i < object->slot_count; i++)
		if (is_registry_function(object->slots[i].name))
			return true;
	return false;
}

/* Whether it is among what an open library needs, by whatever way */
static bool brings_real(void *handle)
{
	return dlsym(handle, "TVMFFIGetVersion") != NULL;
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
	return mpk_fail(err, MPK_E_LOAD,
			"it needs " MPK_TVM_FFI_SONAME
			", looked for in: %s; get it with 'pip install apache-tvm-ffi'",
			mpk_strbuf_text(&places));
}

/* Find it, open it for all, and use it from now on
 * Returns  MPK_OK; MPK_E_LOAD: not found, with every place that was tried, or one of another C API */
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

/* --- slots --------------------------------------------------------------------------------- */

static mpk_module_code *ours(const struct opening *o, const char *name)
{
	return mpk_module_api_find(name, o->parts);
}

/* One that constructors call; all others are called by functions that somebody calls. */
static bool has_constructors(const struct opening *o)
{
	for (size_t i = 0; i < o->object.slot_count; i++)
		if (ours(o, o->object.slots[i].name) &&
		    strstr(o->object.slots[i].name, "RegisterSystemLibSymbol"))
			return true;
	return false;
}

/* Whether the dynamic linker wants one of our functions before its slot can be written. */
static bool wants_early(const struct opening *o)
{
	bool lazily = !o->object.binds_now;

#ifndef __GLIBC__
	lazily = false; /* musl binds what it opens at once */
#endif
	for (size_t i = 0; i < o->object.slot_count; i++) {
		const struct mpk_slot *s = &o->object.slots[i];

		if (ours(o, s->name) && (!lazily || s->kind != MPK_SLOT_CALL))
			return true;
	}
	return false;
}

static bool in_relro(const struct mpk_elfdyn *object, const struct mpk_slot *s)
{
	return s->address >= object->relro && s->address - object->relro < object->relro_bytes;
}

/* Whole pages that the dynamic linker has made read-only. */
static bool protect(const struct mpk_elfdyn *object, uintptr_t base, int rights)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = base + object->relro;
	uintptr_t end = (from + object->relro_bytes) & ~(page - 1);

	from &= ~(page - 1);
	return end <= from || mprotect((void *)from, end - from, rights) == 0;
}

static enum mpk_code write_slots(const struct opening *o, uintptr_t base, struct mpk_error *err)
{
	const struct mpk_elfdyn *object = &o->object;
	bool is_open = false;

	for (size_t i = 0; i < object->slot_count; i++) {
		const struct mpk_slot *s = &object->slots[i];
		mpk_module_code *code = ours(o, s->name);

		if (!code)
			continue;
		if (s->kind == MPK_SLOT_OTHER)
			return mpk_fail(
				err, MPK_E_LOAD,
				"it imports '%s' in a way that only the dynamic linker can resolve",
				MPK_QUOTE(mpk_span_str(s->name)));
		if (!is_open && in_relro(object, s)) {
			if (!protect(object, base, PROT_READ | PROT_WRITE))
				return mpk_fail(err, MPK_E_LOAD,
						"the slots of what it imports cannot be written");
			is_open = true;
		}
		*(uintptr_t *)(base + s->address) = (uintptr_t)code + (uintptr_t)s->addend;
	}
	if (is_open && !protect(object, base, PROT_READ))
		return mpk_fail(err, MPK_E_LOAD, "the slots of what it imports stay writable");
	return MPK_OK;
}

static enum mpk_code base_of(void *handle, uintptr_t *out, struct mpk_error *err)
{
	struct link_map *map;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return mpk_fail(err, MPK_E_LOAD, "%s", MPK_QUOTE(mpk_span_str(dlerror())));
	*out = (uintptr_t)map->l_addr;
	return MPK_OK;
}

/* --- symbols nobody has ------------------------------------------------------------- */

/* What RTLD_LAZY left open would end the process at the first call. */
static bool is_resolved(const struct opening *o, const char *name)
{
	const struct mpk_host *host = o->host;
	bool found = ours(o, name) || dlsym(RTLD_DEFAULT, name) ||
		     (host->handle && dlsym(host->handle, name));

	/* when the library could not be opened its needs are asked one by one */
	for (size_t i = 0; i < o->object.needed_count && !found && !host->handle; i++) {
		void *needed = dlopen(o->object.needed[i], RTLD_LAZY | RTLD_LOCAL);

		found = needed && dlsym(needed, name);
		if (needed)
			(void)dlclose(needed);
	}
	return found;
}

static int link_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All of them, since each may come from another library that is missing. */
static enum mpk_code list_unresolved(struct opening *o, const char ***out, size_t *count,
				     struct mpk_error *err)
{
	const struct mpk_symbol_source source = mpk_elfdyn_source(&o->object);
	const char **names = mpk_arena_array(&o->arena, source.count + 1, sizeof *names);

	MPK_TRY_ALLOC(names, err);
	*out = names;
	for (size_t i = 0; i < source.count; i++) {
		struct mpk_symbol s;

		MPK_TRY(source.get(source.self, i, &s, err));
		if (!s.defined && s.name[0] && s.bind == STB_GLOBAL && !is_resolved(o, s.name))
			names[(*count)++] = s.name;
	}
	if (*count)
		qsort(names, *count, sizeof *names, link_by_text);
	return MPK_OK;
}

/* @why     what the dynamic linker said; NULL: it opened the library */
static enum mpk_code check_symbols(struct opening *o, const char *why, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf list = { 0 };
	const char **names;
	size_t count = 0;

	MPK_TRY(list_unresolved(o, &names, &count, err));
	for (size_t i = 0; i < count; i++)
		mpk_strbuf_printf(&list, "%s%s", i ? ", " : "", MPK_QUOTE(mpk_span_str(names[i])));
	if (count)
		return mpk_fail(err, MPK_E_LOAD, "nobody defines %zu symbol%s that it imports: %s",
				count, count == 1 ? "" : "s", mpk_strbuf_text(&list));
	if (why)
		return mpk_fail(err, MPK_E_LOAD, "%s", why);
	return MPK_OK;
}

/* --- the library -------------------------------------------------------------------- */

/* Its own pointers, or the order in which they are written, forbid to open the file itself. */
static bool needs_copy(const struct opening *o)
{
	const struct mpk_host_code *code = &o->host->code;

	return !code->path || has_constructors(o) || wants_early(o);
}

/* What constructors register belongs to the library whose constructors run. */
static enum mpk_code open_object(struct opening *o, struct mpk_error *err)
{
	struct mpk_host *host = o->host;
	struct mpk_context context = mpk_host_context(host), before;
	bool constructs = has_constructors(o); /* a copy, always */
	enum mpk_code rc;
	uintptr_t base = 0;

	context.loading = host;
	before = mpk_context_swap(context);
	rc = mpk_object_open(host, &o->object, o->parts, needs_copy(o), constructs, err);
	if (rc == MPK_OK)
		rc = base_of(host->handle, &base, err);
	if (rc == MPK_OK && brings_real(host->handle))
		o->parts &= ~(unsigned)MPK_API_FFI_ALL;
	if (rc == MPK_OK)
		rc = write_slots(o, base, err);
	if (rc == MPK_OK && constructs) {
		/* As the dynamic linker does: the one function first, then the array; what they
		 * are handed no library of compiled modules looks at. */
		typedef void constructor(int argc, char **argv, char **envp);
		char *nothing[] = { NULL };
		constructor **array = (constructor **)(base + o->object.init_array.value);

		if (o->object.init.off)
			((constructor *)(base + o->object.init.value))(0, nothing, nothing);
		for (size_t i = 0; o->object.init_array.off &&
				   i < o->object.init_array_bytes.value / sizeof *array;
		     i++)
			if (array[i] && (uintptr_t)array[i] != UINTPTR_MAX)
				array[i](0, nothing, nothing);
	}
	(void)mpk_context_swap(before);
	return rc;
}

/* RTLD_LAZY: functions that are missing are all listed afterwards, not the first one alone. */
static enum mpk_code open_library(struct opening *o, struct mpk_error *err)
{
	struct mpk_error why = { 0 };
	enum mpk_code rc = open_object(o, &why);

	if (rc == MPK_OK)
		return check_symbols(o, NULL, err);
	if (rc == MPK_E_LOAD && strstr(why.text, "undefined symbol"))
		return check_symbols(o, why.text, err);
	if (err)
		*err = why;
	return mpk_failed(rc);
}

/* The context in a direct import goes to the real look-up, which knows no module of ours. */
static bool looks_up_directly(const struct mpk_elfdyn *object)
{
	for (size_t i = 0; i < object->slot_count; i++)
		if (strcmp(object->slots[i].name, "TVMFFIEnvModLookupFromImports") == 0)
			return true;
	return false;
}

/* The library stays open: C++ code of it has registered types and functions with the real one. */
static enum mpk_code keep_real(struct opening *o, const struct mpk_tvm_ffi_search *search,
			       struct mpk_error *err)
{
	o->host->stays_open = true;
	o->parts = MPK_API_BACKEND;
	if (looks_up_directly(&o->object))
		return mpk_fail(
			err, MPK_E_LOAD,
			"it needs " MPK_TVM_FFI_SONAME
			" and looks its imports up through it; only TVM's own loader can open such a library");
	return search ? open_real(search, err) : MPK_OK;
}

/* What it needs may need the real one: that shows when all of it is open, or cannot be. */
static enum mpk_code open_with_ours(struct opening *o, struct mpk_error *err)
{
	static const struct mpk_tvm_ffi_search beside;
	const struct mpk_runtime_options *options = mpk_runtime_options(o->host->runtime);
	struct mpk_error why = { 0 };
	enum mpk_code rc = open_library(o, &why);

	if (rc == MPK_OK && (o->parts & (MPK_API_FFI | MPK_API_LEGACY)))
		return MPK_OK;
	if (rc == MPK_OK)
		return keep_real(o, &beside, err);
	if (rc == MPK_E_LOAD && !o->host->handle && (o->parts & MPK_API_FFI) &&
	    strstr(why.text, MPK_TVM_FFI_SONAME)) {
		MPK_TRY(keep_real(o, &options->tvm_ffi, err));
		return open_library(o, err);
	}
	if (err)
		*err = why;
	return mpk_failed(rc);
}

/* A file that has gone since it was looked at cannot be loaded. */
static enum mpk_code map_file(struct opening *o, struct mpk_error *err)
{
	enum mpk_code rc = mpk_mapping_open(o->host->code.path, &o->file, err);

	if (rc == MPK_OK || rc == MPK_E_NOMEM)
		return rc;
	if (err)
		err->code = MPK_E_LOAD;
	return mpk_failed(MPK_E_LOAD);
}

enum mpk_code mpk_host_link(struct mpk_host *host, struct mpk_error *err)
{
	MPK_CLEANUP(opening_fini) struct opening o = { .host = host, .file.fd = -1 };
	bool legacy = host->code.convention == MPK_CONV_LEGACY;

	if (host->code.object) {
		o.object = *host->code.object;
	} else {
		MPK_TRY(map_file(&o, err));
		MPK_TRY(mpk_elfdyn_read(o.file.bytes, &o.arena, &o.object, err));
	}
	o.parts = mpk_module_api_parts(host->code.convention);
	if (!legacy && needs_real(&o.object)) {
		static const struct mpk_tvm_ffi_search beside;
		const struct mpk_runtime_options *options = mpk_runtime_options(o.host->runtime);
		const struct mpk_tvm_ffi_search *search = &options->tvm_ffi;

		MPK_TRY(keep_real(&o, NULL, err));
		/* its own run path may lead to the real one, when it was linked with it */
		if (!search->explicit_path && is_needed(&o.object, MPK_TVM_FFI_SONAME) &&
		    open_library(&o, NULL) == MPK_OK && brings_real(o.host->handle))
			return open_real(&beside, err);
		MPK_TRY(open_real(search, err));
		return o.host->handle ? check_symbols(&o, NULL, err) : open_library(&o, err);
	}
	return open_with_ours(&o, err);
}

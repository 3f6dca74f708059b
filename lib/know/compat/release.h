/* SPDX-License-Identifier: Apache-2.0 */
/* release.h - what TVM releases and tvm-ffi can load: container, loaders, C symbols
 *
 * Facts about 0.25, 0.26, 0.27 and tvm-ffi are measured on the wheels of the package index (tests/interop
 * compares them again with what these do); those about other releases are read in their headers and
 * sources, where a loader for a device is there when that TVM was built with it.
 */
#ifndef MPK_COMPAT_RELEASE_H
#define MPK_COMPAT_RELEASE_H

#include <stdbool.h>

#include "base/span.h"
#include "blob/blob.h"
#include "elf/reader.h"

enum { MPK_TVM_FFI = 0 }; /* minor of tvm-ffi without TVM */

struct mpk_release {
	unsigned minor;            /* TVM 0.<minor>; MPK_TVM_FFI */
	const char *name;          /* "TVM 0.27", "tvm-ffi" */
	enum mpk_generation reads; /* the container and convention that it knows */
	unsigned ffi_patch;        /* the tvm-ffi that it comes with: 0.1.<patch> */
	bool has_wheel;            /* measured */
};

/* mpk_release_parse - "0.27", "v0.27.0.post1", "27"; "ffi" or "tvm-ffi" without TVM
 * Returns  false: no such release is known */
bool mpk_release_parse(const char *text, struct mpk_release *out);

/* The newest release that is known. */
enum { MPK_RELEASE_NEWEST = 27 };

enum mpk_loader_state {
	MPK_LOADER_THERE,
	MPK_LOADER_SIDECAR, /* in a library of the wheel that opens where a driver is */
	MPK_LOADER_BUILD,   /* there when TVM was built with it */
	MPK_LOADER_WHEEL,   /* TVM has one, the wheel of the package index has not */
	MPK_LOADER_OTHER,   /* other releases have one */
	MPK_LOADER_NONE,    /* no release of TVM has one */
};

/* What is known of the loader for a kind. */
struct mpk_loader_info {
	const char *option;   /* of TVM's build, "USE_CUDA"; NULL: every build has it */
	unsigned first, last; /* releases 0.first to 0.last; last MPK_RELEASE_NOW: still */
};

/* mpk_release_loader - whether a release loads modules of a kind
 * @info    receives what is known of the loader; zeroes when there is none */
enum mpk_loader_state mpk_release_loader(const struct mpk_release *release, struct mpk_span kind,
					 struct mpk_loader_info *info);

/* A library of the wheel with a loader that opens only where its own needs are met. */
struct mpk_sidecar {
	const char *kind, *file;
	const char *needs[3]; /* beside TVM's own libraries, the driver's first; ended by NULL */
};

/* mpk_release_sidecar - the library that brings the loader for a kind; NULL: none does */
const struct mpk_sidecar *mpk_release_sidecar(struct mpk_span kind);

/* mpk_release_symbol - whether the C API of a release defines a symbol: TVMFFIFunctionCall,
 * TVMBackendAllocWorkspace, TVMFuncCall
 * mpk_symbol_owner - "tvm-ffi", "TVM", "the CUDA driver", ...: whose API a name belongs to, by its
 * name; NULL: not known */
bool mpk_release_symbol(const struct mpk_release *release, const char *name);
const char *mpk_symbol_owner(const char *name);

/* mpk_release_fills - whether the runtime of a release stores its function of that name in a pointer that a module
 * has for it: "TVMFFIFunctionCall" in __TVMFFIFunctionCall */
bool mpk_release_fills(const struct mpk_release *release, const char *name);

/* --- the global functions that a TVM release or tvm-ffi registers: what byte code and host code find
 * by name when no module of their own has it
 *
 * The names are those of the wheels of the package index, asked of the wheels (scripts/global-functions), so
 * that of releases without a wheel nothing is known. --- */

enum mpk_global_state {
	MPK_GLOBAL_THERE,
	MPK_GLOBAL_PYTHON,  /* TVM's Python package registers it; a program in C++ has it not */
	MPK_GLOBAL_SIDECAR, /* in the wheel's library for CUDA, which opens where a driver is */
	MPK_GLOBAL_MISSING,
	MPK_GLOBAL_UNKNOWN, /* nobody knows what that release has, whatever the name */
};

/* What is known of a name, whatever a release has. */
struct mpk_global_info {
	const char *
		option; /* of TVM's build, "USE_BLAS": with it there is such a function; NULL: not known */
	bool is_pythons;   /* some wheel's Python package registers it, and no library does */
	char releases[48]; /* "TVM 0.26 and 0.27": whose wheels have it; empty: none */
};

/* mpk_release_global - whether a release has a global function once its Python package is imported
 * @info    receives what is known of the name; may be NULL */
enum mpk_global_state mpk_release_global(const struct mpk_release *release, struct mpk_span name,
					 struct mpk_global_info *info);

#endif

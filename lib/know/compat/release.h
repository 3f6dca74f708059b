/* SPDX-License-Identifier: Apache-2.0 */
/* release.h - what releases of TVM and tvm-ffi can load: container, loaders of modules, C symbols
 *
 * Facts about 0.25, 0.26, 0.27 and tvm-ffi are measured on the wheels of the package index
 * (tests/interop measures them again). Facts about other releases come from their headers and
 * sources, in which the loader for a device depends on how TVM was built. */
#ifndef MPK_COMPAT_RELEASE_H
#define MPK_COMPAT_RELEASE_H

#include <stdbool.h>

#include "base/span.h"
#include "blob/blob.h"
#include "elf/reader.h"

enum { MPK_TVM_FFI = 0 }; /* minor number that means tvm-ffi without TVM */

struct mpk_release {
	unsigned minor;            /* TVM 0.<minor>, or MPK_TVM_FFI */
	const char *name;          /* "TVM 0.27", "tvm-ffi" */
	enum mpk_generation reads; /* the container and calling convention that it supports */
	unsigned ffi_patch;        /* it comes with tvm-ffi 0.1.<patch> */
	bool has_wheel;            /* its facts are measured on a wheel */
};

/* mpk_release_parse - parse "0.27", "v0.27.0.post1", "27"; "ffi" or "tvm-ffi" for tvm-ffi without
 * TVM
 * Returns  false: the release is not known */
bool mpk_release_parse(const char *text, struct mpk_release *out);

/* The newest known release. */
enum { MPK_RELEASE_NEWEST = 27 };

enum mpk_loader_state {
	MPK_LOADER_THERE,
	MPK_LOADER_SIDECAR, /* in a library of the wheel that opens only if a driver is installed */
	MPK_LOADER_BUILD,   /* present if TVM was built with an option */
	MPK_LOADER_WHEEL,   /* TVM has a loader, the wheel of the package index does not */
	MPK_LOADER_OTHER,   /* other releases have a loader */
	MPK_LOADER_NONE,    /* no release of TVM has a loader */
};

/* The loader for a kind of modules. */
struct mpk_loader_info {
	const char
		*option; /* option of TVM's build, "USE_CUDA"; NULL: every build has the loader */
	unsigned first, last; /* releases 0.first to 0.last have it; last MPK_RELEASE_NOW: and all
			       * later ones */
};

/* mpk_release_loader - whether a release loads modules of a kind
 * @info    receives the facts about the loader; zeroes if there is none */
enum mpk_loader_state mpk_release_loader(const struct mpk_release *release, struct mpk_span kind,
					 struct mpk_loader_info *info);

/* A library of the wheel with a loader; it opens only if the libraries that it needs are installed. */
struct mpk_sidecar {
	const char *kind, *file;
	const char *needs[3]; /* libraries it needs beside TVM's own, the driver's first; ended by
			       * NULL */
};

/* mpk_release_sidecar - the separate library with the loader for a kind; NULL: none */
const struct mpk_sidecar *mpk_release_sidecar(struct mpk_span kind);

/* mpk_release_symbol - whether the C API of a release defines a symbol: TVMFFIFunctionCall,
 * TVMBackendAllocWorkspace, TVMFuncCall
 * mpk_symbol_owner - the API that a symbol belongs to, by its name: "tvm-ffi", "TVM", "the CUDA
 * driver", ...; NULL: not known */
bool mpk_release_symbol(const struct mpk_release *release, const char *name);
const char *mpk_symbol_owner(const char *name);

/* mpk_release_fills - whether the runtime of a release sets a module's pointer to a function:
 * "TVMFFIFunctionCall" for __TVMFFIFunctionCall */
bool mpk_release_fills(const struct mpk_release *release, const char *name);

/* --- the global functions of a TVM release or tvm-ffi, which byte code and host code find by name
 * if no module defines them
 *
 * The names come from running the wheels of the package index (scripts/global-functions), so
 * nothing is known about releases without a wheel. --- */

enum mpk_global_state {
	MPK_GLOBAL_THERE,
	MPK_GLOBAL_PYTHON,  /* TVM's Python package registers it: a C++ program does not have it */
	MPK_GLOBAL_SIDECAR, /* in the wheel's library for CUDA, which opens only if a driver is
			     * installed */
	MPK_GLOBAL_MISSING,
	MPK_GLOBAL_UNKNOWN, /* the functions of this release are not known */
};

/* Facts about a name that do not depend on the release. */
struct mpk_global_info {
	const char *
		option; /* option of TVM's build that adds the function, "USE_BLAS"; NULL: not known */
	bool is_pythons;   /* a wheel's Python package registers it, and no library does */
	char releases[48]; /* the wheels that have it, "TVM 0.26 and 0.27"; empty: none */
};

/* mpk_release_global - whether a release has a global function after its Python package has been
 * imported
 * @info    receives the facts about the name; may be NULL */
enum mpk_global_state mpk_release_global(const struct mpk_release *release, struct mpk_span name,
					 struct mpk_global_info *info);

#endif

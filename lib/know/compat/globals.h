/* SPDX-License-Identifier: Apache-2.0 */
/* globals.h - the global functions that a TVM release or tvm-ffi registers: what byte code and host code find
 * by name when no module of their own has it
 *
 * The names are those of the wheels of the package index, asked of the wheels (scripts/global-functions), so
 * that of releases without a wheel nothing is known.
 */
#ifndef MPK_COMPAT_GLOBALS_H
#define MPK_COMPAT_GLOBALS_H

#include "compat/release.h"
#include "elf/reader.h"

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

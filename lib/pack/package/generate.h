/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h - the host code that a package gets besides its own: launch functions and the entry, as
 * source texts */
#ifndef MPK_PACKAGE_GENERATE_H
#define MPK_PACKAGE_GENERATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "package/package.h"

enum { MPK_GENERATED_MAX = 3 };

/* A source that is in no file. */
struct mpk_generated {
	const char *name; /* "launch.ll": what it is says its suffix; static storage */
	struct mpk_span text;
};

/* mpk_generated_is_name - whether a text that mpk_generate makes is called so */
bool mpk_generated_is_name(const char *name);

struct mpk_generate_options {
	bool via_c; /* launch functions as C, else as LLVM IR; a standalone package's loader is
		     * C always */
	bool system_lib;
	bool only_check; /* refuse what a build would refuse, without the code of launch functions:
			     * it is a hundred times as long as their rows of the manifest */
	const char *prefix; /* of a system library's symbols; "" */
};

/* mpk_generate - the sources of a package's launch functions, and of its entry
 * @out     receives up to MPK_GENERATED_MAX sources, their text in arena
 * @count   0 for a package without either
 * Returns  MPK_OK; MPK_E_UNSUPPORTED, MPK_E_CONFLICT (kernels a standalone package
 *          cannot hold, a standalone system library, an entry of a system library); MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_generate(const struct mpk_package *package,
			   const struct mpk_generate_options *how, struct mpk_arena *arena,
			   struct mpk_generated out[MPK_GENERATED_MAX], size_t *count,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif

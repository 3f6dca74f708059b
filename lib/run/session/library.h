/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - the file whose functions are called: what is known of it, and how it is loaded */
#ifndef MPK_SESSION_LIBRARY_H
#define MPK_SESSION_LIBRARY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "blob/blob.h"
#include "elf/image.h"
#include "library/inspect.h"
#include "sandbox/sandbox.h"

struct mpk_child_state; /* session/internal/child.h */

struct mpk_library_options {
	const char *path;              /* the library's file; relative to the working
					* directory, never searched for */
	const struct mpk_image *image; /* of that file; borrowed */
	const struct mpk_tree *tree;   /* of its blob; NULL without one; borrowed */
	struct mpk_error unloadable;   /* why nobody can load it, when that is known; else MPK_OK */
	bool explains_calls; /* add a call that works to the error of a function called otherwise */
	const struct mpk_sandbox
		*sandbox; /* what the called code keeps; NULL: all that the user has */
	struct mpk_runtime_options runtime;
	/* as of struct mpk_child_options; NULL: nobody watches */
	void (*watch)(void *user, const struct mpk_child_state *state);
	void *watch_user;
	void (*enter_child)(void); /* called in the child before all else; NULL */
};

/* mpk_library_check - can this machine load it at all? Reads the image only.
 * Returns  MPK_OK; what options->unloadable says; MPK_E_LOAD: another machine (both named), an
 *          object or archive (toolchain/loadable.h makes a library of it), a bare blob;
 *          MPK_E_NO_BLOB: neither blob nor functions */
enum mpk_code mpk_library_check(const struct mpk_library_options *options,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* registered.h - the global functions that a library registers when it is loaded
 *
 * tvm-ffi's GlobalDef().def("shop.twice", f) and the macros of older TVM end in calls of the C API from initializers:
 * TVMFFIFunctionSetGlobal, TVMFFIFunctionSetGlobalFromMethodInfo, TVMFuncRegisterGlobal. Code is followed, not run, from
 * the initializers through the functions that they call to these. A name counts where it is a constant and no path to
 * the end of a function leaves the call out; a name that is computed, or under a condition, is left out.
 */
#ifndef MPK_HOSTCODE_REGISTERED_H
#define MPK_HOSTCODE_REGISTERED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "elf/reader.h"

struct mpk_global_names {
	const struct mpk_span *
		names; /* in the order in which they are registered, each once; views of the file */
	size_t count;
	bool has_more; /* it registers others, whose names or conditions its code does not tell */
};

/* mpk_registered_read - follow the initializers of a library
 * @arena   receives the list
 * Returns  MPK_OK, with none of objects, of machines other than x86-64 and AArch64, and of libraries that register none;
 *          MPK_E_NOMEM. Time is bounded by the bytes of the file. */
enum mpk_code mpk_registered_read(const struct mpk_elf *e, struct mpk_arena *arena,
				  struct mpk_global_names *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif

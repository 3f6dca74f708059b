/* generated.h - the host code that mpack writes itself, as sources of a build */
#ifndef MPK_EMIT_GENERATED_H
#define MPK_EMIT_GENERATED_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "emit/emit.h"
#include "package/package.h"

enum { MPK_GENERATED_MAX = 2 };

struct mpk_generate_options {
	bool via_c; /* launch functions as C, else as LLVM IR; a standalone package's
			     * loader is C always */
	bool system_lib;
	const char *prefix; /* of a system library's symbols; "" */
};

/* mpk_generate - the sources of a package's launch functions
 * @out     receives up to MPK_GENERATED_MAX sources, their text in arena
 * @count   0 for a package without launch functions
 * Returns  MPK_OK; MPK_E_UNSUPPORTED, MPK_E_CONFLICT (kernels a standalone package
 *          cannot hold, a standalone system library); MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_generate(const struct mpk_package *package,
			   const struct mpk_generate_options *how, struct mpk_arena *arena,
			   struct mpk_emit_source out[MPK_GENERATED_MAX], size_t *count,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.h - what a standalone package's own loader must know of its kernels */
#ifndef MPK_PACKAGE_INTERNAL_STANDALONE_H
#define MPK_PACKAGE_INTERNAL_STANDALONE_H

#include "launch/standalone.h"
#include "package/package.h"

/* mpk_package_standalone - every kernel of the package with the position of its code in the blob
 * @package loaded, with needs_blob
 * @out     rows in arena
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (modules that are neither cuda nor opencl, CUDA C++
 *          source); MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_package_standalone(const struct mpk_package *package, struct mpk_arena *arena,
				     const struct mpk_standalone_kernel **out, size_t *count,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif

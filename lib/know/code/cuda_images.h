/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_images.h - the images of CUDA code and the architectures that they are for
 *
 * Of PTX, cubins and fatbins alone, from their headers. Who runs CUDA code asks here and links the readers
 * of these three headers; who takes code of any format asks target.h, which knows the table of all.
 */
#ifndef MPK_CODE_CUDA_IMAGES_H
#define MPK_CODE_CUDA_IMAGES_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "code/target.h"

/* mpk_cuda_images - the images of a run of CUDA code
 * @out     in file order; in arena
 * @count   0: it is neither PTX nor a cubin nor a fatbin
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: the headers do not read;
 *          MPK_E_NOMEM
 * It is the `targets` of the three rows, too (format.h). */
enum mpk_code mpk_cuda_images(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_target **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif

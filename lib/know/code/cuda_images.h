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
#include "fatbin/fatbin.h"

/* mpk_cuda_images - the images of a run of CUDA code
 * @out     in file order; in arena
 * @count   0: it is neither PTX nor a cubin nor a fatbin
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: the headers do not read;
 *          MPK_E_NOMEM */
enum mpk_code mpk_cuda_images(struct mpk_span bytes, struct mpk_arena *arena,
			      const struct mpk_code_target **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ptx_targets, mpk_cubin_targets, mpk_fatbin_targets - the same for a format that is known; the `targets`
 * of its row (format.h) */
enum mpk_code mpk_ptx_targets(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_target **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_cubin_targets(struct mpk_span bytes, struct mpk_arena *arena,
				struct mpk_code_target **out, size_t *count,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_fatbin_targets(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_code_target **out, size_t *count,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_kind_name - "PTX", "cubin", "LTO IR", "other"
 * mpk_fatbin_packing_name - "stored", "LZ4", "zstd"
 * mpk_fatbin_suffix - "a": this architecture alone; "f": its family (PTX ISA, "Target-specific features");
 *          "": neither */
const char *mpk_fatbin_kind_name(enum mpk_fatbin_kind kind);
const char *mpk_fatbin_packing_name(enum mpk_fatbin_packing packing);
const char *mpk_fatbin_suffix(const struct mpk_fatbin_entry *e);

#endif

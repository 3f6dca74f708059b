/* SPDX-License-Identifier: Apache-2.0 */
/* swap.h - other payloads in a tree that was read, for mpack edit */
#ifndef MPK_PACKAGE_SWAP_H
#define MPK_PACKAGE_SWAP_H

#include "base/arena.h"
#include "base/error.h"
#include "blob/blob.h"
#include "io/mapping.h"
#include "kernels/kernels.h"

/* Set tree and arena, the rest zero; everything lives in the arena. */
struct mpk_swap {
	struct mpk_tree *tree; /* its nodes get contents (blob/blob.h) */
	struct mpk_arena *arena;
	struct mpk_kernels **kernels; /* of nodes whose kernels are swapped one by one */
};

/* mpk_swap_payload - give one module, or one kernel of it, the bytes of a file
 * Of device code the code is swapped and its kernel table kept; of any other kind the
 * file is the whole payload. The bytes are checked: code against the stored format,
 * payloads of known kinds against their layout.
 * @what    "/0/1", as mpk_tree_path prints it; "/0/1#NAME" for one kernel of those kinds
 *          that keep each by itself (metal, vulkan, webgpu)
 * @file    borrowed until the tree is written; name is what messages call it
 * Returns  MPK_OK; MPK_E_USAGE: no such module or kernel, host code, swapped twice;
 *          MPK_E_CORRUPT and what readers find, with the file's name; MPK_E_UNSUPPORTED for
 *          one file where there are several, or the other way round; MPK_E_NOMEM */
enum mpk_code mpk_swap_payload(struct mpk_swap *s, const char *what, const struct mpk_mapping *file,
			       const char *name, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* swap.h - for mpack edit: other payloads in a tree that was read, and other device code in the place of
 * code that a library has beside its blob */
#ifndef MPK_PACKAGE_SWAP_H
#define MPK_PACKAGE_SWAP_H

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "blob/blob.h"
#include "elf/image.h"
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

/* The prefix of the name of such code on a command line: "cubin:my_kernels". */
#define MPK_SWAP_CODE "cubin:"

/* mpk_swap_code - put code into a library
 * Host code points at the place of the old code, so that the new one must fit there; what is left
 * of the room is zeroed, and nothing else of the file changes. It must be what CUDA's driver loads, and
 * read as such. A kernel that only the old code has is a warning: host code may ask for it by name.
 * @image   of the library or object
 * @file    its bytes, which are changed; nothing of them on failure
 * @what    "cubin:NAME"
 * @bytes   the new code; name is what messages call it
 * @report  receives the warnings
 * Returns  MPK_OK; MPK_E_USAGE: there is no such code; MPK_E_RANGE: it does not fit; MPK_E_CORRUPT and
 *          what readers find, with the name; MPK_E_NOMEM */
enum mpk_code mpk_swap_code(const struct mpk_image *image, const struct mpk_private *file,
			    const char *what, struct mpk_span bytes, const char *name,
			    struct mpk_arena *arena, struct mpk_report *report,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif

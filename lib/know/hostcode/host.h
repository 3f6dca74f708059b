/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the signatures of a library's host functions, read from the texts of its errors
 *
 * Code of TVM checks its arguments and says what is wrong: so it holds, as text, what is right.
 * Nothing is executed. A signature is given only when it is certain: its text is whole, belongs to a
 * function that the file exports, and nothing in the file says otherwise.
 */
#ifndef MPK_HOSTCODE_HOST_H
#define MPK_HOSTCODE_HOST_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/image.h"
#include "signature/signature.h"

/* mpk_host_signatures - what each function of an image takes
 * @arena   receives the list, and texts that do not stand in the file as they are
 * @out     one pointer for each of image->functions, in their order; NULL: the file does not tell.
 *          Names are those of the functions; borrowed from the image and its bytes
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the constants of the file; the blob is not read. */
enum mpk_code mpk_host_signatures(const struct mpk_image *image, struct mpk_arena *arena,
				  const struct mpk_signature *const **out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_host_signature_find - the one of the function that --run calls by this name, or NULL */
const struct mpk_signature *mpk_host_signature_find(const struct mpk_image *image,
						    const struct mpk_signature *const *signatures,
						    const char *name);

#endif

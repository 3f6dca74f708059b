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

/* --- texts about functions that functions give: __tvm_ffi__metadata_f, __tvm_ffi__doc_f -------
 *
 * They are not called. A text is taken from the constants that a getter's code points at; what it makes
 * at run time, as tvm-ffi's exporter makes metadata, only a call tells. */

struct mpk_host_texts {
	/* one for each of image->functions, empty: unknown; views of the image or the arena */
	struct mpk_span *docs, *metadata;
	const struct mpk_span *unassigned; /* metadata that no getter points at */
	size_t unassigned_count;
};

/* mpk_host_texts_read - what a library's getters hold as constants
 * Returns  MPK_OK, also for files without getters, objects, and machines whose code is not searched;
 *          MPK_E_NOMEM */
enum mpk_code mpk_host_texts_read(const struct mpk_image *image, struct mpk_arena *arena,
				  struct mpk_host_texts *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_host_texts_function - whose text a getter gives
 * Returns  an index into image->functions; their count: none of them */
size_t mpk_host_texts_function(const struct mpk_image *image,
			       const struct mpk_image_function *getter, bool *is_doc);

/* mpk_host_texts_signature - what metadata says of function i, with its name
 * @out     NULL: there is none, or no such text
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_host_texts_signature(const struct mpk_image *image,
				       const struct mpk_host_texts *texts, size_t i,
				       struct mpk_arena *arena, const struct mpk_signature **out,
				       struct mpk_error *err) MPK_MUST_CHECK;

#endif

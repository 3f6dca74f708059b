/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the signatures of a library's host functions, read from the texts of its errors
 *
 * Code that TVM compiled checks its arguments, and its error messages describe the expected ones.
 * Nothing is executed. A signature is returned only if it is certain: the text is complete, belongs
 * to a function that the file exports, and nothing else in the file contradicts it. */
#ifndef MPK_HOSTCODE_HOST_H
#define MPK_HOSTCODE_HOST_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/image.h"
#include "signature/signature.h"

/* mpk_host_signatures - the parameters of each function of an image
 * @arena   receives the list, and texts that the file does not contain literally
 * @out     one pointer for each of image->functions, in their order; NULL: not known. Names are
 *          those of the functions, borrowed from the image and its bytes
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the constants of the file; the blob is not read. */
enum mpk_code mpk_host_signatures(const struct mpk_image *image, struct mpk_arena *arena,
				  const struct mpk_signature *const **out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* --- texts that getters return about functions: __tvm_ffi__metadata_f, __tvm_ffi__doc_f ---------
 *
 * The getters are not called. A text is taken from the constants that the getter's code points at.
 * A text that is built at run time, as tvm-ffi's exporter does for some metadata, is not found. */

struct mpk_host_texts {
	/* one for each of image->functions; empty: not known; views of the image or the arena */
	struct mpk_span *docs, *metadata;
	const struct mpk_span *unassigned; /* metadata that no getter points at */
	size_t unassigned_count;
};

/* mpk_host_texts_read - read the constants that a library's getters return
 * Returns  MPK_OK, also for files without getters, objects, and machines whose code is not
 *          searched; MPK_E_NOMEM */
enum mpk_code mpk_host_texts_read(const struct mpk_image *image, struct mpk_arena *arena,
				  struct mpk_host_texts *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_host_texts_function - the function that the text of a getter is about
 * Returns  an index into image->functions; their count: none */
size_t mpk_host_texts_function(const struct mpk_image *image,
			       const struct mpk_image_function *getter, bool *is_doc);

/* mpk_host_texts_signature - the signature of function i according to its metadata
 * @out     NULL: there is no metadata, or it does not read
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_host_texts_signature(const struct mpk_image *image,
				       const struct mpk_host_texts *texts, size_t i,
				       struct mpk_arena *arena, const struct mpk_signature **out,
				       struct mpk_error *err) MPK_MUST_CHECK;

#endif

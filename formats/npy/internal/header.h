/* SPDX-License-Identifier: Apache-2.0 */
/* header.h - the dict in an .npy file's head; used by the codec of npy.h alone */
#ifndef MPK_NPY_INTERNAL_HEADER_H
#define MPK_NPY_INTERNAL_HEADER_H

#include "npy/npy.h"

struct mpk_npy_header {
	struct mpk_span descr; /* "<f4"; a view */
	bool is_fortran;
	size_t ndim;
	int64_t shape[MPK_NPY_NDIM_MAX];
};

/* mpk_npy_header_parse - read the dict; keys in any order, each of the three needed
 * @base    offset of text in the file, for errors
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_UNSUPPORTED (records, rank) */
enum mpk_code mpk_npy_header_parse(struct mpk_span text, uint64_t base, struct mpk_npy_header *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif

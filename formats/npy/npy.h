/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - NumPy's array files: .npy, and members of .npz archives (FORMAT.md) */
#ifndef MPK_FORMATS_NPY_NPY_H
#define MPK_FORMATS_NPY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "dtype/dtype.h"
#include "zip/zip.h"

enum { MPK_NPY_NDIM_MAX = 32 };

struct mpk_npy {
	struct mpk_dtype dtype; /* type of the elements; opaque ones ("V2") have code HANDLE and as
				 * many bits */
	bool is_opaque;
	bool is_big; /* big-endian; false: little-endian */
	size_t ndim;
	int64_t shape[MPK_NPY_NDIM_MAX]; /* extents in elements, outermost first; >= 0 */
	struct mpk_span data;            /* row-major, without gaps; a view of the input */
	uint64_t data_off;               /* offset of data in the file; numpy aligns it to 64 */
};

/* mpk_npy_is - whether the bytes begin with the magic number of an .npy file */
bool mpk_npy_is(struct mpk_span bytes);

/* mpk_npz_is - whether the bytes begin with the magic number of a zip archive */
bool mpk_npz_is(struct mpk_span bytes);

/* mpk_npy_read - view an .npy file of version 1.0 to 3.0 as an array
 * @bytes   the whole file; bytes after the data are ignored, as in numpy
 * Returns  MPK_OK; MPK_E_CORRUPT (offset in "npy"); MPK_E_UNSUPPORTED: a matrix in Fortran order,
 *          Python objects, text, dates, records, a later version or a higher rank */
enum mpk_code mpk_npy_read(struct mpk_span bytes, struct mpk_npy *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_npy_write_header - append everything before the data: version 1.0, with exactly the bytes of
 * numpy.save; the caller appends the elements
 * @dtype   bfloat16 is written as opaque 2-byte elements, and floats of 8 bits as opaque bytes,
 *          except float8_e5m2 ("f1"), as ml_dtypes does; {HANDLE, 8} are opaque bytes, too
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for a type that NumPy does not have; MPK_E_NOMEM */
enum mpk_code mpk_npy_write_header(struct mpk_rope *rope, struct mpk_dtype dtype,
				   const int64_t *shape, size_t ndim,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_npz_list - list the arrays of an archive, in the order of its directory
 * @out     in arena; names are views of bytes: those of the members without ".npy"
 * Returns  MPK_OK; MPK_E_CORRUPT (offset in "npz"); MPK_E_NOMEM */
enum mpk_code mpk_npz_list(struct mpk_span bytes, struct mpk_arena *arena,
			   struct mpk_zip_member **out, size_t *count,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_npz_read - the bytes of a member, an .npy file
 * @arena   receives the content of a compressed member; a stored one is a view of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_UNSUPPORTED as mpk_npz_find; MPK_E_NOMEM */
enum mpk_code mpk_npz_read(struct mpk_span bytes, const struct mpk_zip_member *member,
			   struct mpk_arena *arena, struct mpk_span *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_npz_name - the name of an array: that of its member without ".npy" */
struct mpk_span mpk_npz_name(struct mpk_span member);

/* mpk_npz_find - the bytes of one array in an archive made by numpy.savez or numpy.savez_compressed
 * @key     name of the array, with or without ".npy"; NULL or "": the only member
 * @arena   receives the content of a compressed member; a stored one is a view of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT (offset in "npz"), also if a compressed member does not decompress
 *          to what the directory says; MPK_E_NOTFOUND with "did you mean" or, without a key, the
 *          names; MPK_E_UNSUPPORTED for an encrypted member or a compression other than deflate;
 *          MPK_E_NOMEM */
enum mpk_code mpk_npz_find(struct mpk_span bytes, const char *key, struct mpk_arena *arena,
			   struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

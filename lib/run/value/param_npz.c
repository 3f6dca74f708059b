/* SPDX-License-Identifier: Apache-2.0 */
/* param_npz.c - files of named tensors whose arrays may be compressed, too
 *
 * Apart from param_file.c, so that a library that reads stored ones alone links no zlib.
 */
#include "npy/npy.h"
#include "value/param_file.h"

enum mpk_code mpk_param_file_open(const char *path, struct mpk_param_file **out,
				  struct mpk_error *err)
{
	return mpk_param_file_open_as(path, mpk_npz_read, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.h - the driver loader that a standalone library carries
 *
 * A package with `standalone = true` needs no loader for its device code: its blob has
 * a symbol that no runtime looks for, and the C source printed here is compiled
 * into the library and loads the kernels through the CUDA driver or OpenCL at run time.
 */
#ifndef MPK_LAUNCH_STANDALONE_H
#define MPK_LAUNCH_STANDALONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "dtype/dtype.h"
#include "kernels/kernels.h"

struct mpk_standalone_kernel {
	const char *name;      /* a C identifier, as device compilers make them */
	const char *format;    /* "ptx", "cubin", "fatbin", "cl" */
	uint64_t offset, size; /* of its code in the blob, bytes */
	const struct mpk_dtype *args;
	size_t arg_count;
	const enum mpk_launch_tag *tags;
	size_t tag_count;
};

/* mpk_standalone_print - one C source: the loader and the table of the library's kernels
 * @device_type  MPK_DL_CUDA or MPK_DL_OPENCL
 * @gen     decides the calling convention and the blob's symbol
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (another device type); MPK_E_NOMEM */
enum mpk_code mpk_standalone_print(const struct mpk_standalone_kernel *kernels, size_t count,
				   int32_t device_type, enum mpk_generation gen,
				   struct mpk_strbuf *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - from CUDA C++ source to machine code; private to lib/run/device */
#ifndef MPK_DEVICE_INTERNAL_CUDA_H
#define MPK_DEVICE_INTERNAL_CUDA_H

#include "base/error.h"
#include "base/span.h"

/* What is compiled. */
struct mpk_nvrtc_source {
	struct mpk_span text;
	unsigned sm; /* 10 * major + minor of the compute capability */
	const char *
		home; /* a CUDA toolkit, whose headers come before those beside the compiler; NULL */
};

/* mpk_nvrtc_compile - compile source for one architecture
 * The compiler is libnvrtc.so of CUDA 13, 12 or 11.1 on, found by the dynamic linker or in
 * /usr/local/cuda; its own include folders are searched for headers. INFINITY, NAN, CUtensorMap and
 * __int128 are there without any; functions without an execution space are the device's. Options in the
 * source's first line (mpk_source_code_nvrtc) are added; an architecture or a standard among them
 * takes the place of ours.
 * @out     a cubin for the architecture with its own features (sm_90a), or, when the compiler is older
 *          than it or the source asks for compute_NN, PTX with a NUL after it; malloc'ed, the
 *          caller frees it
 * Returns  MPK_OK; MPK_E_LOAD: no NVRTC library, or the compiler's log; MPK_E_CORRUPT: a line of options
 *          that holds none; MPK_E_NOMEM */
enum mpk_code mpk_nvrtc_compile(const struct mpk_nvrtc_source *source, char **out,
				size_t *out_bytes, struct mpk_error *err) MPK_MUST_CHECK;

#endif

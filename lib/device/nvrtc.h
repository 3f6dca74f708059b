/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.h - CUDA C++ source to machine code, by NVIDIA's run-time compiler */
#ifndef MPK_DEVICE_NVRTC_H
#define MPK_DEVICE_NVRTC_H

#include <stddef.h>

#include "base/error.h"
#include "base/span.h"

/* mpk_nvrtc_compile - compile source for one architecture
 * The compiler is libnvrtc.so of CUDA 13, 12 or 11.1 on, found by the dynamic linker or in
 * /usr/local/cuda; its own include folders are searched for headers. INFINITY, NAN, CUtensorMap and __int128 are
 * there without any; functions without an execution space are the device's.
 * @sm      10 * major + minor of the compute capability
 * @out     a cubin for the architecture with its own features (sm_90a), or, when the compiler is older
 *          than it, PTX with a NUL behind it for the newest that it knows; malloc'ed, the caller frees it
 * Returns  MPK_OK; MPK_E_LOAD: no NVRTC library, or the compiler's log */
enum mpk_code mpk_nvrtc_compile(struct mpk_span source, unsigned sm, char **out, size_t *out_bytes,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the CUDA back end among its own files; private to lib/run/device */
#ifndef MPK_DEVICE_INTERNAL_CUDA_H
#define MPK_DEVICE_INTERNAL_CUDA_H

#include "device/internal/backend.h"
#include "device/internal/cuda_abi.h"

/* mpk_cuda_fail - "<what>: CUDA_ERROR_NAME (N): likely cause", with the code that fits */
enum mpk_code mpk_cuda_fail(const struct mpk_cuda_api *cu, struct mpk_error *err, unsigned status,
			    const char *fmt, ...) MPK_PRINTF(4, 5);
#define mpk_cuda_fail(...) mpk_failed(mpk_cuda_fail(__VA_ARGS__))

struct mpk_cuda_device {
	struct mpk_device base;
	const struct mpk_cuda_api *cu;
	int id;                         /* CUdevice */
	struct mpk_cu_context *context; /* the primary context, retained */
	unsigned block_limits[3], grid_limits[3];
	unsigned shared_optin; /* bytes one block may use when asked for */
};

struct mpk_cuda_module {
	struct mpk_device_module base;
	struct mpk_cu_module *module;
};

struct mpk_cuda_kernel {
	struct mpk_device_kernel base;
	struct mpk_cu_function *function;
	unsigned thread_limit;   /* threads in one block of this kernel */
	unsigned static_shared;  /* bytes its code uses itself */
	unsigned dynamic_shared; /* bytes allowed so far by cuFuncSetAttribute */
	bool big_cluster;        /* clusters above 8 blocks are allowed already */
	void **params;           /* arg_count addresses, into values */
	uint64_t *values;        /* arg_count packed arguments */
};

static inline struct mpk_cuda_device *mpk_cuda_device_of(struct mpk_device *device)
{
	return (struct mpk_cuda_device *)device;
}

/* mpk_cuda_enter - make the device's context the thread's current one
 * Returns  MPK_OK; what mpk_cuda_fail makes of the driver's status */
enum mpk_code mpk_cuda_enter(struct mpk_cuda_device *device, struct mpk_error *err) MPK_MUST_CHECK;

extern const struct mpk_device_code_ops mpk_cuda_code_ops; /* cuda_kernels.c */

/* --- what a payload holds, judged without a driver (cuda.c) ----------------------------------- */

enum { MPK_CUDA_CODE_TEXT = 200 };

/* mpk_cuda_code_describe - "sm_90 (cubin)", "sm_80 (cubin), sm_90 (PTX 9.0)", or "" when the
 * bytes are none of these
 * @out     MPK_CUDA_CODE_TEXT bytes
 * Returns  out */
const char *mpk_cuda_code_describe(struct mpk_span code, char out[MPK_CUDA_CODE_TEXT]);

/* mpk_cuda_code_check - whether some image in the payload is for the device's architecture
 * Returns  MPK_OK, also when the bytes are not understood: the driver decides;
 *          MPK_E_LOAD naming both architectures; MPK_E_NOMEM */
enum mpk_code mpk_cuda_code_check(struct mpk_span code, const struct mpk_device_info *info,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* --- from CUDA C++ source to machine code (nvrtc.c) -------------------------------------------- */

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

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the CUDA back end among its own files; private to lib/run/device */
#ifndef MPK_DEVICE_INTERNAL_CUDA_H
#define MPK_DEVICE_INTERNAL_CUDA_H

#include "device/internal/backend.h"
#include "device/internal/cuda_abi.h"

/* mpk_cuda_api_get - the driver's functions; opened and initialised at the first call
 * Returns  MPK_OK; MPK_E_DEVICE. Safe from several threads. */
enum mpk_code mpk_cuda_api_get(const struct mpk_cuda_api **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

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

/* cuda_memory.c: operations of backend.h, as mpk_device_* describe them */
enum mpk_code mpk_cuda_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			     struct mpk_error *err);
void mpk_cuda_free(struct mpk_device *device, void *data);
enum mpk_code mpk_cuda_write(struct mpk_device *device, void *to, uint64_t to_off,
			     struct mpk_span from, struct mpk_error *err);
enum mpk_code mpk_cuda_read(struct mpk_device *device, const void *from, uint64_t from_off,
			    void *to, size_t n, struct mpk_error *err);
enum mpk_code mpk_cuda_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
			    struct mpk_error *err);
enum mpk_code mpk_cuda_sync(struct mpk_device *device, struct mpk_error *err);

/* cuda_module.c: likewise */
enum mpk_code mpk_cuda_check(const struct mpk_device_info *info, const struct mpk_kernels *kernels,
			     struct mpk_error *err);
enum mpk_code mpk_cuda_load(struct mpk_device *device, const struct mpk_kernels *kernels,
			    struct mpk_device_module **out, struct mpk_error *err);
void mpk_cuda_unload(struct mpk_device_module *module);

/* cuda_launch.c: likewise */
enum mpk_code mpk_cuda_bind(struct mpk_device_kernel *kernel, struct mpk_error *err);
void mpk_cuda_unbind(struct mpk_device_kernel *kernel);
enum mpk_code mpk_cuda_launch(struct mpk_device_kernel *kernel, const uint64_t *slots,
			      const struct mpk_launch_shape *shape, struct mpk_error *err);

#endif

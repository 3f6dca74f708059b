/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_abi.h - the part of the CUDA driver's binary interface that is used here
 *
 * It is declared here so that neither building nor running needs NVIDIA's toolkit. Enums are
 * unsigned as in the driver's C interface; handles are pointers to opaque structs. A test compares
 * all declarations with <cudaTypedefs.h> if that header is installed. */
#ifndef MPK_DEVICE_INTERNAL_CUDA_ABI_H
#define MPK_DEVICE_INTERNAL_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "device/internal/driver.h"

struct mpk_cu_context;
struct mpk_cu_module;
struct mpk_cu_function;
struct mpk_cu_stream;

/* CUlaunchAttribute, whose value is a union of 64 bytes. */
struct mpk_cu_launch_attribute {
	unsigned id; /* enum mpk_cu_launch_attribute_id */
	char pad[4];
	union {
		char bytes[64];
		struct {
			unsigned x, y, z;
		} dims;   /* for both cluster attributes */
		int flag; /* for the cooperative and programmatic attributes */
	} value;
};

/* CUlaunchConfig */
struct mpk_cu_launch_config {
	unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
	struct mpk_cu_stream *stream;
	struct mpk_cu_launch_attribute *attributes;
	unsigned attribute_count;
};

/* The type that cuLaunchKernelEx takes; the test replaces it by the toolkit's. */
#ifndef MPK_CU_LAUNCH_CONFIG
#define MPK_CU_LAUNCH_CONFIG struct mpk_cu_launch_config
#endif

enum mpk_cu_launch_attribute_id {
	MPK_CU_LAUNCH_COOPERATIVE = 2,
	MPK_CU_LAUNCH_CLUSTER = 4,
	MPK_CU_LAUNCH_PROGRAMMATIC = 6,
	MPK_CU_LAUNCH_PREFERRED_CLUSTER = 11,
};

enum mpk_cu_device_attribute {
	MPK_CU_MAX_THREADS_PER_BLOCK = 1,
	MPK_CU_MAX_BLOCK_X = 2, /* y and z are the next numbers */
	MPK_CU_MAX_GRID_X = 5,  /* y and z are the next numbers */
	MPK_CU_MAX_SHARED_PER_BLOCK = 8,
	MPK_CU_MULTIPROCESSORS = 16,
	MPK_CU_CAPABILITY_MAJOR = 75,
	MPK_CU_CAPABILITY_MINOR = 76,
	MPK_CU_MAX_SHARED_OPTIN = 97,
};

enum mpk_cu_function_attribute {
	MPK_CU_FUNC_MAX_THREADS = 0,
	MPK_CU_FUNC_SHARED_BYTES = 1,
	MPK_CU_FUNC_MAX_DYNAMIC_SHARED = 8,
	MPK_CU_FUNC_NON_PORTABLE_CLUSTER = 14,
};

enum mpk_cu_jit_option {
	MPK_CU_JIT_INFO_LOG = 3,
	MPK_CU_JIT_INFO_LOG_BYTES = 4,
	MPK_CU_JIT_ERROR_LOG = 5,
	MPK_CU_JIT_ERROR_LOG_BYTES = 6,
};

/* Statuses for which the cause is explained here; the driver names all others. */
enum mpk_cu_status {
	MPK_CU_SUCCESS = 0,
	MPK_CU_INVALID_VALUE = 1,
	MPK_CU_OUT_OF_MEMORY = 2,
	MPK_CU_STUB_LIBRARY = 34,
	MPK_CU_NO_DEVICE = 100,
	MPK_CU_INVALID_IMAGE = 200,
	MPK_CU_NO_BINARY_FOR_GPU = 209,
	MPK_CU_INVALID_PTX = 218,
	MPK_CU_UNSUPPORTED_PTX_VERSION = 222,
	MPK_CU_INVALID_SOURCE = 300,
	MPK_CU_NOT_FOUND = 500,
	MPK_CU_ILLEGAL_ADDRESS = 700,
	MPK_CU_LAUNCH_OUT_OF_RESOURCES = 701,
	MPK_CU_LAUNCH_TIMEOUT = 702,
	MPK_CU_ASSERT = 710,
	MPK_CU_ILLEGAL_INSTRUCTION = 715,
	MPK_CU_MISALIGNED_ADDRESS = 716,
	MPK_CU_LAUNCH_FAILED = 719,
	MPK_CU_COOPERATIVE_TOO_LARGE = 720,
	MPK_CU_SYSTEM_DRIVER_MISMATCH = 803,
	MPK_CU_INVALID_CLUSTER_SIZE = 912,
};

/* X(member, exported name, need, parameters, least driver (1000 * major + 10 * minor)), as
 * driver.h describes. Each returns CUresult. The member and the driver together are those of the
 * toolkit's function pointer type: PFN_<member>_v<driver>. */
#define MPK_CUDA_SYMBOLS(X)                                                                        \
	X(cuInit, "cuInit", MPK_DRIVER_NEEDS, (unsigned flags), 2000)                              \
	X(cuDriverGetVersion, "cuDriverGetVersion", MPK_DRIVER_NEEDS, (int *version), 2020)        \
	X(cuGetErrorName, "cuGetErrorName", MPK_DRIVER_NEEDS,                                      \
	  (unsigned status, const char **name), 6000)                                              \
	X(cuDeviceGetCount, "cuDeviceGetCount", MPK_DRIVER_NEEDS, (int *count), 2000)              \
	X(cuDeviceGet, "cuDeviceGet", MPK_DRIVER_NEEDS, (int *device, int ordinal), 2000)          \
	X(cuDeviceGetName, "cuDeviceGetName", MPK_DRIVER_NEEDS,                                    \
	  (char *name, int size, int device), 2000)                                                \
	X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", MPK_DRIVER_NEEDS, (size_t *bytes, int device),  \
	  3020)                                                                                    \
	X(cuDeviceGetAttribute, "cuDeviceGetAttribute", MPK_DRIVER_NEEDS,                          \
	  (int *value, unsigned attribute, int device), 2000)                                      \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", MPK_DRIVER_NEEDS,                  \
	  (struct mpk_cu_context * *context, int device), 7000)                                    \
	X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", MPK_DRIVER_NEEDS,             \
	  (int device), 11000)                                                                     \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", MPK_DRIVER_NEEDS, (struct mpk_cu_context * context), \
	  4000)                                                                                    \
	X(cuStreamSynchronize, "cuStreamSynchronize", MPK_DRIVER_NEEDS,                            \
	  (struct mpk_cu_stream * stream), 2000)                                                   \
	X(cuMemAlloc, "cuMemAlloc_v2", MPK_DRIVER_NEEDS,                                           \
	  (unsigned long long *address, size_t bytes), 3020)                                       \
	X(cuMemFree, "cuMemFree_v2", MPK_DRIVER_NEEDS, (unsigned long long address), 3020)         \
	X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", MPK_DRIVER_NEEDS,                                       \
	  (unsigned long long to, const void *from, size_t bytes), 3020)                           \
	X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", MPK_DRIVER_NEEDS,                                       \
	  (void *to, unsigned long long from, size_t bytes), 3020)                                 \
	X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", MPK_DRIVER_NEEDS,                             \
	  (unsigned long long to, unsigned long long from, size_t bytes,                           \
	   struct mpk_cu_stream *stream),                                                          \
	  3020)                                                                                    \
	X(cuModuleLoadDataEx, "cuModuleLoadDataEx", MPK_DRIVER_NEEDS,                              \
	  (struct mpk_cu_module * *module, const void *image, unsigned count, unsigned *options,   \
	   void **values),                                                                         \
	  2010)                                                                                    \
	X(cuModuleUnload, "cuModuleUnload", MPK_DRIVER_NEEDS, (struct mpk_cu_module * module),     \
	  2000)                                                                                    \
	X(cuModuleGetFunction, "cuModuleGetFunction", MPK_DRIVER_NEEDS,                            \
	  (struct mpk_cu_function * *function, struct mpk_cu_module * module, const char *name),   \
	  2000)                                                                                    \
	X(cuFuncGetAttribute, "cuFuncGetAttribute", MPK_DRIVER_NEEDS,                              \
	  (int *value, unsigned attribute, struct mpk_cu_function *function), 2020)                \
	X(cuFuncSetAttribute, "cuFuncSetAttribute", MPK_DRIVER_NEEDS,                              \
	  (struct mpk_cu_function * function, unsigned attribute, int value), 9000)                \
	X(cuFuncGetParamInfo, "cuFuncGetParamInfo", MPK_DRIVER_MAY_LACK,                           \
	  (struct mpk_cu_function * function, size_t index, size_t *offset, size_t *bytes), 12040) \
	X(cuLaunchKernel, "cuLaunchKernel", MPK_DRIVER_NEEDS,                                      \
	  (struct mpk_cu_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,   \
	   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,            \
	   struct mpk_cu_stream *stream, void **params, void **extra),                             \
	  4000)                                                                                    \
	X(cuLaunchKernelEx, "cuLaunchKernelEx", MPK_DRIVER_MAY_LACK,                               \
	  (const MPK_CU_LAUNCH_CONFIG *config, struct mpk_cu_function *function, void **params,    \
	   void **extra),                                                                          \
	  11060)

struct mpk_cuda_api {
#define MPK_CUDA_MEMBER(member, name, need, params, driver) unsigned(*member) params;
	MPK_CUDA_SYMBOLS(MPK_CUDA_MEMBER)
#undef MPK_CUDA_MEMBER
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* hip_abi.h - the part of HIP's binary interface that is used here
 *
 * The facts are those of ROCm's headers hip/hip_runtime_api.h and hip/driver_types.h. They are the
 * same from HIP 5.2 to 6.4, except for the struct of properties; a test compares all of them with
 * the header if it is installed. Most functions have the same parameters as CUDA's, and their
 * pointers are members of the same struct: hipDeviceptr_t is a pointer and CUdeviceptr a 64-bit
 * number, which all 64-bit ABIs pass in the same way. */
#ifndef MPK_DEVICE_INTERNAL_HIP_ABI_H
#define MPK_DEVICE_INTERNAL_HIP_ABI_H

#include "device/internal/cuda_abi.h"

/* X(member of struct mpk_cuda_api, exported name) */
#define MPK_HIP_SHARED_SYMBOLS(X)                                                                  \
	X(cuInit, hipInit)                                                                         \
	X(cuDriverGetVersion, hipDriverGetVersion)                                                 \
	X(cuDeviceGetCount, hipGetDeviceCount)                                                     \
	X(cuDeviceGet, hipDeviceGet)                                                               \
	X(cuDeviceGetName, hipDeviceGetName)                                                       \
	X(cuDeviceTotalMem, hipDeviceTotalMem)                                                     \
	X(cuDeviceGetAttribute, hipDeviceGetAttribute)                                             \
	X(cuStreamSynchronize, hipStreamSynchronize)                                               \
	X(cuMemAlloc, hipMalloc)                                                                   \
	X(cuMemFree, hipFree)                                                                      \
	X(cuMemcpyHtoD, hipMemcpyHtoD)                                                             \
	X(cuMemcpyDtoH, hipMemcpyDtoH)                                                             \
	X(cuMemcpyDtoDAsync, hipMemcpyDtoDAsync)                                                   \
	X(cuModuleLoadDataEx, hipModuleLoadDataEx)                                                 \
	X(cuModuleUnload, hipModuleUnload)                                                         \
	X(cuModuleGetFunction, hipModuleGetFunction)                                               \
	X(cuFuncGetAttribute, hipFuncGetAttribute)                                                 \
	X(cuLaunchKernel, hipModuleLaunchKernel)

/* X(name, need, result, parameters) - functions that CUDA does not have, or has in another form */
#define MPK_HIP_OWN_SYMBOLS(X)                                                                     \
	X(hipGetErrorName, MPK_DRIVER_NEEDS, const char *, (unsigned status))                      \
	X(hipSetDevice, MPK_DRIVER_NEEDS, unsigned, (int device))                                  \
	X(hipGetDeviceProperties, MPK_DRIVER_NEEDS, unsigned, (void *properties, int device))      \
	X(hipGetDevicePropertiesR0600, MPK_DRIVER_MAY_LACK, unsigned,                              \
	  (void *properties, int device))                                                          \
	X(hipModuleLaunchCooperativeKernel, MPK_DRIVER_MAY_LACK, unsigned,                         \
	  (struct mpk_cu_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,   \
	   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,            \
	   struct mpk_cu_stream *stream, void **params))

struct mpk_hip_api {
	struct mpk_cuda_api shared;
#define MPK_HIP_MEMBER(name, need, type, params) type(*name) params;
	MPK_HIP_OWN_SYMBOLS(MPK_HIP_MEMBER)
#undef MPK_HIP_MEMBER
};

/* hipDeviceAttribute_t. For attributes of functions, hipFunction_attribute has CUDA's numbers. */
enum mpk_hip_device_attribute {
	MPK_HIP_MAX_BLOCK_X = 26, /* y and z are the next numbers */
	MPK_HIP_MAX_GRID_X = 29,  /* y and z are the next numbers */
	MPK_HIP_MAX_THREADS_PER_BLOCK = 56,
	MPK_HIP_MULTIPROCESSORS = 63,
	MPK_HIP_MAX_SHARED_PER_BLOCK = 74,
};

/* Byte offset of char gcnArchName[256] in hipDeviceProp_t. hipGetDevicePropertiesR0600 fills the
 * layout of HIP 6, hipGetDeviceProperties always the older one. */
enum {
	MPK_HIP_PROPERTIES_BYTES = 4096, /* large enough for both, and for additions of later
					  * releases */
	MPK_HIP_ARCH_OFF_R0600 = 1160,
	MPK_HIP_ARCH_OFF_OLD = 396,
	MPK_HIP_ARCH_BYTES = 256,
};

/* hipError_t; errors that CUDA has too have CUDA's numbers. */
enum mpk_hip_status {
	MPK_HIP_INSUFFICIENT_DRIVER = 35,
	MPK_HIP_INVALID_DEVICE_FUNCTION = 98,
	MPK_HIP_INVALID_KERNEL_FILE = 218,
	MPK_HIP_SHARED_OBJECT_INIT_FAILED = 303,
	MPK_HIP_NOT_SUPPORTED = 801,
};

#endif

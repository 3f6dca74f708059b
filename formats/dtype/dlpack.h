/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack.h - the numbers of DLPack
 *
 * They are in stored tensors, in DLTensors that are passed to functions, and in generated code. The
 * text of this header is also pasted into standalone libraries (package/generate.c), so it includes
 * only headers of the C library and declares no functions; names of the numbers are in dtype.h. */
#ifndef MPK_FORMATS_DTYPE_DLPACK_H
#define MPK_FORMATS_DTYPE_DLPACK_H

/* DLDataTypeCode; the last ones are small floats (FORMAT.md 1) */
enum mpk_dtype_code {
	MPK_DTYPE_INT = 0,
	MPK_DTYPE_UINT = 1,
	MPK_DTYPE_FLOAT = 2,
	MPK_DTYPE_HANDLE = 3,
	MPK_DTYPE_BFLOAT = 4,
	MPK_DTYPE_COMPLEX = 5,
	MPK_DTYPE_BOOL = 6,
};

/* X(NAME, number, name for users) - DLDeviceType, the types that TVM's modules use */
#define MPK_DL_DEVICES(X)                                                                          \
	X(CPU, 1, "cpu")                                                                           \
	X(CUDA, 2, "cuda")                                                                         \
	X(CUDA_HOST, 3, "cuda_host")                                                               \
	X(OPENCL, 4, "opencl")                                                                     \
	X(VULKAN, 7, "vulkan")                                                                     \
	X(METAL, 8, "metal")                                                                       \
	X(ROCM, 10, "rocm")

enum mpk_dl_device {
#define MPK_DL_MEMBER(name, number, text) MPK_DL_##name = number,
	MPK_DL_DEVICES(MPK_DL_MEMBER)
#undef MPK_DL_MEMBER
};

#endif

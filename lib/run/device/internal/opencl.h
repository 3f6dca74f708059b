/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - declarations shared by the files of the OpenCL back end; private to lib/run/device */
#ifndef MPK_DEVICE_INTERNAL_OPENCL_H
#define MPK_DEVICE_INTERNAL_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "device/internal/backend.h"
#include "device/internal/driver.h"

/* X(member, exported name, need) - the functions that are called, as driver.h describes; the types
 * come from the OpenCL headers */
#define MPK_OPENCL_SYMBOLS(X)                                                                      \
	X(clGetPlatformIDs, "clGetPlatformIDs", MPK_DRIVER_NEEDS)                                  \
	X(clGetPlatformInfo, "clGetPlatformInfo", MPK_DRIVER_NEEDS)                                \
	X(clGetDeviceIDs, "clGetDeviceIDs", MPK_DRIVER_NEEDS)                                      \
	X(clGetDeviceInfo, "clGetDeviceInfo", MPK_DRIVER_NEEDS)                                    \
	X(clCreateContext, "clCreateContext", MPK_DRIVER_NEEDS)                                    \
	X(clReleaseContext, "clReleaseContext", MPK_DRIVER_NEEDS)                                  \
	X(clCreateCommandQueue, "clCreateCommandQueue", MPK_DRIVER_NEEDS)                          \
	X(clReleaseCommandQueue, "clReleaseCommandQueue", MPK_DRIVER_NEEDS)                        \
	X(clCreateBuffer, "clCreateBuffer", MPK_DRIVER_NEEDS)                                      \
	X(clCreateImage, "clCreateImage", MPK_DRIVER_NEEDS)                                        \
	X(clReleaseMemObject, "clReleaseMemObject", MPK_DRIVER_NEEDS)                              \
	X(clEnqueueReadBuffer, "clEnqueueReadBuffer", MPK_DRIVER_NEEDS)                            \
	X(clEnqueueWriteBuffer, "clEnqueueWriteBuffer", MPK_DRIVER_NEEDS)                          \
	X(clEnqueueCopyBuffer, "clEnqueueCopyBuffer", MPK_DRIVER_NEEDS)                            \
	X(clEnqueueReadImage, "clEnqueueReadImage", MPK_DRIVER_NEEDS)                              \
	X(clEnqueueWriteImage, "clEnqueueWriteImage", MPK_DRIVER_NEEDS)                            \
	X(clEnqueueCopyImage, "clEnqueueCopyImage", MPK_DRIVER_NEEDS)                              \
	X(clEnqueueCopyImageToBuffer, "clEnqueueCopyImageToBuffer", MPK_DRIVER_NEEDS)              \
	X(clEnqueueCopyBufferToImage, "clEnqueueCopyBufferToImage", MPK_DRIVER_NEEDS)              \
	X(clFinish, "clFinish", MPK_DRIVER_NEEDS)                                                  \
	X(clFlush, "clFlush", MPK_DRIVER_NEEDS)                                                    \
	X(clCreateProgramWithSource, "clCreateProgramWithSource", MPK_DRIVER_NEEDS)                \
	X(clCreateProgramWithBinary, "clCreateProgramWithBinary", MPK_DRIVER_NEEDS)                \
	X(clCreateProgramWithIL, "clCreateProgramWithIL", MPK_DRIVER_MAY_LACK)                     \
	X(clBuildProgram, "clBuildProgram", MPK_DRIVER_NEEDS)                                      \
	X(clGetProgramBuildInfo, "clGetProgramBuildInfo", MPK_DRIVER_NEEDS)                        \
	X(clReleaseProgram, "clReleaseProgram", MPK_DRIVER_NEEDS)                                  \
	X(clCreateKernel, "clCreateKernel", MPK_DRIVER_NEEDS)                                      \
	X(clReleaseKernel, "clReleaseKernel", MPK_DRIVER_NEEDS)                                    \
	X(clGetKernelInfo, "clGetKernelInfo", MPK_DRIVER_NEEDS)                                    \
	X(clGetKernelWorkGroupInfo, "clGetKernelWorkGroupInfo", MPK_DRIVER_NEEDS)                  \
	X(clSetKernelArg, "clSetKernelArg", MPK_DRIVER_NEEDS)                                      \
	X(clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel", MPK_DRIVER_NEEDS)

struct mpk_opencl_api {
#define MPK_OPENCL_MEMBER(member, name, need) __typeof__(&(member)) member;
	MPK_OPENCL_SYMBOLS(MPK_OPENCL_MEMBER)
#undef MPK_OPENCL_MEMBER
};

/* mpk_opencl_api_get - get the functions of the OpenCL loader, which is opened at the first call.
 * Thread-safe.
 * Returns  MPK_OK; MPK_E_DEVICE */
enum mpk_code mpk_opencl_api_get(const struct mpk_opencl_api **out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_opencl_fail - report "<what>: CL_NAME (likely cause)" with the code for that status */
enum mpk_code mpk_opencl_fail(struct mpk_error *err, cl_int status, const char *fmt, ...)
	MPK_PRINTF(3, 4);
#define mpk_opencl_fail(...) mpk_failed(mpk_opencl_fail(__VA_ARGS__))

struct mpk_opencl_device {
	struct mpk_device base;
	const struct mpk_opencl_api *cl;
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	uint64_t item_limits[3]; /* CL_DEVICE_MAX_WORK_ITEM_SIZES */
};

/* The descriptor that DLTensor.data points to: TVM's kernels read the cl_mem from its first field. */
struct mpk_opencl_memory {
	cl_mem mem;
	uint64_t bytes; /* for an image: bytes of all its pixels */
	bool is_image, is_array;
	size_t region[3]; /* for an image: width, height, layers */
};

/* A program to compile: one kernel's source, or the whole payload. */
struct mpk_opencl_program {
	struct mpk_span name; /* name of its kernel; empty: the program contains all kernels */
	struct mpk_span code; /* source text, SPIR-V words or a device binary */
	cl_program program;   /* NULL: not built yet */
};

struct mpk_opencl_module {
	struct mpk_device_module base;
	enum { MPK_OPENCL_SOURCE, MPK_OPENCL_SPIRV, MPK_OPENCL_BINARY } form;
	struct mpk_opencl_program *programs;
	size_t program_count;
};

/* Kind of memory that the source declares for an argument; drivers crash if another kind is passed. */
enum mpk_opencl_memory_form {
	MPK_OPENCL_ANY,
	MPK_OPENCL_BUFFER,
	MPK_OPENCL_IMAGE,
	MPK_OPENCL_IMAGE_ARRAY,
};

struct mpk_opencl_kernel {
	struct mpk_device_kernel base;
	cl_kernel kernel;
	uint64_t group_limit;                     /* most work items in a group of this kernel */
	const enum mpk_opencl_memory_form *forms; /* one for each argument */
};

static inline struct mpk_opencl_device *mpk_opencl_device_of(struct mpk_device *device)
{
	return (struct mpk_opencl_device *)device;
}

extern const struct mpk_device_code_ops mpk_opencl_code_ops; /* defined in opencl_kernels.c */

/* mpk_opencl_program_for - get the program that contains a kernel, and build it if necessary
 * @source  receives the source text; empty if the program was not made from source
 * Returns  MPK_OK; MPK_E_LOAD: the payload has no code for the kernel, or the build log */
enum mpk_code mpk_opencl_program_for(const struct mpk_device_kernel *kernel, cl_program *out,
				     struct mpk_span *source, struct mpk_error *err) MPK_MUST_CHECK;

#endif

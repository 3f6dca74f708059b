/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - the OpenCL back end among its own files; private to lib/run/device */
#ifndef MPK_DEVICE_INTERNAL_OPENCL_H
#define MPK_DEVICE_INTERNAL_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "device/internal/backend.h"

/* X(function, required) - all that is called; the types come from the OpenCL headers */
#define MPK_OPENCL_SYMBOLS(X)                                                                      \
	X(clGetPlatformIDs, true)                                                                  \
	X(clGetPlatformInfo, true)                                                                 \
	X(clGetDeviceIDs, true)                                                                    \
	X(clGetDeviceInfo, true)                                                                   \
	X(clCreateContext, true)                                                                   \
	X(clReleaseContext, true)                                                                  \
	X(clCreateCommandQueue, true)                                                              \
	X(clReleaseCommandQueue, true)                                                             \
	X(clCreateBuffer, true)                                                                    \
	X(clCreateImage, true)                                                                     \
	X(clReleaseMemObject, true)                                                                \
	X(clEnqueueReadBuffer, true)                                                               \
	X(clEnqueueWriteBuffer, true)                                                              \
	X(clEnqueueCopyBuffer, true)                                                               \
	X(clEnqueueReadImage, true)                                                                \
	X(clEnqueueWriteImage, true)                                                               \
	X(clEnqueueCopyImage, true)                                                                \
	X(clEnqueueCopyImageToBuffer, true)                                                        \
	X(clEnqueueCopyBufferToImage, true)                                                        \
	X(clFinish, true)                                                                          \
	X(clFlush, true)                                                                           \
	X(clCreateProgramWithSource, true)                                                         \
	X(clCreateProgramWithBinary, true)                                                         \
	X(clCreateProgramWithIL, false)                                                            \
	X(clBuildProgram, true)                                                                    \
	X(clGetProgramBuildInfo, true)                                                             \
	X(clReleaseProgram, true)                                                                  \
	X(clCreateKernel, true)                                                                    \
	X(clReleaseKernel, true)                                                                   \
	X(clGetKernelInfo, true)                                                                   \
	X(clGetKernelWorkGroupInfo, true)                                                          \
	X(clSetKernelArg, true)                                                                    \
	X(clEnqueueNDRangeKernel, true)

struct mpk_opencl_api {
#define MPK_OPENCL_MEMBER(function, required) __typeof__(&function) function;
	MPK_OPENCL_SYMBOLS(MPK_OPENCL_MEMBER)
#undef MPK_OPENCL_MEMBER
};

/* mpk_opencl_api_get - the loader's functions, opened at the first call
 * Returns  MPK_OK; MPK_E_DEVICE. Safe from several threads. */
enum mpk_code mpk_opencl_api_get(const struct mpk_opencl_api **out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_opencl_error_name - "CL_OUT_OF_RESOURCES"; "OpenCL error -N" for unknown ones */
const char *mpk_opencl_error_name(cl_int status);

/* mpk_opencl_fail - "<what>: CL_NAME (likely cause)" with the code that fits the status */
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

/* What DLTensor.data points to: TVM's kernels read the cl_mem out of its first field. */
struct mpk_opencl_memory {
	cl_mem mem;
	uint64_t bytes; /* of an image: of all its pixels */
	bool is_image, is_array;
	size_t region[3]; /* of an image: width, height, layers */
};

/* One compiled program: a kernel's own source, or the whole payload. */
struct mpk_opencl_program {
	struct mpk_span name; /* of the kernel; empty: the program has all of them */
	struct mpk_span code; /* source text, SPIR-V words or a device binary */
	cl_program program;   /* NULL: not built yet */
};

struct mpk_opencl_module {
	struct mpk_device_module base;
	enum { MPK_OPENCL_SOURCE, MPK_OPENCL_SPIRV, MPK_OPENCL_BINARY } form;
	struct mpk_opencl_program *programs;
	size_t program_count;
};

/* What the source says that an argument is; drivers crash on what it is not. */
enum mpk_opencl_memory_form {
	MPK_OPENCL_ANY,
	MPK_OPENCL_BUFFER,
	MPK_OPENCL_IMAGE,
	MPK_OPENCL_IMAGE_ARRAY,
};

struct mpk_opencl_kernel {
	struct mpk_device_kernel base;
	cl_kernel kernel;
	uint64_t group_limit;                     /* work items in one group of this kernel */
	const enum mpk_opencl_memory_form *forms; /* of each argument */
};

static inline struct mpk_opencl_device *mpk_opencl_device_of(struct mpk_device *device)
{
	return (struct mpk_opencl_device *)device;
}

/* opencl_memory.c: operations of backend.h, as mpk_device_* describe them */
enum mpk_code mpk_opencl_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err);
enum mpk_code mpk_opencl_alloc_texture(struct mpk_device *device,
				       const struct mpk_device_texture *texture, void **out,
				       struct mpk_error *err);
void mpk_opencl_free(struct mpk_device *device, void *data);
enum mpk_code mpk_opencl_write(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err);
enum mpk_code mpk_opencl_read(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err);
enum mpk_code mpk_opencl_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err);
enum mpk_code mpk_opencl_sync(struct mpk_device *device, struct mpk_error *err);

/* opencl_program.c: likewise */
enum mpk_code mpk_opencl_check(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels, struct mpk_error *err);
enum mpk_code mpk_opencl_load(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err);
void mpk_opencl_unload(struct mpk_device_module *module);

/* mpk_opencl_program_for - the built program that holds a kernel
 * @source  receives its text; empty when it was made of something else */
enum mpk_code mpk_opencl_program_for(const struct mpk_device_kernel *kernel, cl_program *out,
				     struct mpk_span *source, struct mpk_error *err);

/* opencl_launch.c: likewise */
enum mpk_code mpk_opencl_bind(struct mpk_device_kernel *kernel, struct mpk_error *err);
void mpk_opencl_unbind(struct mpk_device_kernel *kernel);
enum mpk_code mpk_opencl_launch(struct mpk_device_kernel *kernel, const uint64_t *slots,
				const struct mpk_launch_shape *shape, struct mpk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_api.c - the OpenCL loader's functions, and its statuses in words
 *
 * OpenCL has no function that names a status, unlike CUDA: the names are those of cl.h, and
 * causes are given where the specification's own text ("failure to allocate resources") helps nobody.
 */
#include <stdarg.h>

#include "device/internal/driver.h"
#include "device/internal/opencl.h"

static struct mpk_opencl_api api;

static const struct mpk_driver_symbol symbols[] = {
#define SYMBOL(member, name, need) MPK_DRIVER_SYMBOL(struct mpk_opencl_api, member, name, need)
	MPK_OPENCL_SYMBOLS(SYMBOL)
#undef SYMBOL
		{ 0 },
};

static const char *const names[] = { "libOpenCL.so.1", "libOpenCL.so", NULL };
static struct mpk_driver driver = { .names = names,
				    .symbols = symbols,
				    .table = &api,
				    .without = "no OpenCL here: ",
				    .lock = PTHREAD_MUTEX_INITIALIZER };

enum mpk_code mpk_opencl_api_get(const struct mpk_opencl_api **out, struct mpk_error *err)
{
	MPK_TRY(mpk_driver_get(&driver, err));
	*out = &api;
	return MPK_OK;
}

/* The statuses that the calls above can give, for some with the usual cause. */
static const struct mpk_device_status statuses[] = {
#define STATUS(name) { name, #name, NULL, MPK_OK }
#define CAUSE(name, cause) { name, #name, cause, MPK_OK }
#define CODE(name, cause, code) { name, #name, cause, code }
	CODE(CL_DEVICE_NOT_FOUND, "this platform has no device", MPK_E_DEVICE),
	STATUS(CL_DEVICE_NOT_AVAILABLE),
	CODE(CL_COMPILER_NOT_AVAILABLE, "this driver takes binaries only, no source", MPK_E_LOAD),
	CAUSE(CL_MEM_OBJECT_ALLOCATION_FAILURE, "out of device memory"),
	CAUSE(CL_OUT_OF_RESOURCES, "out of device memory or registers, or a kernel faulted"),
	CAUSE(CL_OUT_OF_HOST_MEMORY, "the driver got no host memory"),
	STATUS(CL_MEM_COPY_OVERLAP),
	CAUSE(CL_IMAGE_FORMAT_NOT_SUPPORTED, "the device has no such image format"),
	CODE(CL_BUILD_PROGRAM_FAILURE, "the kernel's source does not compile", MPK_E_LOAD),
	CAUSE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "an earlier kernel faulted"),
	CODE(CL_COMPILE_PROGRAM_FAILURE, NULL, MPK_E_LOAD),
	CODE(CL_LINKER_NOT_AVAILABLE, NULL, MPK_E_LOAD),
	CODE(CL_LINK_PROGRAM_FAILURE, NULL, MPK_E_LOAD),
	CAUSE(CL_INVALID_VALUE, "an argument the driver refuses"),
	STATUS(CL_INVALID_DEVICE_TYPE),
	STATUS(CL_INVALID_PLATFORM),
	STATUS(CL_INVALID_DEVICE),
	STATUS(CL_INVALID_CONTEXT),
	STATUS(CL_INVALID_QUEUE_PROPERTIES),
	STATUS(CL_INVALID_COMMAND_QUEUE),
	CAUSE(CL_INVALID_MEM_OBJECT, "an argument is not memory of this device"),
	STATUS(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
	CAUSE(CL_INVALID_IMAGE_SIZE, "the image is larger than the device allows"),
	CODE(CL_INVALID_BINARY, "the code was built for another device or driver", MPK_E_LOAD),
	CODE(CL_INVALID_BUILD_OPTIONS, NULL, MPK_E_LOAD),
	STATUS(CL_INVALID_PROGRAM),
	CODE(CL_INVALID_PROGRAM_EXECUTABLE, NULL, MPK_E_LOAD),
	CODE(CL_INVALID_KERNEL_NAME, "the code has no kernel of this name", MPK_E_LOAD),
	CODE(CL_INVALID_KERNEL_DEFINITION, NULL, MPK_E_LOAD),
	STATUS(CL_INVALID_KERNEL),
	STATUS(CL_INVALID_ARG_INDEX),
	STATUS(CL_INVALID_ARG_VALUE),
	CAUSE(CL_INVALID_ARG_SIZE, "the parameter has another width in the kernel's code"),
	CAUSE(CL_INVALID_KERNEL_ARGS, "an argument is not set"),
	STATUS(CL_INVALID_WORK_DIMENSION),
	CAUSE(CL_INVALID_WORK_GROUP_SIZE,
	      "the kernel was compiled for another block size, or the block is too large"),
	CAUSE(CL_INVALID_WORK_ITEM_SIZE, "one block dimension is above the device's limit"),
	STATUS(CL_INVALID_GLOBAL_OFFSET),
	STATUS(CL_INVALID_EVENT_WAIT_LIST),
	STATUS(CL_INVALID_EVENT),
	STATUS(CL_INVALID_OPERATION),
	CAUSE(CL_INVALID_BUFFER_SIZE, "larger than one allocation of the device may be"),
	CAUSE(CL_INVALID_GLOBAL_WORK_SIZE, "the grid is larger than the device can address"),
	STATUS(CL_INVALID_PROPERTY),
	STATUS(CL_INVALID_IMAGE_DESCRIPTOR),
	/* The ICD loader's own: it found no driver. */
	{ -1001, "CL_PLATFORM_NOT_FOUND_KHR",
	  "no OpenCL driver is installed: no .icd file in /etc/OpenCL/vendors; the GPU's maker has "
	  "one, and PoCL (Debian: pocl-opencl-icd) runs kernels on the CPU",
	  MPK_E_DEVICE },
#undef STATUS
#undef CAUSE
#undef CODE
};

static struct mpk_device_status find_status(cl_int status)
{
	struct mpk_device_status found =
		mpk_device_status_find(statuses, MPK_ARRAY_COUNT(statuses), status);

	if (!found.name)
		found.name = "unknown OpenCL error";
	return found;
}

const char *mpk_opencl_error_name(cl_int status)
{
	return find_status(status).name;
}

enum mpk_code(mpk_opencl_fail)(struct mpk_error *err, cl_int status, const char *fmt, ...)
{
	struct mpk_device_status as = find_status(status);
	va_list ap;

	va_start(ap, fmt);
	(void)mpk_device_fail_status(err, &as, fmt, ap);
	va_end(ap);
	return as.code;
}

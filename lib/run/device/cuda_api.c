/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_api.c - the CUDA driver's functions, and its statuses in words */
#include <stdarg.h>

#include "device/internal/cuda.h"
#include "device/internal/driver.h"

static struct mpk_cuda_api api;

static const struct mpk_driver_symbol symbols[] = {
#define SYMBOL(name, symbol, driver, required, params)                                             \
	{ symbol, offsetof(struct mpk_cuda_api, name), required },
	MPK_CUDA_SYMBOLS(SYMBOL)
#undef SYMBOL
		{ 0 },
};

static enum mpk_code start(struct mpk_error *err)
{
	unsigned status = api.cuInit(0);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(&api, err, status, "the driver does not start");
	return MPK_OK;
}

static const char *const names[] = { "libcuda.so.1", NULL };
static struct mpk_driver driver = { .names = names,
				    .symbols = symbols,
				    .table = &api,
				    .start = start,
				    .without = "no CUDA here: ",
				    .lock = PTHREAD_MUTEX_INITIALIZER };

enum mpk_code mpk_cuda_api_get(const struct mpk_cuda_api **out, struct mpk_error *err)
{
	MPK_TRY(mpk_driver_get(&driver, err));
	*out = &api;
	return MPK_OK;
}

/* What usually is behind a status, and which kind of failure it is: no device, code that cannot be
 * loaded, or a call that failed. */
static const struct {
	enum mpk_cu_status status;
	enum mpk_code code;
	const char *cause;
} causes[] = {
	{ MPK_CU_INVALID_VALUE, MPK_E_RAISED, "an argument the driver refuses" },
	{ MPK_CU_OUT_OF_MEMORY, MPK_E_RAISED, "out of device memory" },
	{ MPK_CU_STUB_LIBRARY, MPK_E_DEVICE,
	  "this libcuda.so.1 is the toolkit's stub, not a driver" },
	{ MPK_CU_NO_DEVICE, MPK_E_DEVICE, "the driver finds no GPU" },
	{ MPK_CU_INVALID_IMAGE, MPK_E_LOAD, "the code is damaged or no CUDA code" },
	{ MPK_CU_NO_BINARY_FOR_GPU, MPK_E_LOAD, "the code is for another GPU architecture" },
	{ MPK_CU_INVALID_PTX, MPK_E_LOAD, "the PTX does not compile" },
	{ MPK_CU_UNSUPPORTED_PTX_VERSION, MPK_E_LOAD,
	  "the PTX is newer than the driver: update the driver, or compile with an older toolkit" },
	{ MPK_CU_INVALID_SOURCE, MPK_E_LOAD, "the code does not compile" },
	{ MPK_CU_NOT_FOUND, MPK_E_LOAD, "the code has no kernel of this name" },
	{ MPK_CU_ILLEGAL_ADDRESS, MPK_E_RAISED,
	  "a kernel read or wrote outside its memory; the device cannot be used further by this process" },
	{ MPK_CU_LAUNCH_OUT_OF_RESOURCES, MPK_E_RAISED,
	  "too many registers or too much shared memory for this block size" },
	{ MPK_CU_LAUNCH_TIMEOUT, MPK_E_RAISED, "the kernel ran too long" },
	{ MPK_CU_ASSERT, MPK_E_RAISED, "an assertion of the kernel failed" },
	{ MPK_CU_ILLEGAL_INSTRUCTION, MPK_E_RAISED, "a kernel met an illegal instruction" },
	{ MPK_CU_MISALIGNED_ADDRESS, MPK_E_RAISED, "a kernel used a misaligned address" },
	{ MPK_CU_LAUNCH_FAILED, MPK_E_RAISED, "a kernel faulted" },
	{ MPK_CU_COOPERATIVE_TOO_LARGE, MPK_E_RAISED,
	  "a cooperative grid must fit on the GPU all at once" },
	{ MPK_CU_SYSTEM_DRIVER_MISMATCH, MPK_E_DEVICE,
	  "libcuda.so.1 and the kernel driver are of different versions" },
	{ MPK_CU_INVALID_CLUSTER_SIZE, MPK_E_RAISED,
	  "the grid must be a multiple of the cluster, which the GPU must support" },
};

/* "CUDA_ERROR_NO_BINARY_FOR_GPU", in the driver's own storage */
static const char *status_name(const struct mpk_cuda_api *cu, unsigned status)
{
	const char *name = NULL;

	if (cu->cuGetErrorName(status, &name) != MPK_CU_SUCCESS || !name)
		return "unknown CUDA error";
	return name;
}

enum mpk_code(mpk_cuda_fail)(const struct mpk_cuda_api *cu, struct mpk_error *err, unsigned status,
			     const char *fmt, ...)
{
	struct mpk_device_status as = { .name = status_name(cu, status),
					.number = status,
					.code = MPK_E_RAISED };
	va_list ap;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(causes); i++)
		if ((unsigned)causes[i].status == status) {
			as.cause = causes[i].cause;
			as.code = causes[i].code;
		}
	va_start(ap, fmt);
	(void)mpk_device_fail_status(err, &as, fmt, ap);
	va_end(ap);
	return as.code;
}

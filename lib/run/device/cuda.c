/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - NVIDIA GPUs: calls of the CUDA driver, checks which code a GPU can run, and the images
 * to load */

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "code/cuda.h"
#include "device/internal/driver.h"
#include "device/internal/gpu.h"
#include "ptx/ptx.h"

/* --- which architectures CUDA code is for, and whether a device can run it --------------------- */

/* Used before a driver loads the code (mpk_device_check), and to explain a refusal better than the
 * driver does. */

struct images {
	struct mpk_code_target *items;
	size_t count; /* 0: the bytes are not CUDA code that this program can read */
};

static struct images cuda_code_images_of(struct mpk_span code, struct mpk_arena *arena)
{
	struct images images = { 0 };

	if (mpk_cuda_images(code, arena, &images.items, &images.count, NULL) != MPK_OK ||
	    (images.count && !images.items[0].sm))
		images.count = 0;
	return images;
}

/* Writes the architecture and the form of code as NVIDIA's tools name them: "sm_90a (cubin)". */
static int cuda_code_describe(const struct mpk_code_target *t, char *out, size_t room)
{
	const char *form = t->kind == MPK_TARGET_BINARY ? "cubin" : "not run by drivers";
	char ptx[32];

	if (t->kind == MPK_TARGET_PTX) {
		(void)snprintf(ptx, sizeof ptx, "PTX %u.%u", t->ptx_major, t->ptx_minor);
		form = ptx;
	}
	return snprintf(out, room, "sm_%u%.*s (%s)", t->sm, t->suffix ? 1 : 0, &t->suffix, form);
}

static const char *cuda_describe_code(struct mpk_span code, char out[MPK_GPU_CODE_TEXT])
{
	struct mpk_arena arena = { 0 };
	struct images images = cuda_code_images_of(code, &arena);
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < images.count && used + 2 < MPK_GPU_CODE_TEXT; i++) {
		int n = snprintf(out + used, MPK_GPU_CODE_TEXT - used, "%s", i ? ", " : "");

		used += (size_t)n;
		n = cuda_code_describe(&images.items[i], out + used, MPK_GPU_CODE_TEXT - used);
		used += n < 0                                  ? 0
			: (size_t)n < MPK_GPU_CODE_TEXT - used ? (size_t)n
							       : MPK_GPU_CODE_TEXT - used - 1;
	}
	mpk_arena_fini(&arena);
	return out;
}

/* Applies the driver's rule for choosing among images (code/cuda.h). Bytes in an unknown format are
 * left to the driver. */
static enum mpk_code check_code(struct mpk_span code, const struct mpk_device_info *info,
				struct mpk_error *err)
{
	const struct mpk_cuda_place place = { .sm = info->sm };
	struct mpk_arena arena = { 0 };
	struct images images = cuda_code_images_of(code, &arena);
	bool runs =
		!images.count || mpk_cuda_choose(images.items, images.count, &place) < images.count;
	char held[MPK_GPU_CODE_TEXT];

	mpk_arena_fini(&arena);
	if (runs)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"the code is for %s, but %s is %s: build it for that architecture, or as PTX of it or an earlier one",
		cuda_describe_code(code, held), info->name, info->arch);
}

/* --- the driver ------------------------------------------------------------------------------ */

static struct mpk_cuda_api cuda_api;
static const struct mpk_gpu_maker cuda;

static const struct mpk_driver_symbol cuda_symbols[] = {
#define SYMBOL(member, name, need, params, driver)                                                 \
	MPK_DRIVER_SYMBOL(struct mpk_cuda_api, member, name, need)
	MPK_CUDA_SYMBOLS(SYMBOL)
#undef SYMBOL
		{ 0 },
};

static enum mpk_code start_driver(struct mpk_error *err)
{
	unsigned status = cuda_api.cuInit(0);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(&cuda, err, status, "the driver does not start");
	return MPK_OK;
}

static const char *const cuda_names[] = { "libcuda.so.1", NULL };
static struct mpk_driver_result driver_result = { .lock = PTHREAD_MUTEX_INITIALIZER };
static const struct mpk_driver cuda_driver = { .names = cuda_names,
					       .symbols = cuda_symbols,
					       .table = &cuda_api,
					       .start = start_driver,
					       .without = "no CUDA here: ",
					       .result = &driver_result };

/* For each status: its usual cause, and the kind of failure (no device, code that cannot be loaded,
 * or a failed call). */
static const struct mpk_device_status cuda_statuses[] = {
	{ MPK_CU_INVALID_VALUE, NULL, "an argument the driver refuses", MPK_E_RAISED },
	{ MPK_CU_OUT_OF_MEMORY, NULL, "out of device memory", MPK_E_RAISED },
	{ MPK_CU_STUB_LIBRARY, NULL, "this libcuda.so.1 is the toolkit's stub, not a driver",
	  MPK_E_DEVICE },
	{ MPK_CU_NO_DEVICE, NULL, "the driver finds no GPU", MPK_E_DEVICE },
	{ MPK_CU_INVALID_IMAGE, NULL, "the code is damaged or no CUDA code", MPK_E_LOAD },
	{ MPK_CU_NO_BINARY_FOR_GPU, NULL, "the code is for another GPU architecture", MPK_E_LOAD },
	{ MPK_CU_INVALID_PTX, NULL, "the PTX does not compile", MPK_E_LOAD },
	{ MPK_CU_UNSUPPORTED_PTX_VERSION, NULL,
	  "the PTX is newer than the driver: update the driver, or compile with an older toolkit",
	  MPK_E_LOAD },
	{ MPK_CU_INVALID_SOURCE, NULL, "the code does not compile", MPK_E_LOAD },
	{ MPK_CU_NOT_FOUND, NULL, "the code has no kernel of this name", MPK_E_LOAD },
	{ MPK_CU_ILLEGAL_ADDRESS, NULL,
	  "a kernel read or wrote outside its memory; the device cannot be used further by this process",
	  MPK_E_RAISED },
	{ MPK_CU_LAUNCH_OUT_OF_RESOURCES, NULL,
	  "too many registers or too much shared memory for this block size", MPK_E_RAISED },
	{ MPK_CU_LAUNCH_TIMEOUT, NULL, "the kernel ran too long", MPK_E_RAISED },
	{ MPK_CU_ASSERT, NULL, "an assertion of the kernel failed", MPK_E_RAISED },
	{ MPK_CU_ILLEGAL_INSTRUCTION, NULL, "a kernel met an illegal instruction", MPK_E_RAISED },
	{ MPK_CU_MISALIGNED_ADDRESS, NULL, "a kernel used a misaligned address", MPK_E_RAISED },
	{ MPK_CU_LAUNCH_FAILED, NULL, "a kernel faulted", MPK_E_RAISED },
	{ MPK_CU_COOPERATIVE_TOO_LARGE, NULL, "a cooperative grid must fit on the GPU all at once",
	  MPK_E_RAISED },
	{ MPK_CU_SYSTEM_DRIVER_MISMATCH, NULL,
	  "libcuda.so.1 and the kernel driver are of different versions", MPK_E_DEVICE },
	{ MPK_CU_INVALID_CLUSTER_SIZE, NULL,
	  "the grid must be a multiple of the cluster, which the GPU must support", MPK_E_RAISED },
};

static const char *cuda_status_name(unsigned status)
{
	const char *name = NULL;

	return cuda_api.cuGetErrorName(status, &name) == MPK_CU_SUCCESS ? name : NULL;
}

/* --- devices --------------------------------------------------------------------------------- */

static void cuda_describe(int id, struct mpk_device_info *info)
{
	int version = 0;

	(void)id;
	(void)cuda_api.cuDriverGetVersion(&version);
	(void)snprintf(info->platform, sizeof info->platform, "CUDA driver %d.%d", version / 1000,
		       version % 1000 / 10);
	(void)snprintf(info->arch, sizeof info->arch, "sm_%u", info->sm);
}

/* Uses the primary context, as the CUDA runtime API does, so that code of both sees the same
 * memory. */
static unsigned cuda_start(struct mpk_gpu_device *device)
{
	return cuda_api.cuDevicePrimaryCtxRetain(&device->context, device->id);
}

static unsigned cuda_enter(const struct mpk_gpu_device *device)
{
	return cuda_api.cuCtxSetCurrent(device->context);
}

/* Releases the reference that cuda_start took. The context lives on while other users have
 * references. */
static void cuda_stop(struct mpk_gpu_device *device)
{
	(void)cuda_api.cuDevicePrimaryCtxRelease(device->id);
}

/* --- code ------------------------------------------------------------------------------------ */

/* Gets the image to load: the payload itself, or the result of compiling CUDA source with NVRTC. */
static enum mpk_code cuda_get_image(const struct mpk_gpu_device *device,
				    const struct mpk_kernels *k, struct mpk_gpu_image *out,
				    struct mpk_error *err)
{
	if (mpk_span_is(k->fmt, "cuda"))
		return mpk_nvrtc_compile(&(struct mpk_nvrtc_source){ k->data, device->base.info.sm,
								     device->base.cuda_home },
					 &out->bytes, &out->len, err);
	return mpk_gpu_copy_image(k->data, out, err);
}

/* Whether PTX defines the name as a .func, which a driver cannot launch. */
static bool is_ptx_func(struct mpk_span code, struct mpk_span name)
{
	struct mpk_arena arena = { 0 };
	struct mpk_ptx ptx;
	bool found = false;

	if (mpk_ptx_is(code) && mpk_ptx_read(code, &arena, &ptx, NULL) == MPK_OK)
		for (size_t i = 0; i < ptx.function_count && !found; i++)
			found = mpk_span_equal(ptx.functions[i], name);
	mpk_arena_fini(&arena);
	return found;
}

static enum mpk_code cuda_explain_missing(const struct mpk_gpu_kernel *kernel,
					  struct mpk_error *err)
{
	if (!is_ptx_func(kernel->base.module->kernels.data, kernel->base.info->key))
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"kernel '%s': the PTX defines it as .func, which is no kernel; the compiler must emit .entry for it",
		kernel->base.shown);
}

/* Uses the driver's call, else the code's own table. Drivers before 12.4 lack the call; code of old
 * toolkits lacks the table. */
static bool cuda_param_bytes(const struct mpk_gpu_kernel *kernel, size_t i, size_t *bytes)
{
	size_t off;

	if (!cuda_api.cuFuncGetParamInfo)
		return false;
	unsigned status = cuda_api.cuFuncGetParamInfo(kernel->function, i, &off, bytes);

	if (status == MPK_CU_INVALID_VALUE)
		*bytes = 0;
	return status == MPK_CU_SUCCESS || status == MPK_CU_INVALID_VALUE;
}

static enum mpk_code cuda_launch_extended(const struct mpk_gpu_kernel *kernel,
					  const struct mpk_cu_launch_config *config,
					  struct mpk_error *err)
{
	if (!cuda_api.cuLaunchKernelEx)
		return mpk_fail(
			err, MPK_E_RAISED,
			"kernel '%s' needs launch attributes (cluster, cooperative or programmatic), which this driver does not have: it must be 11.6 or later",
			kernel->base.shown);
	unsigned status = cuda_api.cuLaunchKernelEx(config, kernel->function, kernel->params, NULL);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(&cuda, err, status, "cannot launch kernel '%s'",
				    kernel->base.shown);
	return MPK_OK;
}

/* --- the tables ------------------------------------------------------------------------------ */

/* The formats that TVM stores (cuda_module.cc): text of PTX or CUDA C++, cubins and fatbins. */
static const char *const cuda_formats[] = { "ptx", "cubin", "fatbin", "cuda", NULL };

static const struct mpk_gpu_maker cuda = {
	.kind = MPK_DEVICE_CUDA,
	.name = "cuda",
	.interface = "CUDA",
	.ops = &mpk_cuda_ops,
	.driver = &cuda_driver,
	.api = &cuda_api,
	.statuses = cuda_statuses,
	.status_count = MPK_ARRAY_COUNT(cuda_statuses),
	.formats = cuda_formats,
	.format_names = "ptx, cubin, fatbin, cuda",
	.no_form = "neither cubin, fatbin nor PTX",
	.threads = MPK_CU_MAX_THREADS_PER_BLOCK,
	.block_x = MPK_CU_MAX_BLOCK_X,
	.grid_x = MPK_CU_MAX_GRID_X,
	.shared = MPK_CU_MAX_SHARED_PER_BLOCK,
	.shared_optin = MPK_CU_MAX_SHARED_OPTIN,
	.units = MPK_CU_MULTIPROCESSORS,
	.capability = { MPK_CU_CAPABILITY_MAJOR, MPK_CU_CAPABILITY_MINOR },
	.has_logs = true,
	.shared_free = 48 * 1024,
	.status_name = cuda_status_name,
	.describe = cuda_describe,
	.start = cuda_start,
	.enter = cuda_enter,
	.stop = cuda_stop,
	.check = check_code,
	.describe_code = cuda_describe_code,
	.get_image = cuda_get_image,
	.explain_missing = cuda_explain_missing,
	.param_bytes = cuda_param_bytes,
	.launch_extended = cuda_launch_extended,
};

static enum mpk_code cuda_list(struct mpk_device_list *list, struct mpk_error *err)
{
	return mpk_gpu_list(&cuda, list, err);
}

static enum mpk_code cuda_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	return mpk_gpu_open(&cuda, ordinal, out, err);
}

static enum mpk_code cuda_check(const struct mpk_device_info *info, const struct mpk_kernels *k,
				struct mpk_error *err)
{
	return mpk_gpu_check(&cuda, info, k, err);
}

static const struct mpk_device_code_ops cuda_code = MPK_GPU_CODE_OPS(cuda_check);
const struct mpk_device_ops mpk_cuda_ops = MPK_GPU_OPS(cuda_list, cuda_open, &cuda_code);

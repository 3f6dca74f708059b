/* SPDX-License-Identifier: Apache-2.0 */
/* rocm.c - AMD GPUs: calls of the HIP runtime, checks which code objects a GPU can run, and the
 * images to load
 *
 * From a bundle the image for the device is chosen here, by the same rule as in `minspect --check`,
 * and only that image is loaded, because runtimes accept different identifiers. A compressed bundle
 * is passed to the driver, which decompresses it from ROCm 6 on: this folder is linked into
 * applications without zlib and zstd. */
#include <stdio.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "base/arena.h"
#include "device/internal/driver.h"
#include "device/internal/gpu.h"
#include "device/internal/hip_abi.h"
#include "offload/offload.h"
#include "text/escape.h"

/* --- which processors code is for -------------------------------------------------------------- */

struct object {
	char target[MPK_AMDGPU_TARGET];
	struct mpk_span code;
};

/* The header of a code object gives its target; the identifier in a bundle gives the same as text. */
static bool take_object(struct mpk_span code, struct object *out)
{
	struct mpk_amdgpu head;

	if (!mpk_amdgpu_is(code) || mpk_amdgpu_read_head(code, &head, NULL) != MPK_OK)
		return false;
	memcpy(out->target, head.target, sizeof out->target);
	out->code = code;
	return true;
}

/* Lists the code objects of a payload; none if the bytes are neither a code object nor a readable
 * bundle. */
static enum mpk_code list_objects(struct mpk_span code, struct mpk_arena *arena,
				  struct object **out, size_t *count, struct mpk_error *err)
{
	struct mpk_offload list = { 0 };
	enum mpk_code read = MPK_OK;

	if (mpk_offload_is(code))
		read = mpk_offload_read(code, arena, &list, err);
	if (read == MPK_E_NOMEM)
		return mpk_failed(read);
	MPK_TRY_ARRAY(*out, arena, list.entry_count + 1, err);
	*count = take_object(code, *out);
	for (size_t i = 0; read == MPK_OK && i < list.entry_count; i++)
		*count += !list.entries[i].is_host &&
			  take_object(list.entries[i].data, &(*out)[*count]);
	return MPK_OK;
}

/* Returns the first object that the device can run. One for exactly its processor is preferred to
 * one for a generic target, which is slower. Returns count if there is none. */
static size_t choose(const struct object *objects, size_t count, const char *arch)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++) {
		bool generic = strstr(objects[i].target, "-generic") != NULL;

		if (mpk_amdgpu_runs(objects[i].target, arch) && (found == count || !generic)) {
			found = i;
			if (!generic)
				break;
		}
	}
	return found;
}

static const char *rocm_describe_code(struct mpk_span code, char out[MPK_GPU_CODE_TEXT])
{
	struct mpk_arena arena = { 0 };
	struct object *objects;
	size_t count = 0, used = 0;

	out[0] = '\0';
	if (mpk_offload_is_packed(code))
		(void)snprintf(out, MPK_GPU_CODE_TEXT,
			       "a compressed bundle, which HIP unpacks from ROCm 6 on");
	if (list_objects(code, &arena, &objects, &count, NULL) != MPK_OK)
		count = 0;
	for (size_t i = 0; i < count && used + MPK_AMDGPU_TARGET + 2 < MPK_GPU_CODE_TEXT; i++)
		used += (size_t)snprintf(out + used, MPK_GPU_CODE_TEXT - used, "%s%s",
					 i ? ", " : "", objects[i].target);
	mpk_arena_fini(&arena);
	return out;
}

/* Passes bytes that are not understood to the driver, and all bytes if the device's architecture is
 * unknown. */
static enum mpk_code rocm_choose_image(struct mpk_span code, const struct mpk_device_info *info,
				       struct mpk_span *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	char held[MPK_GPU_CODE_TEXT];
	struct object *objects;
	size_t count, i;

	MPK_TRY(list_objects(code, &arena, &objects, &count, err));
	i = choose(objects, count, info->arch);
	if (!info->arch[0])
		count = 0;
	if (count && i == count)
		return mpk_fail(
			err, MPK_E_LOAD,
			"the code is for %s, but %s is %s: build it for that target, or for a generic one",
			rocm_describe_code(code, held), info->name, info->arch);
	*out = count ? objects[i].code : code;
	return MPK_OK;
}

static enum mpk_code check_code(struct mpk_span code, const struct mpk_device_info *info,
				struct mpk_error *err)
{
	struct mpk_span image;

	return rocm_choose_image(code, info, &image, err);
}

/* --- the driver ------------------------------------------------------------------------------ */

static struct mpk_hip_api hip_api;
static const struct mpk_gpu_maker rocm;

static const struct mpk_driver_symbol hip_symbols[] = {
#define SHARED(member, name)                                                                       \
	MPK_DRIVER_SYMBOL(struct mpk_hip_api, shared.member, #name, MPK_DRIVER_NEEDS)
#define OWN(name, need, type, params) MPK_DRIVER_SYMBOL(struct mpk_hip_api, name, #name, need)
	MPK_HIP_SHARED_SYMBOLS(SHARED) MPK_HIP_OWN_SYMBOLS(OWN)
#undef SHARED
#undef OWN
		{ 0 },
};

static enum mpk_code start_driver(struct mpk_error *err)
{
	unsigned status = hip_api.shared.cuInit(0);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(&rocm, err, status, "the driver does not start");
	return MPK_OK;
}

static const char *const hip_names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
					 NULL };
static struct mpk_driver_result driver_result = { .lock = PTHREAD_MUTEX_INITIALIZER };
static const struct mpk_driver hip_driver = { .names = hip_names,
					      .symbols = hip_symbols,
					      .table = &hip_api,
					      .start = start_driver,
					      .without = "no HIP here: ",
					      .result = &driver_result };

static const struct mpk_device_status hip_statuses[] = {
	{ MPK_CU_INVALID_VALUE, NULL, "an argument the driver refuses", MPK_E_RAISED },
	{ MPK_CU_OUT_OF_MEMORY, NULL, "out of device memory", MPK_E_RAISED },
	{ MPK_HIP_INSUFFICIENT_DRIVER, NULL, "libamdhip64 is newer than the kernel driver",
	  MPK_E_DEVICE },
	{ MPK_HIP_INVALID_DEVICE_FUNCTION, NULL, "the code has no kernel for this GPU",
	  MPK_E_LOAD },
	{ MPK_CU_NO_DEVICE, NULL, "the driver finds no GPU", MPK_E_DEVICE },
	{ MPK_CU_INVALID_IMAGE, NULL, "the code is damaged or no code object", MPK_E_LOAD },
	{ MPK_CU_NO_BINARY_FOR_GPU, NULL, "the code is for another GPU architecture", MPK_E_LOAD },
	{ MPK_HIP_INVALID_KERNEL_FILE, NULL, "the code does not load", MPK_E_LOAD },
	{ MPK_HIP_SHARED_OBJECT_INIT_FAILED, NULL, "the code does not load", MPK_E_LOAD },
	{ MPK_CU_NOT_FOUND, NULL, "the code has no kernel of this name", MPK_E_LOAD },
	{ MPK_CU_ILLEGAL_ADDRESS, NULL, "a kernel read or wrote outside its memory", MPK_E_RAISED },
	{ MPK_CU_LAUNCH_OUT_OF_RESOURCES, NULL,
	  "too many registers or too much LDS for this block size", MPK_E_RAISED },
	{ MPK_CU_ASSERT, NULL, "an assertion of the kernel failed", MPK_E_RAISED },
	{ MPK_CU_LAUNCH_FAILED, NULL, "a kernel faulted, or its launch is beyond its limits",
	  MPK_E_RAISED },
	{ MPK_CU_COOPERATIVE_TOO_LARGE, NULL, "a cooperative grid must fit on the GPU all at once",
	  MPK_E_RAISED },
	{ MPK_HIP_NOT_SUPPORTED, NULL, "this driver cannot do it", MPK_E_LOAD },
};

static const char *hip_status_name(unsigned status)
{
	return hip_api.hipGetErrorName(status);
}

/* --- devices --------------------------------------------------------------------------------- */

/* hipDriverGetVersion gives 10000000 * major + 100000 * minor + patch. The target with its features
 * is only in the struct of properties. */
static void rocm_describe(int id, struct mpk_device_info *info)
{
	char properties[MPK_HIP_PROPERTIES_BYTES] = { 0 };
	bool now = hip_api.hipGetDevicePropertiesR0600 != NULL;
	char *arch = properties + (now ? MPK_HIP_ARCH_OFF_R0600 : MPK_HIP_ARCH_OFF_OLD);
	int version = 0;

	(void)hip_api.shared.cuDriverGetVersion(&version);
	(void)snprintf(info->platform, sizeof info->platform, "HIP %d.%d", version / 10000000,
		       version % 10000000 / 100000);
	if ((now ? hip_api.hipGetDevicePropertiesR0600
		 : hip_api.hipGetDeviceProperties)(properties, id) != MPK_CU_SUCCESS)
		return;
	arch[MPK_HIP_ARCH_BYTES - 1] = '\0';
	mpk_escape_to(mpk_span_str(arch), info->arch, sizeof info->arch);
}

static unsigned rocm_enter(const struct mpk_gpu_device *device)
{
	return hip_api.hipSetDevice(device->id);
}

static unsigned rocm_start(struct mpk_gpu_device *device)
{
	return rocm_enter(device);
}

/* There is nothing to release: a device's state lives as long as the process. */
static void rocm_stop(struct mpk_gpu_device *device)
{
	(void)device;
}

/* --- code ------------------------------------------------------------------------------------ */

static enum mpk_code rocm_get_image(const struct mpk_gpu_device *device,
				    const struct mpk_kernels *k, struct mpk_gpu_image *out,
				    struct mpk_error *err)
{
	struct mpk_span image;

	MPK_TRY(rocm_choose_image(k->data, &device->base.info, &image, err));
	return mpk_gpu_copy_image(image, out, err);
}

/* Returns the compiler's notes about all kernels, which are read when the first kernel is bound; no
 * kernels if they cannot be read. */
static const struct mpk_amdgpu *notes_of(struct mpk_gpu_module *module)
{
	const struct mpk_span image = mpk_span_of(module->image.bytes, module->image.len);
	struct mpk_amdgpu *notes = module->about;

	if (notes)
		return notes;
	notes = mpk_arena_alloc(&module->base.arena, sizeof *notes);
	if (notes && (!mpk_amdgpu_is(image) ||
		      mpk_amdgpu_read(image, &module->base.arena, notes, NULL) != MPK_OK))
		*notes = (struct mpk_amdgpu){ 0 };
	module->about = notes;
	return notes;
}

/* The driver reads as many arguments as the notes list, so their number is checked. */
static bool rocm_param_bytes(const struct mpk_gpu_kernel *kernel, size_t i, size_t *bytes)
{
	const struct mpk_amdgpu *notes = notes_of((struct mpk_gpu_module *)kernel->base.module);

	for (size_t k = 0; notes && k < notes->kernel_count; k++) {
		const struct mpk_amdgpu_kernel *noted = &notes->kernels[k];

		if (!mpk_span_equal(noted->name, kernel->base.info->key))
			continue;
		if (i < noted->visible_args)
			*bytes = (size_t)noted->args[i].bytes;
		return true;
	}
	return false;
}

static enum mpk_code rocm_launch_extended(const struct mpk_gpu_kernel *kernel,
					  const struct mpk_cu_launch_config *c,
					  struct mpk_error *err)
{
	for (unsigned i = 0; i < c->attribute_count; i++)
		if (c->attributes[i].id != MPK_CU_LAUNCH_COOPERATIVE)
			return mpk_fail(
				err, MPK_E_RAISED,
				"kernel '%s' needs a cluster or a programmatic launch, which HIP does not have",
				kernel->base.shown);
	if (!hip_api.hipModuleLaunchCooperativeKernel)
		return mpk_fail(
			err, MPK_E_RAISED,
			"kernel '%s' needs a cooperative launch, which this driver does not have",
			kernel->base.shown);
	unsigned status = hip_api.hipModuleLaunchCooperativeKernel(
		kernel->function, c->grid_x, c->grid_y, c->grid_z, c->block_x, c->block_y,
		c->block_z, c->shared_bytes, c->stream, kernel->params);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(&rocm, err, status, "cannot launch kernel '%s'",
				    kernel->base.shown);
	return MPK_OK;
}

/* --- the tables ------------------------------------------------------------------------------ */

/* TVM stores code objects as "hsaco", and accepts "hip" as another name (rocm_module.cc). */
static const char *const rocm_formats[] = { "hsaco", "hip", NULL };

static const struct mpk_gpu_maker rocm = {
	.kind = MPK_DEVICE_ROCM,
	.name = "rocm",
	.interface = "HIP",
	.ops = &mpk_rocm_ops,
	.driver = &hip_driver,
	.api = &hip_api.shared,
	.statuses = hip_statuses,
	.status_count = MPK_ARRAY_COUNT(hip_statuses),
	.formats = rocm_formats,
	.format_names = "hsaco, hip",
	.no_form = "neither a code object nor a bundle of them",
	.threads = MPK_HIP_MAX_THREADS_PER_BLOCK,
	.block_x = MPK_HIP_MAX_BLOCK_X,
	.grid_x = MPK_HIP_MAX_GRID_X,
	.shared = MPK_HIP_MAX_SHARED_PER_BLOCK,
	.shared_optin = MPK_HIP_MAX_SHARED_PER_BLOCK,
	.units = MPK_HIP_MULTIPROCESSORS,
	.keeps_image = true,
	.axis_threads = UINT32_MAX,
	.status_name = hip_status_name,
	.describe = rocm_describe,
	.start = rocm_start,
	.enter = rocm_enter,
	.stop = rocm_stop,
	.check = check_code,
	.describe_code = rocm_describe_code,
	.get_image = rocm_get_image,
	.param_bytes = rocm_param_bytes,
	.launch_extended = rocm_launch_extended,
};

static enum mpk_code rocm_list(struct mpk_device_list *list, struct mpk_error *err)
{
	return mpk_gpu_list(&rocm, list, err);
}

static enum mpk_code rocm_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	return mpk_gpu_open(&rocm, ordinal, out, err);
}

static enum mpk_code rocm_check(const struct mpk_device_info *info, const struct mpk_kernels *k,
				struct mpk_error *err)
{
	return mpk_gpu_check(&rocm, info, k, err);
}

static const struct mpk_device_code_ops rocm_code = MPK_GPU_CODE_OPS(rocm_check);
const struct mpk_device_ops mpk_rocm_ops = MPK_GPU_OPS(rocm_list, rocm_open, &rocm_code);

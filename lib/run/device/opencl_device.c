/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_device.c - platforms, devices, contexts and queues */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/internal/opencl.h"
#include "text/escape.h"

/* One device of one platform, in the order of `opencl:N`. */
struct found {
	cl_platform_id platform;
	cl_device_id device;
	bool is_cpu;
};

enum { PLATFORM_MAX = 16, DEVICE_MAX = 64 };

struct found_list {
	struct found items[DEVICE_MAX];
	size_t count;
};

static void find_in_platform(const struct mpk_opencl_api *cl, cl_platform_id platform,
			     struct found_list *list)
{
	cl_device_id ids[DEVICE_MAX];
	cl_uint count = 0;

	/* A platform without devices is an error for clGetDeviceIDs and none for us. */
	if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICE_MAX, ids, &count))
		return;
	for (cl_uint i = 0; i < count && i < DEVICE_MAX && list->count < DEVICE_MAX; i++) {
		cl_device_type type = 0;

		(void)cl->clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
		list->items[list->count++] =
			(struct found){ platform, ids[i], type & CL_DEVICE_TYPE_CPU };
	}
}

/* Devices that are not CPUs come first; otherwise the order of the drivers stays. */
static void cpus_last(struct found_list *list)
{
	struct found_list sorted = { .count = 0 };

	for (int cpus = 0; cpus <= 1; cpus++)
		for (size_t i = 0; i < list->count; i++)
			if (list->items[i].is_cpu == (cpus == 1))
				sorted.items[sorted.count++] = list->items[i];
	*list = sorted;
}

static enum mpk_code find_all(const struct mpk_opencl_api *cl, struct found_list *list,
			      struct mpk_error *err)
{
	cl_platform_id platforms[PLATFORM_MAX];
	cl_uint count = 0;
	cl_int status = cl->clGetPlatformIDs(PLATFORM_MAX, platforms, &count);

	list->count = 0;
	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "no OpenCL here");
	for (cl_uint i = 0; i < count && i < PLATFORM_MAX; i++)
		find_in_platform(cl, platforms[i], list);
	if (list->count == 0)
		return mpk_fail(err, MPK_E_DEVICE,
				"no OpenCL here: %u drivers are installed, but none has a device",
				count);
	cpus_last(list);
	return MPK_OK;
}

static void get_text(const struct mpk_opencl_api *cl, cl_device_id id, cl_device_info what,
		     char *out, size_t size)
{
	char raw[256] = "";

	(void)cl->clGetDeviceInfo(id, what, sizeof raw - 1, raw, NULL);
	size_t len = strlen(raw);

	while (len && raw[len - 1] == ' ') /* "OpenCL C 1.2 " is how it must end */
		len--;
	mpk_escape_to(mpk_span_of(raw, len), out, size);
}

static uint64_t get_u64(const struct mpk_opencl_api *cl, cl_device_id id, cl_device_info what)
{
	cl_ulong value = 0;

	(void)cl->clGetDeviceInfo(id, what, sizeof value, &value, NULL);
	return value;
}

static bool has_extension(const struct mpk_opencl_api *cl, cl_device_id id, const char *name)
{
	size_t size = 0, len = strlen(name);
	char *list = NULL;
	bool found = false;

	if (cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) == CL_SUCCESS)
		list = calloc(size + 1, 1);
	if (list && cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, list, NULL) == CL_SUCCESS)
		for (const char *at = strstr(list, name); at && !found; at = strstr(at + 1, name))
			found = (at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]);
	free(list);
	return found;
}

static void describe(const struct mpk_opencl_api *cl, const struct found *found, unsigned ordinal,
		     struct mpk_device_info *info)
{
	char raw[256] = "", il[256] = "";
	cl_uint units = 0;
	size_t group = 0;

	*info = (struct mpk_device_info){ .kind = MPK_DEVICE_OPENCL, .ordinal = ordinal };
	get_text(cl, found->device, CL_DEVICE_NAME, info->name, sizeof info->name);
	get_text(cl, found->device, CL_DEVICE_OPENCL_C_VERSION, info->arch, sizeof info->arch);
	(void)cl->clGetPlatformInfo(found->platform, CL_PLATFORM_NAME, sizeof raw - 1, raw, NULL);
	mpk_escape_to(mpk_span_str(raw), info->platform, sizeof info->platform);
	(void)cl->clGetDeviceInfo(found->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units,
				  NULL);
	(void)cl->clGetDeviceInfo(found->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group,
				  &group, NULL);
	if (cl->clGetDeviceInfo(found->device, CL_DEVICE_IL_VERSION, sizeof il - 1, il, NULL) ==
	    CL_SUCCESS)
		info->takes_spirv = cl->clCreateProgramWithIL && strstr(il, "SPIR-V");
	info->has_half = has_extension(cl, found->device, "cl_khr_fp16");
	info->has_double = has_extension(cl, found->device, "cl_khr_fp64") ||
			   get_u64(cl, found->device, CL_DEVICE_DOUBLE_FP_CONFIG);
	info->has_images = get_u64(cl, found->device, CL_DEVICE_IMAGE_SUPPORT) != 0;
	info->memory_bytes = get_u64(cl, found->device, CL_DEVICE_GLOBAL_MEM_SIZE);
	info->shared_bytes = get_u64(cl, found->device, CL_DEVICE_LOCAL_MEM_SIZE);
	info->compute_units = units;
	info->block_limit = group;
}

static enum mpk_code opencl_list(struct mpk_device_list *list, struct mpk_error *err)
{
	const struct mpk_opencl_api *cl;
	struct found_list found;

	MPK_TRY(mpk_opencl_api_get(&cl, err));
	MPK_TRY(find_all(cl, &found, err));
	for (size_t i = 0; i < found.count; i++) {
		struct mpk_device_info info;

		describe(cl, &found.items[i], (unsigned)i, &info);
		MPK_TRY(mpk_device_list_push(list, &info, err));
	}
	return MPK_OK;
}

static enum mpk_code start(struct mpk_opencl_device *device, struct mpk_error *err)
{
	const struct mpk_opencl_api *cl = device->cl;
	size_t limits[8] = { 0 };
	cl_int status;

	(void)cl->clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof limits, limits,
				  NULL);
	for (int axis = 0; axis < 3; axis++)
		device->item_limits[axis] = limits[axis];
	device->context = cl->clCreateContext(NULL, 1, &device->id, NULL, NULL, &status);
	if (!device->context)
		return mpk_opencl_fail(err, status, "cannot start '%s'", device->base.info.name);
	device->queue = cl->clCreateCommandQueue(device->context, device->id, 0, &status);
	if (!device->queue)
		return mpk_opencl_fail(err, status, "cannot open a queue of '%s'",
				       device->base.info.name);
	return MPK_OK;
}

static void opencl_close(struct mpk_device *base)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);

	if (device->queue) {
		(void)device->cl->clFinish(device->queue);
		(void)device->cl->clReleaseCommandQueue(device->queue);
	}
	if (device->context)
		(void)device->cl->clReleaseContext(device->context);
	free(device);
}

static enum mpk_code opencl_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	const struct mpk_opencl_api *cl;
	struct found_list found;

	MPK_TRY(mpk_opencl_api_get(&cl, err));
	MPK_TRY(find_all(cl, &found, err));
	if (ordinal >= found.count)
		return mpk_device_no_such(err, "opencl", ordinal, found.count);
	struct mpk_opencl_device *device = calloc(1, sizeof *device);

	MPK_TRY_ALLOC(device, err);
	device->base.ops = &mpk_opencl_ops;
	device->cl = cl;
	device->id = found.items[ordinal].device;
	describe(cl, &found.items[ordinal], ordinal, &device->base.info);
	enum mpk_code code = start(device, err);

	if (code != MPK_OK) {
		opencl_close(&device->base);
		return mpk_failed(code);
	}
	*out = &device->base;
	return MPK_OK;
}

const struct mpk_device_ops mpk_opencl_ops = {
	.kind = MPK_DEVICE_OPENCL,
	.name = "opencl",
	.list = opencl_list,
	.open = opencl_open,
	.close = opencl_close,
	.alloc = mpk_opencl_alloc,
	.alloc_texture = mpk_opencl_alloc_texture,
	.free = mpk_opencl_free,
	.write = mpk_opencl_write,
	.read = mpk_opencl_read,
	.copy = mpk_opencl_copy,
	.sync = mpk_opencl_sync,
	.load = mpk_opencl_load,
	.unload = mpk_opencl_unload,
	.bind = mpk_opencl_bind,
	.unbind = mpk_opencl_unbind,
	.kernel_bytes = sizeof(struct mpk_opencl_kernel),
	.launch = mpk_opencl_launch,
	.check = mpk_opencl_check,
};

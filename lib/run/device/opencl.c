/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.c - OpenCL platforms, devices, contexts, queues and memory
 *
 * `opencl:N` numbers the devices of all platforms, CPUs last. A device has one in-order queue,
 * which guarantees the order of calls that device.h promises. Memory is represented by the address
 * of a descriptor. Its first field is the cl_mem, because kernels launched by TVM's host code look
 * for it there. The other fields hold properties that OpenCL does not report about a cl_mem. */
#include "device/internal/opencl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "text/escape.h"

/* --- memory ---------------------------------------------------------------------------------- */

/* Takes ownership of mem, also on failure. */
static enum mpk_code wrap_memory(cl_mem mem, const struct mpk_opencl_memory *as,
				 const struct mpk_opencl_device *device, void **out,
				 struct mpk_error *err)
{
	struct mpk_opencl_memory *memory = malloc(sizeof *memory);

	if (!memory) {
		(void)device->cl->clReleaseMemObject(mem);
		return mpk_fail_nomem(err);
	}
	*memory = *as;
	memory->mem = mem;
	*out = memory;
	return MPK_OK;
}

/* OpenCL refuses a buffer of 0 bytes (CL_INVALID_BUFFER_SIZE), so tensors without elements get one
 * byte. */
static enum mpk_code opencl_alloc(struct mpk_device *base, uint64_t bytes, void **out,
				  struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	cl_int status;
	cl_mem mem = device->cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE,
						bytes ? (size_t)bytes : 1, NULL, &status);

	if (!mem)
		return mpk_opencl_fail(err, status, "cannot allocate %" PRIu64 " bytes on '%s'",
				       bytes, base->info.name);
	return wrap_memory(mem, &(struct mpk_opencl_memory){ .bytes = bytes }, device, out, err);
}

/* OpenCL also has images of normalised integers, but they would change the values. */
static bool channel_type(struct mpk_dtype t, cl_channel_type *out)
{
	if (t.code == MPK_DTYPE_FLOAT && (t.bits == 32 || t.bits == 16))
		*out = t.bits == 32 ? CL_FLOAT : CL_HALF_FLOAT;
	else if (t.code == MPK_DTYPE_INT && (t.bits == 32 || t.bits == 16 || t.bits == 8))
		*out = t.bits == 32   ? CL_SIGNED_INT32
		       : t.bits == 16 ? CL_SIGNED_INT16
				      : CL_SIGNED_INT8;
	else if (t.code == MPK_DTYPE_UINT && (t.bits == 32 || t.bits == 16 || t.bits == 8))
		*out = t.bits == 32   ? CL_UNSIGNED_INT32
		       : t.bits == 16 ? CL_UNSIGNED_INT16
				      : CL_UNSIGNED_INT8;
	else
		return false;
	return true;
}

/* Computes the bytes of all pixels; false if there are none or too many. */
static bool image_bytes(const struct mpk_device_texture *t, uint64_t *out)
{
	uint64_t bytes = mpk_dtype_bytes((struct mpk_dtype){ t->channel.code, t->channel.bits, 4 });

	return t->width && t->height && mpk_mul_u64(bytes, t->width, &bytes) &&
	       mpk_mul_u64(bytes, t->height, &bytes) &&
	       mpk_mul_u64(bytes, t->layers ? t->layers : 1, out);
}

static enum mpk_code opencl_alloc_texture(struct mpk_device *base,
					  const struct mpk_device_texture *t, void **out,
					  struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	struct mpk_opencl_memory memory = { .is_image = true,
					    .is_array = t->layers != 0,
					    .region = { (size_t)t->width, (size_t)t->height,
							t->layers ? (size_t)t->layers : 1 } };
	cl_image_format format = { .image_channel_order = CL_RGBA };
	cl_image_desc desc = { .image_type = t->layers ? CL_MEM_OBJECT_IMAGE2D_ARRAY
						       : CL_MEM_OBJECT_IMAGE2D,
			       .image_width = memory.region[0],
			       .image_height = memory.region[1],
			       .image_array_size = (size_t)t->layers };
	char type[MPK_DTYPE_TEXT];
	cl_int status;

	if (!channel_type(t->channel, &format.image_channel_data_type))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "no image format holds %s",
				mpk_dtype_print(t->channel, type));
	if (!image_bytes(t, &memory.bytes))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the texture's shape is empty or too large");
	cl_mem mem = device->cl->clCreateImage(device->context, CL_MEM_READ_WRITE, &format, &desc,
					       NULL, &status);

	if (!mem)
		return mpk_opencl_fail(err, status, "cannot allocate an image of %zux%zux%zu",
				       memory.region[0], memory.region[1], memory.region[2]);
	return wrap_memory(mem, &memory, device, out, err);
}

static void opencl_free(struct mpk_device *base, void *data)
{
	struct mpk_opencl_memory *memory = data;

	(void)mpk_opencl_device_of(base)->cl->clReleaseMemObject(memory->mem);
	free(memory);
}

/* Drivers do not agree on ranges beyond the buffer: some of them write there. */
static enum mpk_code check_memory_range(const struct mpk_opencl_memory *memory, uint64_t off,
					uint64_t bytes, struct mpk_error *err)
{
	if (memory->is_image && (off || bytes != memory->bytes))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a texture of %" PRIu64 " bytes is copied as a whole only",
				memory->bytes);
	if (off > memory->bytes || bytes > memory->bytes - off)
		return mpk_fail(err, MPK_E_RANGE,
				"copy of %" PRIu64 " bytes at %" PRIu64 " in a buffer of %" PRIu64,
				bytes, off, memory->bytes);
	return MPK_OK;
}

static const size_t origin[3];

/* The copy is blocking, because the caller may reuse its memory afterwards. */
static enum mpk_code opencl_write(struct mpk_device *base, void *to, uint64_t to_off,
				  struct mpk_span from, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	const struct mpk_opencl_memory *memory = to;
	cl_int status;

	MPK_TRY(check_memory_range(memory, to_off, from.len, err));
	if (memory->is_image)
		status = device->cl->clEnqueueWriteImage(device->queue, memory->mem, CL_TRUE,
							 origin, memory->region, 0, 0, from.data, 0,
							 NULL, NULL);
	else
		status = device->cl->clEnqueueWriteBuffer(device->queue, memory->mem, CL_TRUE,
							  (size_t)to_off, from.len, from.data, 0,
							  NULL, NULL);
	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "cannot copy %zu bytes to '%s'", from.len,
				       base->info.name);
	return MPK_OK;
}

/* The copy is blocking, and waits for the kernels, which are in the same in-order queue. */
static enum mpk_code opencl_read(struct mpk_device *base, const void *from, uint64_t from_off,
				 void *to, size_t n, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	const struct mpk_opencl_memory *memory = from;
	cl_int status;

	MPK_TRY(check_memory_range(memory, from_off, n, err));
	if (memory->is_image)
		status = device->cl->clEnqueueReadImage(device->queue, memory->mem, CL_TRUE, origin,
							memory->region, 0, 0, to, 0, NULL, NULL);
	else
		status = device->cl->clEnqueueReadBuffer(device->queue, memory->mem, CL_TRUE,
							 (size_t)from_off, n, to, 0, NULL, NULL);
	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "cannot copy %zu bytes from '%s'", n,
				       base->info.name);
	return MPK_OK;
}

/* Copies between buffers and images: OpenCL has a separate call for each pair of kinds. */
static cl_int enqueue_copy(const struct mpk_opencl_device *device,
			   const struct mpk_device_copy *copy)
{
	const struct mpk_opencl_memory *to = copy->to, *from = copy->from;
	const struct mpk_opencl_api *cl = device->cl;

	if (from->is_image && to->is_image)
		return cl->clEnqueueCopyImage(device->queue, from->mem, to->mem, origin, origin,
					      from->region, 0, NULL, NULL);
	if (from->is_image)
		return cl->clEnqueueCopyImageToBuffer(device->queue, from->mem, to->mem, origin,
						      from->region, (size_t)copy->to_off, 0, NULL,
						      NULL);
	if (to->is_image)
		return cl->clEnqueueCopyBufferToImage(device->queue, from->mem, to->mem,
						      (size_t)copy->from_off, origin, to->region, 0,
						      NULL, NULL);
	return cl->clEnqueueCopyBuffer(device->queue, from->mem, to->mem, (size_t)copy->from_off,
				       (size_t)copy->to_off, (size_t)copy->bytes, 0, NULL, NULL);
}

static enum mpk_code opencl_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
				 struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);

	MPK_TRY(check_memory_range(copy->to, copy->to_off, copy->bytes, err));
	MPK_TRY(check_memory_range(copy->from, copy->from_off, copy->bytes, err));
	cl_int status = enqueue_copy(device, copy);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "cannot copy %" PRIu64 " bytes on '%s'",
				       copy->bytes, base->info.name);
	return MPK_OK;
}

static enum mpk_code opencl_sync(struct mpk_device *base, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	cl_int status = device->cl->clFinish(device->queue);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "a kernel on '%s' failed", base->info.name);
	return MPK_OK;
}

/* --- devices --------------------------------------------------------------------------------- */

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

/* clGetDeviceIDs may report more devices than the array can hold. */
static void find_in_platform(const struct mpk_opencl_api *cl, cl_platform_id platform,
			     struct found_list *list)
{
	cl_device_id ids[DEVICE_MAX];
	cl_uint count = 0;

	/* If a platform has no devices, clGetDeviceIDs fails; here it is not an error. */
	if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICE_MAX, ids, &count))
		return;
	for (cl_uint i = 0; i < count && i < DEVICE_MAX && list->count < DEVICE_MAX; i++) {
		cl_device_type type = 0;

		(void)cl->clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
		list->items[list->count++] =
			(struct found){ platform, ids[i], type & CL_DEVICE_TYPE_CPU };
	}
}

/* Moves CPUs to the end; otherwise the drivers' order is kept. */
static void cpus_last(struct found_list *list)
{
	struct found_list sorted = { .count = 0 };

	for (int cpus = 0; cpus <= 1; cpus++)
		for (size_t i = 0; i < list->count; i++)
			if (list->items[i].is_cpu == (cpus == 1))
				sorted.items[sorted.count++] = list->items[i];
	*list = sorted;
}

static enum mpk_code find_devices(const struct mpk_opencl_api *cl, struct found_list *list,
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

static void get_device_text(const struct mpk_opencl_api *cl, cl_device_id id, cl_device_info what,
			    char *out, size_t size)
{
	char raw[256] = "";

	(void)cl->clGetDeviceInfo(id, what, sizeof raw - 1, raw, NULL);
	size_t len = strlen(raw);

	/* the specification requires a trailing blank, as in "OpenCL C 1.2 " */
	while (len && raw[len - 1] == ' ')
		len--;
	mpk_escape_to(mpk_span_of(raw, len), out, size);
}

/* Zeroes the value first: for a cl_bool the driver writes only 4 bytes. */
static uint64_t get_device_u64(const struct mpk_opencl_api *cl, cl_device_id id,
			       cl_device_info what)
{
	cl_ulong value = 0;

	(void)cl->clGetDeviceInfo(id, what, sizeof value, &value, NULL);
	return value;
}

/* Compares whole words of the list: "cl_khr_fp16" is part of other names. */
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

static void describe_found(const struct mpk_opencl_api *cl, const struct found *found,
			   unsigned ordinal, struct mpk_device_info *info)
{
	char raw[256] = "", il[256] = "";
	cl_uint units = 0;
	size_t group = 0;

	*info = (struct mpk_device_info){ .kind = MPK_DEVICE_OPENCL, .ordinal = ordinal };
	get_device_text(cl, found->device, CL_DEVICE_NAME, info->name, sizeof info->name);
	get_device_text(cl, found->device, CL_DEVICE_OPENCL_C_VERSION, info->arch,
			sizeof info->arch);
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
			   get_device_u64(cl, found->device, CL_DEVICE_DOUBLE_FP_CONFIG);
	info->has_images = get_device_u64(cl, found->device, CL_DEVICE_IMAGE_SUPPORT) != 0;
	info->memory_bytes = get_device_u64(cl, found->device, CL_DEVICE_GLOBAL_MEM_SIZE);
	info->shared_bytes = get_device_u64(cl, found->device, CL_DEVICE_LOCAL_MEM_SIZE);
	info->compute_units = units;
	info->block_limit = group;
}

static enum mpk_code opencl_list(struct mpk_device_list *list, struct mpk_error *err)
{
	const struct mpk_opencl_api *cl;
	struct found_list found;

	MPK_TRY(mpk_opencl_api_get(&cl, err));
	MPK_TRY(find_devices(cl, &found, err));
	for (size_t i = 0; i < found.count; i++) {
		struct mpk_device_info info;

		describe_found(cl, &found.items[i], (unsigned)i, &info);
		MPK_TRY(mpk_device_list_push(list, &info, err));
	}
	return MPK_OK;
}

/* clCreateCommandQueue has been deprecated since 2.0, but is the only function that every driver
 * has. Without properties the queue is in-order. */
static enum mpk_code start_queue(struct mpk_opencl_device *device, struct mpk_error *err)
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

/* Also closes a device that did not start completely; what was not created is NULL. */
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

/* Lists all devices each time, because an index is only meaningful in the order of the list. */
static enum mpk_code opencl_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	const struct mpk_opencl_api *cl;
	struct found_list found;

	MPK_TRY(mpk_opencl_api_get(&cl, err));
	MPK_TRY(find_devices(cl, &found, err));
	if (ordinal >= found.count)
		return mpk_device_no_such(err, "opencl", ordinal, found.count);
	struct mpk_opencl_device *device = calloc(1, sizeof *device);

	MPK_TRY_ALLOC(device, err);
	device->base.ops = &mpk_opencl_ops;
	device->cl = cl;
	device->id = found.items[ordinal].device;
	describe_found(cl, &found.items[ordinal], ordinal, &device->base.info);
	enum mpk_code code = start_queue(device, err);

	if (code != MPK_OK) {
		opencl_close(&device->base);
		return mpk_failed(code);
	}
	*out = &device->base;
	return MPK_OK;
}

const struct mpk_device_ops mpk_opencl_ops = {
	.list = opencl_list,
	.open = opencl_open,
	.close = opencl_close,
	.alloc = opencl_alloc,
	.alloc_texture = opencl_alloc_texture,
	.free = opencl_free,
	.write = opencl_write,
	.read = opencl_read,
	.copy = opencl_copy,
	.sync = opencl_sync,
	.code = &mpk_opencl_code_ops,
};

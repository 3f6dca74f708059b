/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_memory.c - buffers, images and copies */
#include <inttypes.h>
#include <stdlib.h>

#include "base/num.h"
#include "device/internal/opencl.h"

static enum mpk_code wrap(cl_mem mem, const struct mpk_opencl_memory *as,
			  const struct mpk_opencl_device *device, void **out, struct mpk_error *err)
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

enum mpk_code mpk_opencl_alloc(struct mpk_device *base, uint64_t bytes, void **out,
			       struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	cl_int status;
	cl_mem mem = device->cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE,
						bytes ? (size_t)bytes : 1, NULL, &status);

	if (!mem)
		return mpk_opencl_fail(err, status, "cannot allocate %" PRIu64 " bytes on '%s'",
				       bytes, base->info.name);
	return wrap(mem, &(struct mpk_opencl_memory){ .bytes = bytes }, device, out, err);
}

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

/* Bytes of all pixels; false when there are none or too many. */
static bool image_bytes(const struct mpk_device_texture *t, uint64_t *out)
{
	uint64_t bytes = mpk_dtype_bytes((struct mpk_dtype){ t->channel.code, t->channel.bits, 4 });

	return t->width && t->height && mpk_mul_u64(bytes, t->width, &bytes) &&
	       mpk_mul_u64(bytes, t->height, &bytes) &&
	       mpk_mul_u64(bytes, t->layers ? t->layers : 1, out);
}

enum mpk_code mpk_opencl_alloc_texture(struct mpk_device *base, const struct mpk_device_texture *t,
				       void **out, struct mpk_error *err)
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
	return wrap(mem, &memory, device, out, err);
}

void mpk_opencl_free(struct mpk_device *base, void *data)
{
	struct mpk_opencl_memory *memory = data;

	(void)mpk_opencl_device_of(base)->cl->clReleaseMemObject(memory->mem);
	free(memory);
}

static enum mpk_code check_range(const struct mpk_opencl_memory *memory, uint64_t off,
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

enum mpk_code mpk_opencl_write(struct mpk_device *base, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	const struct mpk_opencl_memory *memory = to;
	cl_int status;

	MPK_TRY(check_range(memory, to_off, from.len, err));
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

enum mpk_code mpk_opencl_read(struct mpk_device *base, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	const struct mpk_opencl_memory *memory = from;
	cl_int status;

	MPK_TRY(check_range(memory, from_off, n, err));
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

/* Pixels and bytes: of each pair of memories one call knows the way. */
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

enum mpk_code mpk_opencl_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
			      struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);

	MPK_TRY(check_range(copy->to, copy->to_off, copy->bytes, err));
	MPK_TRY(check_range(copy->from, copy->from_off, copy->bytes, err));
	cl_int status = enqueue_copy(device, copy);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "cannot copy %" PRIu64 " bytes on '%s'",
				       copy->bytes, base->info.name);
	return MPK_OK;
}

enum mpk_code mpk_opencl_sync(struct mpk_device *base, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	cl_int status = device->cl->clFinish(device->queue);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "a kernel on '%s' failed", base->info.name);
	return MPK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_memory.c - buffers, images and copies */
#include <inttypes.h>
#include <stdlib.h>

#include "base/num.h"
#include "device/opencl.h"
#include "text/escape.h"

static enum mpk_code wrap(cl_mem mem, uint64_t bytes, bool is_image,
			  const struct mpk_opencl_device *device, void **out, struct mpk_error *err)
{
	struct mpk_opencl_memory *memory = malloc(sizeof *memory);

	if (!memory) {
		(void)device->cl->clReleaseMemObject(mem);
		return mpk_fail_nomem(err);
	}
	*memory = (struct mpk_opencl_memory){ mem, bytes, is_image };
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
	return wrap(mem, bytes, false, device, out, err);
}

/* Where TVM splits the dimensions into image height (before) and width (from there on). */
static enum mpk_code split_axis(const struct mpk_device_texture *t, size_t *out,
				struct mpk_error *err)
{
	if (t->ndim < 2)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a texture needs at least 2 dimensions, not %zu", t->ndim);
	if (mpk_span_is(t->scope, "global.texture"))
		*out = t->ndim - 2;
	else if (mpk_span_is(t->scope, "global.texture-weight"))
		*out = 1;
	else if (mpk_span_is(t->scope, "global.texture-nhwc"))
		*out = t->ndim == 3 ? 1 : 2;
	else
		return mpk_fail(err, MPK_E_UNSUPPORTED, "unknown texture scope '%s'",
				MPK_QUOTE(t->scope));
	if (*out > t->ndim - 1)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a '%s' cannot have %zu dimensions",
				MPK_QUOTE(t->scope), t->ndim);
	return MPK_OK;
}

static bool product(const int64_t *shape, size_t from, size_t to, size_t *out)
{
	uint64_t value = 1;

	for (size_t i = from; i < to; i++)
		if (shape[i] <= 0 || !mpk_mul_u64(value, (uint64_t)shape[i], &value))
			return false;
	*out = (size_t)value;
	return true;
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

enum mpk_code mpk_opencl_alloc_texture(struct mpk_device *base, const struct mpk_device_texture *t,
				       void **out, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	cl_image_format format = { .image_channel_order = CL_RGBA };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D };
	char type[MPK_DTYPE_TEXT];
	size_t axis = 0;
	cl_int status;

	MPK_TRY(split_axis(t, &axis, err));
	if (!channel_type(t->dtype, &format.image_channel_data_type))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "no image format holds %s",
				mpk_dtype_print(t->dtype, type));
	if (t->shape[t->ndim - 1] != 4)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the last dimension of a texture must be 4, not %" PRId64,
				t->shape[t->ndim - 1]);
	if (!product(t->shape, 0, axis, &desc.image_height) ||
	    !product(t->shape, axis, t->ndim - 1, &desc.image_width))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the texture's shape is empty or too large");
	cl_mem mem = device->cl->clCreateImage(device->context, CL_MEM_READ_WRITE, &format, &desc,
					       NULL, &status);

	if (!mem)
		return mpk_opencl_fail(err, status, "cannot allocate an image of %zux%zu",
				       desc.image_width, desc.image_height);
	return wrap(mem, 0, true, device, out, err);
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
	if (memory->is_image)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "textures cannot be copied");
	if (off > memory->bytes || bytes > memory->bytes - off)
		return mpk_fail(err, MPK_E_RANGE,
				"copy of %" PRIu64 " bytes at %" PRIu64 " in a buffer of %" PRIu64,
				bytes, off, memory->bytes);
	return MPK_OK;
}

enum mpk_code mpk_opencl_write(struct mpk_device *base, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	const struct mpk_opencl_memory *memory = to;

	MPK_TRY(check_range(memory, to_off, from.len, err));
	cl_int status = device->cl->clEnqueueWriteBuffer(device->queue, memory->mem, CL_TRUE,
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

	MPK_TRY(check_range(memory, from_off, n, err));
	cl_int status = device->cl->clEnqueueReadBuffer(device->queue, memory->mem, CL_TRUE,
							(size_t)from_off, n, to, 0, NULL, NULL);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "cannot copy %zu bytes from '%s'", n,
				       base->info.name);
	return MPK_OK;
}

enum mpk_code mpk_opencl_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
			      struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(base);
	const struct mpk_opencl_memory *to = copy->to, *from = copy->from;

	MPK_TRY(check_range(to, copy->to_off, copy->bytes, err));
	MPK_TRY(check_range(from, copy->from_off, copy->bytes, err));
	cl_int status = device->cl->clEnqueueCopyBuffer(
		device->queue, from->mem, to->mem, (size_t)copy->from_off, (size_t)copy->to_off,
		(size_t)copy->bytes, 0, NULL, NULL);

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

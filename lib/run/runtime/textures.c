/* SPDX-License-Identifier: Apache-2.0 */
/* textures.c - tensors on devices: made there, sent, fetched, copied; and those whose memory is an image
 *
 * Drivers copy within a device, and between it and the host; all else goes over the host.
 *
 * TVM folds the extents of a tensor into those of an image; the last one is the four channels of a
 * pixel. Two ways of folding exist: up to 0.22 into width and height, from 0.23 on into the layers
 * of an array, whose pixels have 128 or 64 bits whatever the elements are.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "device/device.h"
#include "runtime/devices.h"
#include "text/escape.h"

/* --- transfers -------------------------------------------------------------------------------- */

enum mpk_code mpk_devices_empty(struct mpk_devices *devices, const struct mpk_tensor *like,
				struct mpk_dldevice where, struct mpk_tensor **out,
				struct mpk_error *err)
{
	struct mpk_allocator *allocator;
	struct mpk_storage *storage;

	MPK_TRY(mpk_devices_allocator(devices, where, &allocator, err));
	MPK_TRY(mpk_allocator_storage(allocator, like->bytes, &storage, err));
	enum mpk_code code = mpk_tensor_view(storage, 0, like->dl.dtype, like->dl.shape,
					     (size_t)like->dl.ndim, out, err);

	mpk_storage_drop(storage);
	return code;
}

/* The devices of both ends are opened where they are not, so that an error names the device. */
enum mpk_code mpk_devices_copy(struct mpk_devices *devices, const struct mpk_dltensor *from,
			       const struct mpk_dltensor *to, uint64_t bytes, struct mpk_error *err)
{
	struct mpk_device *a, *b;

	if (mpk_dldevice_is_host(from->device) && mpk_dldevice_is_host(to->device)) {
		if (bytes)
			memmove(mpk_dltensor_data(to), mpk_dltensor_data(from), (size_t)bytes);
		return MPK_OK;
	}
	MPK_TRY(mpk_devices_get(devices, from->device, &a, err));
	MPK_TRY(mpk_devices_get(devices, to->device, &b, err));
	if (mpk_dldevice_is_host(from->device))
		return mpk_device_write(b, to->data, to->byte_offset,
					mpk_span_of(mpk_dltensor_data(from), (size_t)bytes), err);
	if (mpk_dldevice_is_host(to->device))
		return mpk_device_read(a, from->data, from->byte_offset, mpk_dltensor_data(to),
				       (size_t)bytes, err);
	if (a != b) {
		/* Two devices that are not the processor have no way to each other but over it. */
		void *data = malloc(bytes ? (size_t)bytes : 1);
		enum mpk_code code;

		MPK_TRY_ALLOC(data, err);
		code = mpk_device_read(a, from->data, from->byte_offset, data, (size_t)bytes, err);
		if (code == MPK_OK)
			code = mpk_device_write(b, to->data, to->byte_offset,
						mpk_span_of(data, (size_t)bytes), err);
		free(data);
		return code;
	}
	return mpk_device_copy(a,
			       &(struct mpk_device_copy){ .to = to->data,
							  .to_off = to->byte_offset,
							  .from = from->data,
							  .from_off = from->byte_offset,
							  .bytes = bytes },
			       err);
}

enum mpk_code mpk_devices_send(struct mpk_devices *devices, struct mpk_tensor *tensor,
			       struct mpk_dldevice where, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	struct mpk_device *device;
	struct mpk_tensor *sent;

	if (where.type == MPK_DL_CPU) {
		*out = mpk_tensor_hold(tensor);
		return MPK_OK;
	}
	MPK_TRY(mpk_devices_get(devices, where, &device, err));
	MPK_TRY(mpk_devices_empty(devices, tensor, where, &sent, err));
	enum mpk_code code =
		mpk_device_write(device, sent->dl.data, 0, mpk_tensor_span(tensor), err);

	if (code != MPK_OK) {
		mpk_tensor_drop(sent);
		return mpk_failed(code);
	}
	*out = sent;
	return MPK_OK;
}

/* Waits first: a fault of a kernel is then reported as one and not as a failed copy. */
enum mpk_code mpk_devices_fetch(struct mpk_devices *devices, const struct mpk_dltensor *from,
				struct mpk_tensor *to, struct mpk_error *err)
{
	struct mpk_device *device;

	MPK_TRY(mpk_devices_get(devices, from->device, &device, err));
	MPK_TRY(mpk_device_sync(device, err));
	return mpk_device_read(device, from->data, from->byte_offset, mpk_dltensor_data(&to->dl),
			       (size_t)to->bytes, err);
}

enum mpk_code mpk_devices_copy_to_host(struct mpk_devices *devices, const struct mpk_dltensor *from,
				       struct mpk_tensor **out, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;
	struct mpk_tensor *copy;

	if (!mpk_dldevice_is_host(from->device) && !mpk_dltensor_is_compact(from))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor on a device whose rows are not contiguous");
	MPK_TRY(mpk_tensor_create(from->dtype, from->shape, (size_t)from->ndim, MPK_STORAGE_PRIVATE,
				  &copy, err));
	if (mpk_dldevice_is_host(from->device))
		mpk_tensor_copy_from(copy, from);
	else
		code = mpk_devices_fetch(devices, from, copy, err);
	if (code != MPK_OK) {
		mpk_tensor_drop(copy);
		return mpk_failed(code);
	}
	*out = copy;
	return MPK_OK;
}

/* --- the image that holds a tensor ------------------------------------------------------------ */

/* The first extent of the width; those before it are the height and, in arrays, the layers. */
static enum mpk_code split_axis(const struct mpk_texture_tensor *t, size_t *out,
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
		*out = t->ndim == 3 && !t->is_array ? 1 : 2;
	else
		return mpk_fail(err, MPK_E_UNSUPPORTED, "unknown texture scope '%s'",
				MPK_QUOTE(t->scope));
	if (*out > t->ndim - 1 || (t->is_array && *out == 0))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a '%s' cannot have %zu dimensions",
				MPK_QUOTE(t->scope), t->ndim);
	return MPK_OK;
}

static bool extent_product(const int64_t *shape, size_t from, size_t to, uint64_t *out)
{
	uint64_t value = 1;

	for (size_t i = from; i < to; i++)
		if (shape[i] <= 0 || !mpk_mul_u64(value, (uint64_t)shape[i], &value))
			return false;
	*out = value;
	return true;
}

/* In an array only the size of a pixel counts, and it is read as four floats. */
static enum mpk_code find_channel(const struct mpk_texture_tensor *t, struct mpk_dtype *out,
				  struct mpk_error *err)
{
	int64_t last = t->shape[t->ndim - 1];
	uint64_t bits =
		last > 0 && last <= 16 ? (uint64_t)last * t->dtype.bits * t->dtype.lanes : 0;

	*out = t->dtype;
	if (!t->is_array && last != 4)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the last dimension of a texture must be 4, not %" PRId64, last);
	if (!t->is_array)
		return MPK_OK;
	*out = (struct mpk_dtype){ MPK_DTYPE_FLOAT, bits == 128 ? 32 : 16, 1 };
	if (bits != 128 && bits != 64)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the last dimension of a texture must be 128 or 64 bits, not %" PRIu64
			" (%" PRId64 " elements of %u)",
			bits, last, (unsigned)t->dtype.bits);
	return MPK_OK;
}

enum mpk_code mpk_texture_of(const struct mpk_texture_tensor *t, struct mpk_device_texture *out,
			     struct mpk_error *err)
{
	struct mpk_device_texture texture = { 0 };
	size_t axis = 0, first = 0;

	MPK_TRY(split_axis(t, &axis, err));
	MPK_TRY(find_channel(t, &texture.channel, err));
	if (t->is_array)
		first = axis - 1;
	if ((t->is_array && !extent_product(t->shape, 0, first, &texture.layers)) ||
	    !extent_product(t->shape, first, axis, &texture.height) ||
	    !extent_product(t->shape, axis, t->ndim - 1, &texture.width))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the texture's shape is empty or too large");
	*out = texture;
	return MPK_OK;
}

/* --- storages ------------------------------------------------------------------------------ */

/* The device is the storage's owner, and outlives it. */
static void release_image(struct mpk_storage *storage)
{
	mpk_device_free(storage->owner, storage->data);
	free(storage);
}

enum mpk_code mpk_texture_storage(struct mpk_devices *devices, struct mpk_dldevice where,
				  const struct mpk_texture_tensor *tensor, struct mpk_storage **out,
				  struct mpk_error *err)
{
	struct mpk_texture_tensor folded = *tensor;
	struct mpk_device_texture texture;
	struct mpk_storage *storage;
	struct mpk_device *device;
	enum mpk_code code;
	uint64_t bytes;

	folded.is_array = mpk_devices_image_arrays(devices);
	MPK_TRY(mpk_tensor_bytes_of(tensor->dtype, tensor->shape, tensor->ndim, &bytes, err));
	MPK_TRY(mpk_texture_of(&folded, &texture, err));
	MPK_TRY(mpk_devices_get(devices, where, &device, err));
	storage = calloc(1, sizeof *storage);
	MPK_TRY_ALLOC(storage, err);
	code = mpk_device_alloc_texture(device, &texture, &storage->data, err);
	if (code != MPK_OK) {
		free(storage);
		return mpk_failed(code);
	}
	atomic_init(&storage->refs, 1);
	storage->device = where;
	storage->bytes = bytes;
	storage->owner = device;
	storage->release = release_image;
	*out = storage;
	return MPK_OK;
}

enum mpk_code mpk_texture_send(struct mpk_devices *devices, const struct mpk_tensor *tensor,
			       const char *scope, struct mpk_dldevice where,
			       struct mpk_tensor **out, struct mpk_error *err)
{
	const struct mpk_dltensor *dl = &tensor->dl;
	struct mpk_texture_tensor folded = { .scope = mpk_span_str(scope),
					     .dtype = dl->dtype,
					     .shape = dl->shape,
					     .ndim = (size_t)dl->ndim };
	struct mpk_storage *storage;
	struct mpk_tensor *sent;
	enum mpk_code code;

	MPK_TRY(mpk_texture_storage(devices, where, &folded, &storage, err));
	code = mpk_tensor_view(storage, 0, dl->dtype, dl->shape, folded.ndim, &sent, err);
	mpk_storage_drop(storage);
	MPK_TRY(code);
	code = mpk_devices_copy(devices, dl, &sent->dl, tensor->bytes, err);
	if (code != MPK_OK) {
		mpk_tensor_drop(sent);
		return mpk_failed(code);
	}
	*out = sent;
	return MPK_OK;
}

/* --- for module code ----------------------------------------------------------------------- */

static const char alloc_name[] = "device_api.opencl.alloc_nd";
static const char free_name[] = "device_api.opencl.free_nd";

static enum mpk_code check_kinds(const char *name, const struct mpk_args *args,
				 const enum mpk_value_kind *kinds, size_t wanted,
				 struct mpk_error *err)
{
	bool fits = args->count == wanted;

	for (size_t i = 0; i < wanted && fits; i++)
		fits = args->values[i].kind == kinds[i];
	return fits ? MPK_OK : mpk_fail(err, MPK_E_RAISED, "TypeError: %s: wrong arguments", name);
}

/* The first two arguments of both functions are the device. */
static enum mpk_code get_device(struct mpk_runtime *runtime, const struct mpk_value *args,
				struct mpk_device **out, struct mpk_error *err)
{
	struct mpk_dldevice where = { (int32_t)args[0].integer, (int32_t)args[1].integer };

	return mpk_devices_get(mpk_runtime_devices(runtime), where, out, err);
}

/* The image that the compiler asks for: extents as it has flattened them. */
static enum mpk_code textures_read_image(const struct mpk_value *v, size_t count,
					 struct mpk_device_texture *out, struct mpk_error *err)
{
	bool is_array = count == 8;
	const int64_t *extents = v[6].opaque;
	int64_t ndim = v[5].integer, pixel = is_array ? v[7].integer : 0;

	if (!extents || ndim != (is_array ? 3 : 2))
		return mpk_fail(err, MPK_E_RAISED, "ValueError: %s: %lld extents of an image%s",
				alloc_name, (long long)ndim, is_array ? " array" : "");
	if (is_array && pixel != 128 && pixel != 64)
		return mpk_fail(err, MPK_E_RAISED,
				"ValueError: %s: a pixel of %lld bits; it has 128 or 64",
				alloc_name, (long long)pixel);
	for (int64_t i = 0; i < ndim; i++)
		if (extents[i] <= 0)
			return mpk_fail(err, MPK_E_RAISED, "ValueError: %s: extent %lld is %lld",
					alloc_name, (long long)i, (long long)extents[i]);
	*out = (struct mpk_device_texture){
		.channel = { (uint8_t)v[2].integer, (uint8_t)v[3].integer, 1 },
		.width = (uint64_t)extents[0],
		.height = (uint64_t)extents[1],
		.layers = is_array ? (uint64_t)extents[2] : 0,
	};
	if (is_array)
		out->channel = (struct mpk_dtype){ MPK_DTYPE_FLOAT, (uint8_t)(pixel / 4), 1 };
	return MPK_OK;
}

static enum mpk_code alloc_nd(struct mpk_runtime *runtime, const struct mpk_args *args,
			      struct mpk_value *result, struct mpk_error *err)
{
	static const enum mpk_value_kind kinds[] = {
		MPK_VALUE_INT, MPK_VALUE_INT, MPK_VALUE_INT,    MPK_VALUE_INT,
		MPK_VALUE_STR, MPK_VALUE_INT, MPK_VALUE_OPAQUE, MPK_VALUE_INT,
	};
	struct mpk_device_texture texture;
	struct mpk_device *device;
	void *data;

	MPK_TRY(check_kinds(alloc_name, args, kinds, args->count == 7 ? 7 : 8, err));
	MPK_TRY(textures_read_image(args->values, args->count, &texture, err));
	MPK_TRY(get_device(runtime, args->values, &device, err));
	MPK_TRY(mpk_device_alloc_texture(device, &texture, &data, err));
	*result = mpk_value_of_opaque(data);
	return MPK_OK;
}

static enum mpk_code free_nd(struct mpk_runtime *runtime, const struct mpk_args *args,
			     struct mpk_value *result, struct mpk_error *err)
{
	static const enum mpk_value_kind kinds[] = { MPK_VALUE_INT, MPK_VALUE_INT, MPK_VALUE_STR,
						     MPK_VALUE_OPAQUE };
	struct mpk_device *device;

	(void)result;
	MPK_TRY(check_kinds(free_name, args, kinds, MPK_ARRAY_COUNT(kinds), err));
	MPK_TRY(get_device(runtime, args->values, &device, err));
	mpk_device_free(device, args->values[3].opaque);
	return MPK_OK;
}

const struct mpk_global mpk_texture_globals[MPK_TEXTURE_GLOBALS] = {
	{ alloc_name, alloc_nd },
	{ free_name, free_nd },
};

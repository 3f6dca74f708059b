/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/textures.h"

#include <stdlib.h>

#include "runtime/devices.h"

/* --- storages ------------------------------------------------------------------------------ */

static void release_image(struct mpk_storage *storage)
{
	mpk_device_free(storage->owner, storage->data);
	free(storage);
}

enum mpk_code mpk_texture_storage(struct mpk_devices *devices, struct mpk_dldevice where,
				  const struct mpk_device_texture *texture,
				  struct mpk_storage **out, struct mpk_error *err)
{
	struct mpk_storage *storage;
	struct mpk_device *device;
	enum mpk_code code;
	uint64_t bytes;

	MPK_TRY(mpk_tensor_bytes_of(texture->dtype, texture->shape, texture->ndim, &bytes, err));
	MPK_TRY(mpk_devices_get(devices, where, &device, err));
	storage = calloc(1, sizeof *storage);
	MPK_TRY_ALLOC(storage, err);
	code = mpk_device_alloc_texture(device, texture, &storage->data, err);
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

/* --- for module code ----------------------------------------------------------------------- */

static enum mpk_code check_kinds(const char *name, const struct mpk_args *args,
				 const enum mpk_value_kind *kinds, size_t wanted,
				 struct mpk_error *err)
{
	bool fits = args->count == wanted;

	for (size_t i = 0; i < wanted && fits; i++)
		fits = args->values[i].kind == kinds[i];
	return fits ? MPK_OK : mpk_fail(err, MPK_E_RAISED, "TypeError: %s: wrong arguments", name);
}

static enum mpk_code get_device(struct mpk_runtime *runtime, const struct mpk_value *args,
				struct mpk_device **out, struct mpk_error *err)
{
	struct mpk_dldevice where = { (int32_t)args[0].integer, (int32_t)args[1].integer };

	return mpk_devices_get(mpk_runtime_devices(runtime), where, out, err);
}

enum mpk_code mpk_texture_alloc(struct mpk_runtime *runtime, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	static const enum mpk_value_kind kinds[] = {
		MPK_VALUE_INT, MPK_VALUE_INT, MPK_VALUE_INT,    MPK_VALUE_INT,
		MPK_VALUE_STR, MPK_VALUE_INT, MPK_VALUE_OPAQUE,
	};
	static const char name[] = "device_api.opencl.alloc_nd";
	const struct mpk_value *v = args->values;
	struct mpk_device *device;
	void *data;

	MPK_TRY(check_kinds(name, args, kinds, MPK_ARRAY_COUNT(kinds), err));
	int64_t ndim = v[5].integer;

	if (ndim < 0 || ndim > MPK_TENSOR_NDIM_MAX)
		return mpk_fail(err, MPK_E_RAISED, "ValueError: %s: %lld dimensions", name,
				(long long)ndim);
	struct mpk_device_texture texture = {
		.scope = mpk_value_text_span(&v[4]),
		.dtype = { (uint8_t)v[2].integer, (uint8_t)v[3].integer, 1 },
		.shape = v[6].opaque,
		.ndim = (size_t)ndim,
	};

	MPK_TRY(get_device(runtime, v, &device, err));
	MPK_TRY(mpk_device_alloc_texture(device, &texture, &data, err));
	*result = mpk_value_of_opaque(data);
	return MPK_OK;
}

enum mpk_code mpk_texture_free(struct mpk_runtime *runtime, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err)
{
	static const enum mpk_value_kind kinds[] = { MPK_VALUE_INT, MPK_VALUE_INT, MPK_VALUE_STR,
						     MPK_VALUE_OPAQUE };
	struct mpk_device *device;

	(void)result;
	MPK_TRY(check_kinds("device_api.opencl.free_nd", args, kinds, MPK_ARRAY_COUNT(kinds), err));
	MPK_TRY(get_device(runtime, args->values, &device, err));
	mpk_device_free(device, args->values[3].opaque);
	return MPK_OK;
}

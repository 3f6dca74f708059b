/* textures.c - the functions by which module code allocates images on its device */
#include <stdlib.h>

#include "runtime/devices.h"

/* alloc_nd(device type, id, type code, type bits, scope, ndim, shape) -> handle
 * free_nd(device type, id, scope, handle) */
struct texture_function {
	struct mpk_function base;
	struct mpk_devices *devices;
};

static struct mpk_devices *devices_of(struct mpk_function *self)
{
	return ((struct texture_function *)self)->devices;
}

static bool are_kinds(const struct mpk_value *args, size_t count, const enum mpk_value_kind *kinds,
		      size_t wanted)
{
	for (size_t i = 0; i < count && i < wanted; i++)
		if (args[i].kind != kinds[i])
			return false;
	return count == wanted;
}

static enum mpk_code alloc_nd(struct mpk_function *self, const struct mpk_value *args, size_t count,
			      struct mpk_value *result, struct mpk_error *err)
{
	static const enum mpk_value_kind kinds[] = {
		MPK_VALUE_INT, MPK_VALUE_INT, MPK_VALUE_INT,    MPK_VALUE_INT,
		MPK_VALUE_STR, MPK_VALUE_INT, MPK_VALUE_OPAQUE,
	};
	struct mpk_device *device;
	void *data;

	if (!are_kinds(args, count, kinds, MPK_ARRAY_COUNT(kinds)))
		return mpk_fail(err, MPK_E_RAISED, "TypeError: %s: wrong arguments", self->name);
	int64_t ndim = args[5].integer;

	if (ndim < 0 || ndim > MPK_TENSOR_NDIM_MAX)
		return mpk_fail(err, MPK_E_RAISED, "ValueError: %s: %lld dimensions", self->name,
				(long long)ndim);
	struct mpk_dldevice where = { (int32_t)args[0].integer, (int32_t)args[1].integer };
	struct mpk_device_texture texture = {
		.scope = mpk_value_text_span(&args[4]),
		.dtype = { (uint8_t)args[2].integer, (uint8_t)args[3].integer, 1 },
		.shape = args[6].opaque,
		.ndim = (size_t)ndim,
	};

	MPK_TRY(mpk_devices_get(devices_of(self), where, &device, err));
	MPK_TRY(mpk_device_alloc_texture(device, &texture, &data, err));
	*result = mpk_value_of_opaque(data);
	return MPK_OK;
}

static enum mpk_code free_nd(struct mpk_function *self, const struct mpk_value *args, size_t count,
			     struct mpk_value *result, struct mpk_error *err)
{
	static const enum mpk_value_kind kinds[] = { MPK_VALUE_INT, MPK_VALUE_INT, MPK_VALUE_STR,
						     MPK_VALUE_OPAQUE };
	struct mpk_device *device;

	(void)result;
	if (!are_kinds(args, count, kinds, MPK_ARRAY_COUNT(kinds)))
		return mpk_fail(err, MPK_E_RAISED, "TypeError: %s: wrong arguments", self->name);
	struct mpk_dldevice where = { (int32_t)args[0].integer, (int32_t)args[1].integer };

	MPK_TRY(mpk_devices_get(devices_of(self), where, &device, err));
	mpk_device_free(device, args[3].opaque);
	return MPK_OK;
}

static void destroy(struct mpk_function *self)
{
	free(self);
}

enum mpk_code mpk_devices_add_globals(struct mpk_devices *devices, struct mpk_library *lib,
				      struct mpk_error *err)
{
	static const struct {
		const char *name;
		enum mpk_code (*call)(struct mpk_function *self, const struct mpk_value *args,
				      size_t count, struct mpk_value *result,
				      struct mpk_error *err);
	} rows[] = {
		{ "device_api.opencl.alloc_nd", alloc_nd },
		{ "device_api.opencl.free_nd", free_nd },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct texture_function *f = calloc(1, sizeof *f);

		if (!f)
			return mpk_fail_nomem(err);
		f->base = (struct mpk_function){
			.refs = 1, .name = rows[i].name, .call = rows[i].call, .destroy = destroy
		};
		f->devices = devices;
		MPK_TRY(mpk_library_add_global(lib, rows[i].name, &f->base, err));
	}
	return MPK_OK;
}

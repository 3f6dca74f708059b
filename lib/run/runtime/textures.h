/* SPDX-License-Identifier: Apache-2.0 */
/* textures.h - images on devices: storages of them, and the functions by which module code
 * allocates its own */
#ifndef MPK_RUNTIME_TEXTURES_H
#define MPK_RUNTIME_TEXTURES_H

#include "device/device.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "value/storage.h"

/* A tensor that is to be an image. */
struct mpk_texture_tensor {
	struct mpk_span scope;  /* "global.texture", "global.texture-weight", "...-nhwc" */
	struct mpk_dtype dtype; /* of an element */
	const int64_t *shape;
	size_t ndim;
	bool is_array; /* as TVM from 0.23 on has them: layers, not one image of two dimensions */
};

/* mpk_texture_of - the image that holds a tensor
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (unknown scope, a shape that no image has, a last dimension
 *          that is no pixel) */
enum mpk_code mpk_texture_of(const struct mpk_texture_tensor *tensor,
			     struct mpk_device_texture *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_texture_storage - an image as a storage, given back when its last reference is gone
 * @tensor  is_array is set here, as the kernels that were loaded want their images
 * @out     one reference; its bytes are those of the elements, for the bounds of its tensors
 * Returns  MPK_OK; MPK_E_RANGE: a shape whose size overflows; as mpk_devices_get,
 *          mpk_device_texture_of and mpk_device_alloc_texture */
enum mpk_code mpk_texture_storage(struct mpk_devices *devices, struct mpk_dldevice where,
				  const struct mpk_texture_tensor *tensor, struct mpk_storage **out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_texture_empty - a tensor in an image of its own; its content is not set
 * mpk_texture_send - a compact tensor, wherever it is, as an image on a device, with its content
 * @scope   "global.texture", ...
 * Return  MPK_OK, one reference in *out; as mpk_texture_storage, mpk_tensor_view and
 *          mpk_devices_copy */
enum mpk_code mpk_texture_empty(struct mpk_devices *devices, struct mpk_dldevice where,
				const struct mpk_texture_tensor *tensor, struct mpk_tensor **out,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_texture_send(struct mpk_devices *devices, const struct mpk_tensor *tensor,
			       const char *scope, struct mpk_dldevice where,
			       struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* The functions by which module code allocates images itself:
 * alloc_nd(device type, id, type code, type bits, scope, 2, {width, height}) -> handle, or from TVM
 *          0.23 on (.., 3, {width, height, layers}, bits of a pixel)
 * free_nd(device type, id, scope, handle)
 * They fail with MPK_E_RAISED: wrong arguments; as mpk_devices_get and mpk_device_alloc_texture */
enum { MPK_TEXTURE_GLOBALS = 2 };
extern const struct mpk_global mpk_texture_globals[MPK_TEXTURE_GLOBALS];

#endif

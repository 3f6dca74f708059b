/* SPDX-License-Identifier: Apache-2.0 */
/* textures.h - images on devices: storages of them, and the functions by which module code
 * allocates its own */
#ifndef MPK_RUNTIME_TEXTURES_H
#define MPK_RUNTIME_TEXTURES_H

#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "value/storage.h"

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

/* mpk_texture_alloc - alloc_nd(device type, id, type code, type bits, scope, 2, {width, height}) ->
 *          handle, or from TVM 0.23 on (.., 3, {width, height, layers}, bits of a pixel)
 * mpk_texture_free - free_nd(device type, id, scope, handle)
 * Return  MPK_OK; MPK_E_RAISED: wrong arguments; as mpk_devices_get and mpk_device_alloc_texture */
enum mpk_code mpk_texture_alloc(struct mpk_runtime *runtime, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err);
enum mpk_code mpk_texture_free(struct mpk_runtime *runtime, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err);

#endif

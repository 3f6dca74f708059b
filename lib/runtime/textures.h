/* SPDX-License-Identifier: Apache-2.0 */
/* textures.h - images on devices: storages of them, and the functions by which module code
 * allocates its own */
#ifndef MPK_RUNTIME_TEXTURES_H
#define MPK_RUNTIME_TEXTURES_H

#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "value/storage.h"

/* mpk_texture_storage - an image as a storage, given back when its last reference is gone
 * @out     one reference; its bytes are those of the elements, for the bounds of its tensors
 * Returns  MPK_OK; MPK_E_RANGE: a shape whose size overflows; as mpk_devices_get and
 *          mpk_device_alloc_texture */
enum mpk_code mpk_texture_storage(struct mpk_devices *devices, struct mpk_dldevice where,
				  const struct mpk_device_texture *texture,
				  struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_texture_alloc - alloc_nd(device type, id, type code, type bits, scope, ndim, shape) -> handle
 * mpk_texture_free - free_nd(device type, id, scope, handle)
 * Return  MPK_OK; MPK_E_RAISED: wrong arguments; as mpk_devices_get and mpk_device_alloc_texture */
enum mpk_code mpk_texture_alloc(struct mpk_runtime *runtime, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err);
enum mpk_code mpk_texture_free(struct mpk_runtime *runtime, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err);

#endif

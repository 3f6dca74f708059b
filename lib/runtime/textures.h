/* textures.h - the functions by which module code allocates images on its device */
#ifndef MPK_RUNTIME_TEXTURES_H
#define MPK_RUNTIME_TEXTURES_H

#include "runtime/runtime.h"

/* mpk_texture_alloc - alloc_nd(device type, id, type code, type bits, scope, ndim, shape) -> handle
 * mpk_texture_free - free_nd(device type, id, scope, handle)
 * Return  MPK_OK; MPK_E_RAISED: wrong arguments; as mpk_devices_get and mpk_device_alloc_texture */
enum mpk_code mpk_texture_alloc(struct mpk_runtime *runtime, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err);
enum mpk_code mpk_texture_free(struct mpk_runtime *runtime, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - the part of --size that is about GPU code of any library */
#ifndef MPK_SIZE_INTERNAL_DEVICE_H
#define MPK_SIZE_INTERNAL_DEVICE_H

#include "size/size.h"

/* Where what is found goes. */
struct mpk_size_sink {
	struct mpk_arena *arena; /* of names */
	enum mpk_code (*part)(void *arg, struct mpk_size_item item);
	enum mpk_code (*kernel)(void *arg, struct mpk_size_item item);
	void *arg;
};

/* mpk_size_read_devices - measure the images, their kernels, and which kernels are the same
 * Kernels are the same when name, device and machine code are: compression does not find that, as each
 * image is packed alone.
 * Returns  MPK_OK; MPK_E_NOMEM; what the sink returns */
enum mpk_code mpk_size_read_devices(const struct mpk_view *view, const struct mpk_size_sink *sink,
				    struct mpk_size *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

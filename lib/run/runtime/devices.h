/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - the devices of one runtime, and tensors on them
 *
 * Devices are opened when the first tensor, kernel or module asks for them, and stay open until
 * mpk_devices_destroy. Drivers crash too, and whoever forks after a driver has started cannot
 * use that driver in the child: a program that calls code of strangers opens devices in a child
 * process alone (session/session.c).
 */
#ifndef MPK_RUNTIME_DEVICES_H
#define MPK_RUNTIME_DEVICES_H

#include "base/error.h"
#include "blob/blob.h"
#include "device/device.h"
#include "runtime/internal/runtime.h"
#include "runtime/runtime.h"
#include "value/tensor.h"

struct mpk_devices;

/* mpk_devices_create - no device is opened yet
 * @cuda_home  as of mpk_device_open, for the devices that will be opened; borrowed
 * Returns  MPK_OK, to be destroyed by the caller; MPK_E_NOMEM */
enum mpk_code mpk_devices_create(const char *cuda_home, struct mpk_devices **out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_destroy - close all; tensors on them and modules must be gone. NULL is fine */
void mpk_devices_destroy(struct mpk_devices *devices);

/* mpk_devices_memory - what is taken for tensors on the CPU, or on all other devices; owned by devices. Who gives it and
 * how much it may be is to be said before the first is taken */
struct mpk_memory *mpk_devices_memory(struct mpk_devices *devices, bool is_host);

/* mpk_devices_get - the device, opened at the first time; owned by devices
 * Returns  MPK_OK; MPK_E_DEVICE with one line that says why not; MPK_E_NOMEM */
enum mpk_code mpk_devices_get(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_device **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_allocator - where storages of the device come from; owned by devices
 * Returns  as mpk_devices_get */
enum mpk_code mpk_devices_allocator(struct mpk_devices *devices, struct mpk_dldevice where,
				    struct mpk_allocator **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_use - open the device and make it the current one of its kind: where kernels of
 * that kind run from now on. Device 0 is, before the first call. Returns as mpk_devices_get. */
enum mpk_code mpk_devices_use(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_get_current - the current device of a kind, opened when it was not
 * @out     borrowed from devices
 * Returns  as mpk_devices_get */
enum mpk_code mpk_devices_get_current(struct mpk_devices *devices, enum mpk_device_kind kind,
				      struct mpk_device **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_add_images - note what images the kernels of a tree take: of one layer as compilers
 * up to TVM 0.22 write them, or arrays, which their source says
 * mpk_devices_image_arrays - whether a tree that was added takes arrays
 * @tree    may be NULL */
void mpk_devices_add_images(struct mpk_devices *devices, const struct mpk_tree *tree);
bool mpk_devices_image_arrays(struct mpk_devices *devices);

/* mpk_devices_empty - a compact tensor of the same type and shape on a device; its content is not
 * set
 * Returns  MPK_OK, one reference in *out; MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_devices_empty(struct mpk_devices *devices, const struct mpk_tensor *like,
				struct mpk_dldevice where, struct mpk_tensor **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_copy - the content of one compact tensor into another of the same size, wherever
 * they are; ordered after what was issued on both devices before
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted); MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_devices_copy(struct mpk_devices *devices, const struct mpk_dltensor *from,
			       const struct mpk_dltensor *to, uint64_t bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_send - a tensor with the same content on another device
 * @tensor  compact, in host memory; where CPU: the tensor itself with one more reference
 * Returns  MPK_OK, one reference in *out; MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_devices_send(struct mpk_devices *devices, struct mpk_tensor *tensor,
			       struct mpk_dldevice where, struct mpk_tensor **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_fetch - copy a compact tensor's content back to a compact tensor of the same type
 * and shape in host memory. Waits for the kernels before it.
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted); MPK_E_DEVICE */
enum mpk_code mpk_devices_fetch(struct mpk_devices *devices, const struct mpk_dltensor *from,
				struct mpk_tensor *to, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_copy_to_host - a copy of a tensor, wherever it is, compact and in host memory
 * Returns  MPK_OK, one reference in *out; MPK_E_UNSUPPORTED: on a device, and its rows are not contiguous; as
 *          mpk_devices_fetch; MPK_E_NOMEM */
enum mpk_code mpk_devices_copy_to_host(struct mpk_devices *devices, const struct mpk_dltensor *from,
				       struct mpk_tensor **out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_sync - wait for everything on every open device
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted); MPK_E_DEVICE */
enum mpk_code mpk_devices_sync(struct mpk_devices *devices, struct mpk_error *err) MPK_MUST_CHECK;

/* --- images on devices: storages of them, and functions by which module code allocates its own -- */

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

/* mpk_texture_send - a compact tensor, wherever it is, as an image on a device, with its content
 * @scope   "global.texture", ...
 * Returns  MPK_OK, one reference in *out; as mpk_texture_storage, mpk_tensor_view and
 *          mpk_devices_copy */
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

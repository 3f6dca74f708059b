/* devices.h - the devices that a run uses, tensors on them, kernels of the module tree
 *
 * One struct mpk_devices serves one library, or one tree without a library. Devices are
 * opened when the first tensor, kernel or module asks for them, and stay open until
 * mpk_devices_destroy. Only child processes use it (child.h): drivers crash too, and
 * whoever forks after a driver has started cannot use that driver in the child.
 */
#ifndef MPK_RUNTIME_DEVICES_H
#define MPK_RUNTIME_DEVICES_H

#include "base/error.h"
#include "blob/blob.h"
#include "device/device.h"
#include "runtime/instance.h"
#include "runtime/library.h"
#include "value/value.h"

struct mpk_devices;

/* mpk_devices_create - no device is opened yet
 * Returns  MPK_OK, to be destroyed by the caller; MPK_E_NOMEM */
enum mpk_code mpk_devices_create(struct mpk_devices **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_destroy - close all; tensors on them must be gone, the library closed */
void mpk_devices_destroy(struct mpk_devices *devices);

/* mpk_devices_get - the device, opened at the first time; owned by devices
 * Returns  MPK_OK; MPK_E_DEVICE with one line that says why not; MPK_E_NOMEM */
enum mpk_code mpk_devices_get(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_device **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_use - open the device and make it the current one of its kind: where kernels of
 * that kind run from now on. Device 0 is, before the first call. Returns as mpk_devices_get. */
enum mpk_code mpk_devices_use(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_attach - let a library that will be opened with options use these devices:
 * `__tvm_set_device`, workspace. mpk_devices_loader must be among its node loaders. */
void mpk_devices_attach(struct mpk_devices *devices, struct mpk_library_options *options);

/* mpk_devices_loader - brings cuda and opencl nodes to life; owned by devices */
const struct mpk_node_loader *mpk_devices_loader(struct mpk_devices *devices);

/* mpk_devices_add_globals - functions that module code looks up by name for its device:
 * device_api.opencl.alloc_nd and free_nd (textures)
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_devices_add_globals(struct mpk_devices *devices, struct mpk_library *lib,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_default - where a library's functions expect their tensors when nobody says: on the
 * device of the one kind of device code in the tree, else on the CPU
 * @tree    may be NULL
 * Returns  MPK_OK; MPK_E_DEVICE when all device code is for devices that nothing here runs
 *          (named) */
enum mpk_code mpk_devices_default(const struct mpk_tree *tree, struct mpk_dldevice *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_send - a tensor with the same content on another device
 * @tensor  on the CPU; where CPU: the tensor itself with one more reference
 * Returns  MPK_OK, one reference in *out; MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_devices_send(struct mpk_devices *devices, struct mpk_tensor *tensor,
			       struct mpk_dldevice where, struct mpk_tensor **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_fetch - copy a tensor's content back to a CPU tensor of the same type and shape
 * Waits for the kernels before it.
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted); MPK_E_DEVICE */
enum mpk_code mpk_devices_fetch(struct mpk_devices *devices, const struct mpk_dltensor *from,
				struct mpk_tensor *to, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_devices_sync - wait for everything on every open device
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted); MPK_E_DEVICE */
enum mpk_code mpk_devices_sync(struct mpk_devices *devices, struct mpk_error *err) MPK_MUST_CHECK;

/* What a direct call of a kernel says beside its arguments. 0: not given, counts as 1 */
struct mpk_kernel_extents {
	uint64_t grid[3], block[3];
	uint64_t shared_bytes;
};

/* mpk_devices_kernel - a kernel of any cuda or opencl node as a function of its own
 * parameters alone (tensors, numbers); the extents are fixed
 * @tree    borrowed as long as the function lives
 * @where   receives the device that the kernel runs on unless the caller says another of
 *          the same kind
 * Returns  MPK_OK, one reference in *out; MPK_E_NOTFOUND with "did you mean";
 *          MPK_E_USAGE: an extent for an axis that the kernel does not have */
enum mpk_code mpk_devices_kernel(struct mpk_devices *devices, const struct mpk_tree *tree,
				 const char *name, const struct mpk_kernel_extents *extents,
				 struct mpk_function **out, struct mpk_dldevice *where,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif

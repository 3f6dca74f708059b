/* SPDX-License-Identifier: Apache-2.0 */
/* device_kind.h - the kinds of devices, and which of them a module's code is for
 *
 * This is what can be said without a driver; lib/run/device opens one.
 */
#ifndef MPK_PROGRAM_DEVICE_KIND_H
#define MPK_PROGRAM_DEVICE_KIND_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"
#include "dtype/dtype.h"

/* The numbers are DLPack's. */
enum mpk_device_kind {
	MPK_DEVICE_NONE = 0,
#define MPK_DEVICE(name, dlpack, module_kinds) MPK_DEVICE_##dlpack = MPK_DL_##dlpack,
#include "program/devices.def"
#undef MPK_DEVICE
};

#define MPK_DEVICE(name, dlpack, module_kinds) +1
enum {
	MPK_DEVICE_KINDS =
#include "program/devices.def"
};
#undef MPK_DEVICE

/* Each kind once, in the order of devices.def. */
extern const enum mpk_device_kind mpk_device_kinds[MPK_DEVICE_KINDS];

/* mpk_device_kind_name - "cpu", "cuda", "opencl"; "none" */
const char *mpk_device_kind_name(enum mpk_device_kind kind);

/* mpk_device_kind_names - all of them, for messages: "cpu, opencl, cuda, rocm" */
const char *mpk_device_kind_names(void);

/* mpk_device_kind_of - the kind of device that runs modules of a kind ("cuda", "opencl", "hip")
 * Returns  MPK_DEVICE_NONE for those that no back end here runs */
enum mpk_device_kind mpk_device_kind_of(struct mpk_span module_kind);

/* mpk_device_kind_from - the kind with DLPack's number, or MPK_DEVICE_NONE */
enum mpk_device_kind mpk_device_kind_from(int64_t dlpack_type);

/* mpk_devices_of - the device of the one kind of device code in a tree; the CPU where there is none that a back end here
 * runs, and where there are several: nobody can say then which is meant, and a wrong guess is reported on the host and
 * does not crash
 * @tree    may be NULL */
struct mpk_dldevice mpk_devices_of(const struct mpk_tree *tree);

/* mpk_devices_default - where a library's functions expect their tensors when nobody says: as
 * mpk_devices_of
 * @tree    may be NULL
 * Returns  MPK_OK; MPK_E_DEVICE when all device code is for devices that nothing here runs
 *          (named) */
enum mpk_code mpk_devices_default(const struct mpk_tree *tree, struct mpk_dldevice *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif

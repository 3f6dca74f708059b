/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - minspect --devices: lists the devices of this machine, and whether they can run the
 * code of a file */
#ifndef MPK_MODEL_DEVICES_H
#define MPK_MODEL_DEVICES_H

#include "device/device.h"
#include "model/view.h"

enum { MPK_DEVICE_GROUPS = MPK_DEVICE_KINDS };

/* One kind of device: its devices in the driver's order, or the reason why there are none. */
struct mpk_device_group {
	enum mpk_device_kind kind;
	size_t first, count;     /* range in the common list */
	struct mpk_error reason; /* set if count is 0 */
};

/* Zero-initialise, fill, then free the list with mpk_device_list_fini. */
struct mpk_device_groups {
	struct mpk_device_list list;
	struct mpk_device_group items[MPK_DEVICE_GROUPS];
};

/* mpk_device_groups_find - ask every driver for its devices
 * Returns  MPK_OK, also if there are no devices; MPK_E_NOMEM */
enum mpk_code mpk_device_groups_find(struct mpk_device_groups *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* Printer of struct mpk_device_groups: a table of the devices, and why others are missing;
 * "devices" and "unavailable" in JSON (minspect-devices.schema.json) */
extern const struct mpk_answer mpk_answer_devices;

/* mpk_view_devices - for each device module of a file, name the device that can run it, or say why
 * none can
 * @out     receives lines, unless
 * @j, @at  are given: then "modules" is put there
 * Returns  whether all of them can run on this machine */
bool mpk_view_devices(const struct mpk_view *view, const struct mpk_device_groups *groups,
		      struct mpk_strbuf *out, struct mpk_json *j, struct mpk_json_at *at);

#endif

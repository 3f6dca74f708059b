/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - minspect --devices: what can run here, and whether the code of a file can */
#ifndef MPK_MODEL_DEVICES_H
#define MPK_MODEL_DEVICES_H

#include "device/device.h"
#include "model/view.h"

enum { MPK_DEVICE_GROUPS = MPK_DEVICE_KINDS };

/* One kind of device: all that the driver lists, or why there is none. */
struct mpk_device_group {
	enum mpk_device_kind kind;
	size_t first, count;     /* in the common list */
	struct mpk_error reason; /* when count is 0 */
};

/* Zero-initialise, fill, mpk_device_list_fini of the list. */
struct mpk_device_groups {
	struct mpk_device_list list;
	struct mpk_device_group items[MPK_DEVICE_GROUPS];
};

/* mpk_device_groups_find - ask every driver there is
 * Returns  MPK_OK, also when there are no devices; MPK_E_NOMEM */
enum mpk_code mpk_device_groups_find(struct mpk_device_groups *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_device_groups: a table of the devices, and why others are missing; "devices" and "unavailable" in
 * JSON (minspect-devices.schema.json) */
extern const struct mpk_answer mpk_answer_devices;

/* mpk_view_devices - for each device module of a file which device runs it, or why none does
 * @out     receives lines, unless
 * @j, @at  are given: then "modules" is put there
 * Returns  whether all of them run here */
bool mpk_view_devices(const struct mpk_view *view, const struct mpk_device_groups *groups,
		      struct mpk_strbuf *out, struct mpk_json *j, struct mpk_json_at *at);

#endif

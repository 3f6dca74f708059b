/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - what differs between the GPU code of two libraries (device_code.h) */
#ifndef MPK_DIFF_INTERNAL_DEVICE_H
#define MPK_DIFF_INTERNAL_DEVICE_H

#include "diff/diff.h"

/* mpk_diff_devices - images of devices that only one has, kernels of the others that came, went or changed,
 * and images that differ beside their kernels. In which section and container an image stands, and how it
 * is packed, is no difference unless it is the only one. */
void mpk_diff_devices(struct mpk_differ *d, const struct mpk_view *a, const struct mpk_view *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - the part of --extract that is about GPU code of any library */
#ifndef MPK_EXTRACT_INTERNAL_DEVICE_H
#define MPK_EXTRACT_INTERNAL_DEVICE_H

#include "extract/extract.h"

/* mpk_extract_devices - a file for each image, unpacked, and one for each container that does not read
 * @path    of the only container that is wanted; empty: all
 * @each    is handed them in order; a failure of it ends the walk
 * Returns  MPK_OK; MPK_E_NOMEM; what each returns */
enum mpk_code
mpk_extract_devices(const struct mpk_view *view, struct mpk_span path, struct mpk_arena *arena,
		    enum mpk_code (*each)(const struct mpk_extract_file *file, void *arg),
		    void *arg, struct mpk_error *err) MPK_MUST_CHECK;

#endif

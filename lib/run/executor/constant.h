/* SPDX-License-Identifier: Apache-2.0 */
/* constant.h - content that a payload has for kernels: parameters, constants
 *
 * Kernels take for granted that host memory is aligned to MPK_STORAGE_ALIGN. Content that lies so
 * in the blob is not copied: the storage leads into the mapped file and keeps it. Other content is
 * copied once, and what is for a device is sent there as it lies.
 */
#ifndef MPK_EXECUTOR_CONSTANT_H
#define MPK_EXECUTOR_CONSTANT_H

#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"
#include "runtime/host.h"
#include "value/storage.h"

/* mpk_constant_storage - content of a library as a storage
 * @host    whose content it is; held by a storage that leads into it
 * @content of the blob, or data of the library's code. Nobody may write to the storage.
 * @type    of its elements, whose numbers are little-endian there
 * @where   device of the storage
 * @out     one reference; at least content.len bytes
 * Returns  MPK_OK; MPK_E_DEVICE: the device does not open, or has no room; MPK_E_NOMEM */
enum mpk_code mpk_constant_storage(struct mpk_host *host, struct mpk_span content,
				   struct mpk_dtype type, struct mpk_dldevice where,
				   struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif

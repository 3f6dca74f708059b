/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem.h - what the file system under a descriptor is good at */
#ifndef MPK_IO_INTERNAL_FILESYSTEM_H
#define MPK_IO_INTERNAL_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* mpk_is_remote - whether a file lies on another machine, which copies there, at any offset */
bool mpk_is_remote(int fd);

/* mpk_reserve - blocks for bytes that are about to be written
 * Writing 1 GiB takes ext4 a quarter longer when it must promise each page a block on the way;
 * XFS, Btrfs and tmpfs gain nothing, and Btrfs would not compress what was reserved. So it is
 * done where it helps, also below an overlay; elsewhere and for less than 1 MiB nothing
 * happens. The size of the file stays as it is.
 * Returns  MPK_OK, also when the file system cannot; MPK_E_IO: the disk or the quota is full */
enum mpk_code mpk_reserve(int fd, uint64_t off, uint64_t len, struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/internal/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "base/span.h"

/* Its kind; 0: unknown. */
static uint32_t kind_of(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 ? (uint32_t)fs.f_type : 0;
}

bool mpk_is_remote(int fd)
{
	switch (kind_of(fd)) {
	case NFS_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case CEPH_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

enum mpk_code mpk_reserve(int fd, uint64_t off, uint64_t len, struct mpk_error *err)
{
	if (len < MPK_LARGE_BYTES || off > INT64_MAX || len > INT64_MAX - off)
		return MPK_OK;
	uint32_t kind = kind_of(fd);

	if (kind != EXT4_SUPER_MAGIC && kind != OVERLAYFS_SUPER_MAGIC)
		return MPK_OK;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)len) != 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write %llu bytes",
				      (unsigned long long)len);
	return MPK_OK;
}

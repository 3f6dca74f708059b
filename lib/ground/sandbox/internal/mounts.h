/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.h - what a process changes about namespaces of its own; for this room only */
#ifndef MPK_SANDBOX_INTERNAL_MOUNTS_H
#define MPK_SANDBOX_INTERNAL_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

/* mpk_mount_map_ids - give a user and a group numbers in the new user namespace of this process
 * Returns  false: that cannot be done here */
bool mpk_mount_map_ids(uid_t inside, uid_t user, gid_t inside_group, gid_t group);

/* mpk_mount_freeze - nothing is written below what is mounted at path; does nothing where nothing is */
void mpk_mount_freeze(const char *path);

/* mpk_mount_path_decode - a path as the kernel writes it into lists of mounts, in place
 * Returns  path */
char *mpk_mount_path_decode(char *path);

#endif

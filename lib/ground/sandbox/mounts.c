/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/internal/mounts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return done;
}

bool mpk_mount_map_ids(uid_t inside, uid_t user, gid_t inside_group, gid_t group)
{
	char users[64], groups[64];
	int dumpable = prctl(PR_GET_DUMPABLE);
	bool done;

	(void)snprintf(users, sizeof users, "%u %u 1", (unsigned)inside, (unsigned)user);
	(void)snprintf(groups, sizeof groups, "%u %u 1", (unsigned)inside_group, (unsigned)group);
	/* what stands in /proc of a process that others may not look into belongs to root */
	(void)prctl(PR_SET_DUMPABLE, 1);
	/* the kernel asks for the first before a group may have a number */
	done = write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
	(void)prctl(PR_SET_DUMPABLE, (unsigned long)(dumpable == 1));
	return done;
}

void mpk_mount_freeze(const char *path)
{
#ifdef SYS_mount_setattr
	struct mount_attr how = { .attr_set = MOUNT_ATTR_RDONLY };

	(void)syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &how, sizeof how);
#else
	(void)path;
#endif
}

/* "\040" is a space. */
char *mpk_mount_path_decode(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		unsigned octal;

		if (*from == '\\' && sscanf(from + 1, "%3o", &octal) == 1) {
			*to = (char)octal;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return path;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces in which called code finds itself and nobody else. A process in them has no number for any
 * outside: whatever system call takes one, also one that a kernel gains tomorrow, finds nothing.
 *
 * Root stays root and keeps all files. But with some of them the kernel is told what to do: freeze a group
 * of processes, start a program of any choice when one crashes, kill all. They are made read-only, as for
 * root in a container; the right to undo that goes with mpk_sandbox_protect. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/compiler.h"
#include "sandbox/internal/mounts.h"
#include "sandbox/sandbox.h"

uint64_t mpk_sandbox_apart_flags(enum mpk_apart apart)
{
	switch (apart) {
	case MPK_APART_NOT:
		break;
	case MPK_APART_AS_USER:
		return CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER;
	case MPK_APART_AS_ROOT:
		return CLONE_NEWPID | CLONE_NEWNS;
	}
	return 0;
}

/* The files of file systems that are the kernel's own: of these a user may have a control group, with all
 * that runs in it. */
static void freeze_kernel_files(void)
{
	static const char *const types[] = {
		"sysfs",     "cgroup",   "cgroup2",  "debugfs",    "tracefs",
		"bpf",       "configfs", "efivarfs", "securityfs", "pstore",
		"selinuxfs", "smackfs",  "fusectl",  "resctrl",    "binfmt_misc",
	};
	char *line = NULL, *at;
	size_t room = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	/* "36 35 98:0 /root /path options - type ...": see proc_pid_mountinfo(5) */
	while (f && getline(&line, &room, f) >= 0) {
		char path[4096], type[32];

		at = strstr(line, " - ");
		if (!at || sscanf(at, " - %31s", type) != 1 ||
		    sscanf(line, "%*s %*s %*s %*s %4095s", path) != 1)
			continue;
		(void)mpk_mount_path_decode(path);
		/* of a chroot, say, with the numbers of processes that stand outside */
		if (strcmp(type, "proc") == 0 && strcmp(path, "/proc") != 0)
			mpk_mount_freeze(path);
		for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
			if (strcmp(type, types[i]) == 0)
				mpk_mount_freeze(path);
	}
	free(line);
	if (f)
		(void)fclose(f);
}

/* What stands in /proc and is of no process. */
static void freeze_proc(void)
{
	static const char *const paths[] = { "/proc/sys", "/proc/sysrq-trigger",
					     "/proc/irq", "/proc/bus",
					     "/proc/fs",  "/proc/acpi",
					     "/proc/scsi" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(paths); i++)
		if (mount(paths[i], paths[i], NULL, MS_BIND, NULL) == 0)
			mpk_mount_freeze(paths[i]);
}

bool mpk_sandbox_apart_enter(enum mpk_apart apart, uid_t user, gid_t group)
{
	if (apart == MPK_APART_AS_USER && !mpk_mount_map_ids(user, user, group, group))
		return false;
	freeze_kernel_files();
	/* what is mounted on it is to be seen here alone; without /proc there is nothing to hide */
	bool is_own = mount(NULL, "/proc", NULL, MS_PRIVATE, NULL) == 0 &&
		      mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;

	if (apart == MPK_APART_AS_ROOT && is_own)
		freeze_proc();
	else if (apart == MPK_APART_AS_ROOT)
		mpk_mount_freeze("/proc");
	return true;
}

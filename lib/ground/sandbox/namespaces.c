/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.c - a second line of defence behind Landlock and seccomp: the process sees no network
 * interface, no System V objects or message queues of other processes, and only its own files. It
 * is in a PID namespace since it was forked: mpk_sandbox_pid_namespace. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/internal/sandbox.h"
#include "sandbox/sandbox.h"

/* --- mounts ----------------------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return done;
}

static bool map_ids(uid_t inside, uid_t user, gid_t inside_group, gid_t group)
{
	char users[64], groups[64];
	int dumpable = prctl(PR_GET_DUMPABLE);
	bool done;

	(void)snprintf(users, sizeof users, "%u %u 1", (unsigned)inside, (unsigned)user);
	(void)snprintf(groups, sizeof groups, "%u %u 1", (unsigned)inside_group, (unsigned)group);
	/* /proc files of a process that is not dumpable belong to root, so it must be dumpable
	 * here. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	/* The kernel wants setgroups denied before it maps a group. */
	done = write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
	(void)prctl(PR_SET_DUMPABLE, (unsigned long)(dumpable == 1));
	return done;
}

static void freeze_mount(const char *path)
{
#ifdef SYS_mount_setattr
	struct mount_attr how = { .attr_set = MOUNT_ATTR_RDONLY };

	(void)syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &how, sizeof how);
#else
	(void)path;
#endif
}

/* "\040" in /proc/self/mountinfo is a space. */
static char *decode_mount_path(char *path)
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

/* --- a root with nothing in it ---------------------------------------------------- */

/* Landlock refuses to open a file but reveals whether it exists, its size and its times, and
 * ignores links. A file outside the mounted tree reveals nothing.
 *
 * The paths to keep are opened first, because the memory file system then covers the folder in
 * which it is made. The old root stays mounted, but no path leads to it: a process that may
 * neither change its root nor mount cannot leave the new one. */

#if defined SYS_open_tree && defined SYS_move_mount && defined SYS_mount_setattr

/* Declared here because headers of the C library define other structs of the same names. */
enum { TREE_CLONE = 1, TREE_RECURSIVE = 0x8000, MOVE_FROM_FD = 4 };

/* Makes the folders above path, and, with is_folder, path itself. */
static void make_path(char *path, bool is_folder)
{
	for (char *c = path; *c; c++) {
		if (*c != '/' || c == path)
			continue;
		*c = '\0';
		(void)mkdir(path, 0755);
		*c = '/';
	}
	if (is_folder) {
		(void)mkdir(path, 0755);
	} else {
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (fd >= 0)
			(void)close(fd);
	}
}

/* Converts path to the new root, which is the current folder; cwd was the current folder before. */
static bool namespaces_place(const char *path, const char *cwd, char out[PATH_MAX])
{
	int n = path[0] == '/' ? snprintf(out, PATH_MAX, ".%s", path)
			       : snprintf(out, PATH_MAX, ".%s/%s", cwd, path);

	return n > 0 && n < PATH_MAX;
}

static void put_tree(int tree, const char *path, const char *cwd)
{
	struct mount_attr how = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	char target[PATH_MAX];
	struct stat st;

	if (fstat(tree, &st) != 0 || !namespaces_place(path, cwd, target))
		return;
	make_path(target, S_ISDIR(st.st_mode));
	(void)syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | TREE_RECURSIVE, &how,
		      sizeof how);
	(void)syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_FROM_FD);
}

/* Mounts over a folder. Where the mount would be visible outside, mounts over a mount that can
 * be made private. */
static bool mount_memory(bool is_own_user)
{
	static const char *const folders[] = { "/tmp", "/proc", "/dev", "/usr" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(folders); i++)
		if ((is_own_user || mount(NULL, folders[i], NULL, MS_PRIVATE, NULL) == 0) &&
		    mount("tmpfs", folders[i], "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755") ==
			    0)
			return chdir(folders[i]) == 0;
	return false;
}

static bool change(const struct mpk_sandbox *s, const int *trees, const char *cwd, bool is_own_user)
{
	struct mount_attr how = { .attr_set = MOUNT_ATTR_RDONLY };
	char folder[PATH_MAX];

	if (!mount_memory(is_own_user))
		return false;
	for (size_t i = 0; i < s->readable_count; i++)
		if (trees[i] >= 0)
			put_tree(trees[i], s->readable[i], cwd);
	if (namespaces_place(cwd, "", folder))
		make_path(folder, true);
	if (syscall(SYS_mount_setattr, AT_FDCWD, ".", 0, &how, sizeof how) != 0 || chroot(".") != 0)
		return false;
	return chdir(cwd) == 0;
}

static bool change_root(const struct mpk_sandbox *s, bool is_own_user)
{
	enum { TREES_MAX = 256 };
	int trees[TREES_MAX];
	char cwd[PATH_MAX];
	bool done;

	if (s->readable_count > TREES_MAX || !getcwd(cwd, sizeof cwd) || cwd[0] != '/')
		return false;
	for (size_t i = 0; i < s->readable_count; i++)
		trees[i] = (int)syscall(SYS_open_tree, AT_FDCWD, s->readable[i],
					TREE_CLONE | O_CLOEXEC | TREE_RECURSIVE);
	done = change(s, trees, cwd, is_own_user);
	if (!done)
		(void)!chdir(cwd);
	for (size_t i = 0; i < s->readable_count; i++)
		if (trees[i] >= 0)
			(void)close(trees[i]);
	return done;
}

#else

static bool change_root(const struct mpk_sandbox *s, bool is_own_user)
{
	(void)s;
	(void)is_own_user;
	return false;
}

#endif

/* --- namespaces for code that is run ---------------------------------------------- */

enum { NOBODY = 65534 };

/* A new user has no rights outside. Where user namespaces are missing, root goes without one. */
void mpk_namespaces_enter(const struct mpk_sandbox *s, struct mpk_sandbox_state *out)
{
	const int others = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS;
	uid_t user = geteuid();
	gid_t group = getegid();

	out->own_user = unshare(CLONE_NEWUSER | others) == 0;
	out->namespaces = out->own_user || unshare(others) == 0;
	if (!out->namespaces)
		return;
	/* A tmpfs must belong to a user that has a number in this namespace. */
	out->own_root = (!out->own_user || map_ids(NOBODY, user, NOBODY, group)) &&
			change_root(s, out->own_user);
}

/* --- apart from other processes --------------------------------------------------- */

/* Enters namespaces in which the called code is alone. No process outside has a number in them,
 * so no system call, not even one that a later kernel adds, can name one.
 *
 * Root stays root and keeps all files. Some files control the kernel: they freeze processes,
 * start a program on a crash, kill everything. These become read-only, as for root in a
 * container, and mpk_sandbox_protect drops the right to undo that. */

bool mpk_sandbox_pid_namespace(uint64_t namespaces, uid_t user, gid_t group)
{
	bool is_own_user = namespaces & CLONE_NEWUSER;

	if (is_own_user && !map_ids(user, user, group, group))
		return false;

	/* File systems that control the kernel: by the user's own control group, for example, all
	 * its processes could be stopped. */
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
		(void)decode_mount_path(path);
		/* For example, a chroot's /proc shows the numbers of processes outside. */
		if (strcmp(type, "proc") == 0 && strcmp(path, "/proc") != 0)
			freeze_mount(path);
		for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
			if (strcmp(type, types[i]) == 0)
				freeze_mount(path);
	}
	free(line);
	if (f)
		(void)fclose(f);

	/* Makes the mount visible to this process only. Without /proc there is nothing to hide. */
	bool is_own = mount(NULL, "/proc", NULL, MS_PRIVATE, NULL) == 0 &&
		      mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;

	if (!is_own_user && is_own) {
		/* The files in /proc that control the kernel. */
		static const char *const paths[] = { "/proc/sys", "/proc/sysrq-trigger",
						     "/proc/irq", "/proc/bus",
						     "/proc/fs",  "/proc/acpi",
						     "/proc/scsi" };

		for (size_t i = 0; i < MPK_ARRAY_COUNT(paths); i++)
			if (mount(paths[i], paths[i], NULL, MS_BIND, NULL) == 0)
				freeze_mount(paths[i]);
	} else if (!is_own_user)
		freeze_mount("/proc");
	return true;
}

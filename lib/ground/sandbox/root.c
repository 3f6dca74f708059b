/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock refuses to open a file, but tells whether it is there, how large it is and since when; and knows
 * nothing of links. What is not in the file system tells nothing.
 *
 * What is kept is taken hold of first, as a memory file system then covers the folder that it is made in. The
 * old root stays mounted where nothing leads to: whoever may neither change the root nor mount does not get
 * out of the new one. */
#include "sandbox/internal/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

#if defined SYS_open_tree && defined SYS_move_mount && defined SYS_mount_setattr

/* Of the kernel's interface; headers of the C library have others of the same names. */
enum { TREE_CLONE = 1, TREE_RECURSIVE = 0x8000, MOVE_FROM_FD = 4 };

/* Makes the folders that lead to path, and with is_folder itself. */
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

/* path as it is from the new root, which is the current folder; cwd was that before. */
static bool place(const char *path, const char *cwd, char out[PATH_MAX])
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

	if (fstat(tree, &st) != 0 || !place(path, cwd, target))
		return;
	make_path(target, S_ISDIR(st.st_mode));
	(void)syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | TREE_RECURSIVE, &how,
		      sizeof how);
	(void)syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_FROM_FD);
}

/* Over any folder; where a mount could be seen outside, over one that is mounted itself and can be kept from it. */
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
	if (place(cwd, "", folder))
		make_path(folder, true);
	if (syscall(SYS_mount_setattr, AT_FDCWD, ".", 0, &how, sizeof how) != 0 || chroot(".") != 0)
		return false;
	return chdir(cwd) == 0;
}

bool mpk_root_change(const struct mpk_sandbox *s, bool is_own_user)
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

bool mpk_root_change(const struct mpk_sandbox *s, bool is_own_user)
{
	(void)s;
	(void)is_own_user;
	return false;
}

#endif

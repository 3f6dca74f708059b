/* SPDX-License-Identifier: Apache-2.0 */
#include "common/libexec.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/config.h"

const char *mpk_libexec_find(struct mpk_arena *arena, const char *name)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *slash, *path = NULL;

	if (len > 0) {
		self[len] = '\0';
		slash = strrchr(self, '/');
		if (slash)
			path = mpk_arena_printf(arena, "%.*s/../libexec/%s", (int)(slash - self),
						self, name);
	}
	return path && access(path, R_OK) == 0
		       ? path
		       : mpk_arena_printf(arena, MPK_LIBEXECDIR "/%s", name);
}

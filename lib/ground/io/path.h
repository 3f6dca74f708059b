/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - parts of a file's name */
#ifndef MPK_IO_PATH_H
#define MPK_IO_PATH_H

#include <stdbool.h>
#include <string.h>

/* mpk_path_name - the last part of a path: "deploy.so" of "out/deploy.so" */
static inline const char *mpk_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* mpk_path_folder - the folder of a path: "out/" of "out/deploy.so", "./" of "deploy.so"
 * Returns  memory for free(); NULL when memory is out */
static inline char *mpk_path_folder(const char *path)
{
	size_t len = (size_t)(mpk_path_name(path) - path);

	return len ? strndup(path, len) : strdup("./");
}

/* mpk_path_has_suffix - whether a path ends in one of the suffixes, such as ".cl"; NULL ends the
 * list */
static inline bool mpk_path_has_suffix(const char *path, const char *const *suffixes)
{
	const char *dot = strrchr(path, '.');

	for (; dot && *suffixes; suffixes++)
		if (strcmp(dot, *suffixes) == 0)
			return true;
	return false;
}

#endif

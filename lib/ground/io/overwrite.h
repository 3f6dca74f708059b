/* SPDX-License-Identifier: Apache-2.0 */
/* overwrite.h - which files an output may take the place of
 *
 * A mistyped command must not cost a library. What this program wrote before may be replaced, and what
 * outputs look like that are no libraries: text, an array of NumPy, an empty file. Anything else is
 * refused: ELF, archives, whatever is not known.
 *
 * That a file was written by this program is recorded in an extended attribute of it, which holds as long as
 * size and time of modification stay; and, where the file system keeps none or the file was copied, by a
 * mark in it, if the program's files have one.
 */
#ifndef MPK_IO_OVERWRITE_H
#define MPK_IO_OVERWRITE_H

#include <sys/stat.h>

#include "base/error.h"
#include "base/span.h"

/* mpk_overwrite_author - who writes; for the whole process
 * @program  "mpack"; static
 * @mark     bytes that an ELF file or archive has in its first or last megabyte when the program wrote
 *           it; may be empty; static */
void mpk_overwrite_author(const char *program, struct mpk_span mark);

/* mpk_overwrite_all - from now on every file may be replaced; for the whole process */
void mpk_overwrite_all(void);

/* mpk_overwrite_check - whether an output may replace a file
 * @file    of path; a regular file
 * Returns  MPK_OK; MPK_E_USAGE with the file name and what it is; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_overwrite_check(const char *path, const struct stat *file,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_overwrite_check_folder - whether a folder that is there may be written into, name by name: it is
 * empty, or this program made it for that
 * Returns  MPK_OK; MPK_E_IO with the name */
enum mpk_code mpk_overwrite_check_folder(const char *path, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_overwrite_claim - say of a finished file that this program wrote it, of a folder that it made it. A
 * file system that cannot keep that forgets it. */
void mpk_overwrite_claim(int fd);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - the place of an output: which files it may take the place of, and what is there until it is finished
 *
 * A mistyped command must not cost a library. What this program wrote before may be replaced, and what
 * outputs look like that are no libraries: text, an array of NumPy, an empty file. Anything else is
 * refused: ELF, archives, whatever is not known.
 *
 * That a file was written by this program is recorded in an extended attribute of it, which holds as long as
 * size and time of modification stay; and, where the file system keeps none or the file was copied, by a
 * mark in it, if the program's files have one.
 *
 * Something unfinished is beside its target, under a name that tells whose it is and that it is
 * partial, and is locked (flock) by the process that makes it. A lock ends with its process, whatever
 * ended that: what nobody has locked was abandoned. File systems that know no such locks keep theirs.
 */
#ifndef MPK_IO_PLACE_H
#define MPK_IO_PLACE_H

#include <stdbool.h>
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

enum { MPK_RANDOM_LETTERS = 6 };

/* mpk_random_letters - that many lower case letters and digits that nobody guesses, and a NUL */
void mpk_random_letters(char out[MPK_RANDOM_LETTERS + 1]);

/* mpk_temporary_name - ".NAME.XXXXXX.partial" beside path, in memory for free(); NULL when memory is out
 * The NAME is cut where it would leave no room for the rest. */
char *mpk_temporary_name(const char *path);

/* mpk_temporary_lock - mark what fd is open on as in use, for as long as the descriptor is open
 * Returns  false: somebody else has it */
bool mpk_temporary_lock(int fd);

/* mpk_temporary_sweep - remove what is beside path, under a temporary name of it, and nobody has locked
 * Failures are not the caller's business, and not reported. */
void mpk_temporary_sweep(const char *path);

/* mpk_remove_all - a file, or a directory with all that is in it; links are not followed
 * Returns  whether nothing is there any more */
bool mpk_remove_all(const char *path);

#endif

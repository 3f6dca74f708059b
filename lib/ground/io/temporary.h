/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.h - the names of what is not finished yet, and what killed runs left under them
 *
 * Something unfinished is beside its target, under a name that tells whose it is and that it is
 * partial, and is locked (flock) by the process that makes it. A lock ends with its process, whatever
 * ended that: what nobody has locked was abandoned. File systems that know no such locks keep theirs.
 */
#ifndef MPK_IO_TEMPORARY_H
#define MPK_IO_TEMPORARY_H

#include <stdbool.h>

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

/* SPDX-License-Identifier: Apache-2.0 */
/* directory.h - a directory of files that appears whole or not at all
 *
 * Files are written below a temporary directory beside the target, which commit renames.
 * A target that exists is accepted only when it is an empty directory: nothing of the
 * user's is ever overwritten or mixed with. What a killed run left of the same target,
 * ".NAME.N.partial", is removed by the next.
 */
#ifndef MPK_IO_DIRECTORY_H
#define MPK_IO_DIRECTORY_H

#include "base/error.h"
#include "base/rope.h"
#include "io/copy.h"

/* Zero-initialise; mpk_directory_open; commit or abandon. */
struct mpk_directory {
	char *path;                /* the target */
	char *temp;                /* where files are written until commit; NULL when closed */
	int fd;                    /* of temp, locked: it shows the next run that this one lives */
	const struct mpk_tap *tap; /* sees what is written from when it is set; or NULL */
};

/* mpk_directory_open - begin writing a directory
 * Returns  MPK_OK; MPK_E_IO with the name: the target is a file, is not empty, or its
 *          parent is not there; MPK_E_NOMEM */
enum mpk_code mpk_directory_open(const char *path, struct mpk_directory *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_write - one file, and the directories above it
 * @name    relative, "params/w1.npy": no part may be empty, "." or ".."
 * Returns  MPK_OK; MPK_E_RANGE for another name; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_directory_write(const struct mpk_directory *d, const char *name,
				  const struct mpk_rope *content,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_append - the same after what the file has, which mpk_directory_write began
 * Returns  MPK_OK; MPK_E_RANGE; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_directory_append(const struct mpk_directory *d, const char *name,
				   const struct mpk_rope *content,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_commit - let the target appear; closes d in any case
 * Returns  MPK_OK; MPK_E_IO, and nothing is left */
enum mpk_code mpk_directory_commit(struct mpk_directory *d, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_abandon - remove everything written; safe on a closed one */
void mpk_directory_abandon(struct mpk_directory *d);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* older.h - what --diff compares with: a file, or the files of a folder or an archive */
#ifndef MPK_CMD_MINSPECT_OLDER_H
#define MPK_CMD_MINSPECT_OLDER_H

#include "base/strmap.h"
#include "minspect/document.h"

/* minspect_older_open; minspect_older_close in every case. */
struct minspect_older {
	const char *name; /* as the user typed it */
	bool is_folder;
	struct minspect_found found;  /* of a folder */
	struct minspect_file archive; /* of an archive with libraries; else not open */
	size_t count;                 /* of the files in either; 0: it is a file by itself */
	bool *is_met;                 /* of each: it has been compared */
	bool is_against_all; /* with a folder or an archive: then what is left was removed */
	struct mpk_strmap names;
	struct mpk_arena arena;
};

/* minspect_older_open - see what it is; of a file by itself nothing is read
 * Returns  MPK_OK; MPK_E_IO: a folder cannot be read; MPK_E_NOMEM */
enum mpk_code minspect_older_open(const char *name, struct minspect_older *out,
				  struct mpk_error *err) MPK_MUST_CHECK;
void minspect_older_close(struct minspect_older *older);

/* minspect_older_file - open what is to be compared with the file that is looked at
 * @out     minspect_file_close in every case, before older is closed
 * Returns  as minspect_file_open; MPK_E_NOTFOUND: the folder or archive has no such file */
enum mpk_code minspect_older_file(struct minspect_older *older, const struct minspect_look *l,
				  struct minspect_file *out, struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_older_left - the next file that nothing was compared with
 * @at      0 at first
 * Returns  whether there is one, by its name on a command line */
bool minspect_older_left(struct minspect_older *older, size_t *at, const char **name);

#endif

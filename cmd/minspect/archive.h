/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - what is done with a zip archive that is named without a member */
#ifndef MPK_CMD_MINSPECT_ARCHIVE_H
#define MPK_CMD_MINSPECT_ARCHIVE_H

#include "minspect/document.h"

/* minspect_archive_list - a line or an object for each library in l->file; returns an exit status */
int minspect_archive_list(struct minspect_look *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - how far a long copy is, on standard error */
#ifndef MPK_CMD_COMMON_PROGRESS_H
#define MPK_CMD_COMMON_PROGRESS_H

#include <stdint.h>

/* mpk_progress_begin - show from now on how many of total bytes are written: the part, the
 * rate and the time left, in one line that is written over
 * As --progress says; "auto" only on a terminal, and once half a second has passed.
 * @what    "packing", borrowed */
void mpk_progress_begin(const char *what, uint64_t total);

/* mpk_progress_add - bytes that were only read; what is copied counts by itself */
void mpk_progress_add(uint64_t bytes);

/* mpk_progress_show - how far work is that somebody else does; the first call begins it, as
 * mpk_progress_begin does
 * @what    "loading", borrowed
 * @total   0: nobody knows. With nothing done so far the time is shown */
void mpk_progress_show(const char *what, uint64_t done, uint64_t total);

/* mpk_progress_end - wipe the line; safe without a begin */
void mpk_progress_end(void);

#endif

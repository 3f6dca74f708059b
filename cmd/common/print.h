/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - the one place where text leaves for standard output and standard error, and the line there that shows
 * how far long work is
 *
 * Names in a file may hold what a terminal takes for a command. Whoever makes a text escapes them. When somebody
 * forgot, this still holds: no byte gets out that is neither printable UTF-8 nor a line end or tab, but for the
 * colours of our own. A backslash stays, so what was escaped is not escaped twice.
 *
 * Nothing else of cmd/ uses these streams (scripts/check-layers). Files are written through io/output.h. */
#ifndef MPK_CMD_COMMON_PRINT_H
#define MPK_CMD_COMMON_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum mpk_stream { MPK_STDOUT, MPK_STDERR };

/* mpk_print, mpk_print_text - write a text and flush it
 * Returns  0, or the errno of what failed */
int mpk_print(enum mpk_stream stream, const char *fmt, ...) MPK_PRINTF(2, 3);
int mpk_print_text(enum mpk_stream stream, const char *text, size_t len);

/* mpk_print_by_lines - standard output is flushed at each line end, also of code that is called in this
 * process and may crash. Before anything is printed. */
void mpk_print_by_lines(void);

/* mpk_color_on - whether a stream gets colours: --color, NO_COLOR, TERM=dumb, a terminal */
bool mpk_color_on(enum mpk_stream stream);

/* mpk_progress_begin - show from now on how many of total bytes are written: the part, the
 * rate and the time left, in one line that is written over
 * As --progress says; "auto" only on a terminal, and once half a second has passed.
 * @what    "packing", borrowed */
void mpk_progress_begin(const char *what, uint64_t total);

/* mpk_progress_tap - counts bytes that are only read; what is copied counts by itself */
struct mpk_tap; /* io/copy.h */
extern const struct mpk_tap mpk_progress_tap;

/* mpk_progress_show - how far work is that somebody else does; the first call begins it, as
 * mpk_progress_begin does
 * @what    "loading", borrowed
 * @total   0: nobody knows. With nothing done so far the time is shown */
void mpk_progress_show(const char *what, uint64_t done, uint64_t total);

/* mpk_progress_end - wipe the line; safe without a begin */
void mpk_progress_end(void);

#endif

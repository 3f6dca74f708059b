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

struct mpk_error;

enum mpk_stream { MPK_STDOUT, MPK_STDERR };

/* mpk_print, mpk_print_text - write a text and flush it
 * Returns  0, or the errno of what failed */
int mpk_print(enum mpk_stream stream, const char *fmt, ...) MPK_PRINTF(2, 3);
int mpk_print_text(enum mpk_stream stream, const char *text, size_t len);

/* mpk_print_error - the error of an errno that these two have returned. EFBIG is also that standard output is a file,
 * and the text would be more than may be written (base/account.h) */
void mpk_print_error(int failed, struct mpk_error *err);

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

/* mpk_progress_all_begin - the same around all steps of long work, which has one line from then on; steps that
 * begin and end within it do not end the line. A timer draws it also where nothing is counted.
 * @total   bytes of all files; 0: nobody knows
 * @files   how many there are; with 0 and 1 the line does not count them
 * mpk_progress_all_next - the next file, of so many bytes, begins
 * mpk_progress_all_open - what has begun is an archive: these files, of so many bytes, take its place
 * mpk_progress_all_end - wipe the line; safe without a begin */
void mpk_progress_all_begin(const char *what, uint64_t total, size_t files);
void mpk_progress_all_next(uint64_t bytes);
void mpk_progress_all_open(uint64_t bytes, size_t files);
void mpk_progress_all_end(void);

/* mpk_closing_begin - the work begins whose time mpk_closing_line tells
 * mpk_closing_line - say on a terminal what was written: "y.whl: 72.5 MiB -> 7.3 MiB; 4.1 s"
 * mpk_closing_hint - say on a terminal what comes next
 * Nothing for what is neither a regular file nor a folder, and with -q.
 * @before  bytes of what it was made from; 0: that says nothing
 * @fmt     what else there is to say, "; 80 images kept" */
void mpk_closing_begin(void);
void mpk_closing_line(const char *path, uint64_t before, const char *fmt, ...) MPK_PRINTF(3, 4);
void mpk_closing_hint(const char *fmt, ...) MPK_PRINTF(1, 2);

#endif

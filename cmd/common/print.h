/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - the only place that writes to standard output and standard error, and the progress line
 *
 * Names in a file may contain control sequences of a terminal, so printers escape them. As a
 * safeguard against a forgotten escape, output is restricted here to printable UTF-8, line ends,
 * tabs and our own colours. A backslash is unchanged, so escaped text is not escaped twice.
 *
 * No other file of cmd/ uses these streams (scripts/check-layers). Files are written through
 * io/output.h. */
#ifndef MPK_CMD_COMMON_PRINT_H
#define MPK_CMD_COMMON_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct mpk_error;

enum mpk_stream { MPK_STDOUT, MPK_STDERR };

/* mpk_print, mpk_print_text - write a text and flush it
 * Returns  0, or the errno of the failure */
int mpk_print(enum mpk_stream stream, const char *fmt, ...) MPK_PRINTF(2, 3);
int mpk_print_text(enum mpk_stream stream, const char *text, size_t len);

/* mpk_print_error - make an error from an errno returned by these two. EFBIG may also mean that
 * standard output is a file and the text would exceed the output limit (base/account.h) */
void mpk_print_error(int failed, struct mpk_error *err);

/* mpk_print_by_lines - flush standard output at each line end, also for code that is called in this
 * process and may crash. Call it before anything is printed. */
void mpk_print_by_lines(void);

/* mpk_color_on - whether a stream uses colours: depends on --color, NO_COLOR, TERM=dumb, and
 * whether it is a terminal */
bool mpk_color_on(enum mpk_stream stream);

/* mpk_progress_begin - show from now on how many of total bytes are written: percentage, rate and
 * remaining time, in one line that is overwritten
 * Follows --progress; "auto" means only on a terminal, and after half a second.
 * @what    "packing", borrowed */
void mpk_progress_begin(const char *what, uint64_t total);

/* mpk_progress_tap - counts bytes that are only read; copied bytes are counted automatically */
struct mpk_tap; /* io/copy.h */
extern const struct mpk_tap mpk_progress_tap;

/* mpk_progress_show - show the progress of work in another process; the first call begins the line,
 * like mpk_progress_begin
 * @what    "loading", borrowed
 * @total   0 if unknown. Until something is done, the line shows the elapsed time */
void mpk_progress_show(const char *what, uint64_t done, uint64_t total);

/* mpk_progress_end - erase the line; may be called without a begin */
void mpk_progress_end(void);

/* mpk_progress_all_begin - begin work of several steps, which share one line: steps that begin and
 * end within it do not end the line. A timer also draws it while nothing is counted.
 * @total   bytes of all files; 0 if unknown
 * @files   number of files; the line counts them if there are several
 * mpk_progress_all_next - begin the next file, with its bytes
 * mpk_progress_all_open - the current file is an archive: replace it by its files, with their bytes
 * mpk_progress_all_end - erase the line; may be called without a begin */
void mpk_progress_all_begin(const char *what, uint64_t total, size_t files);
void mpk_progress_all_next(uint64_t bytes);
void mpk_progress_all_open(uint64_t bytes, size_t files);
void mpk_progress_all_end(void);

/* mpk_closing_begin - start the clock for mpk_closing_line
 * mpk_closing_line - print on a terminal what was written: "y.whl: 72.5 MiB -> 7.3 MiB; 4.1 s"
 * mpk_closing_hint - print on a terminal the next command to run
 * These print nothing with -q, or if the output is neither a regular file nor a folder.
 * @before  bytes of the input; 0 to omit them
 * @fmt     further details, "; 80 images kept" */
void mpk_closing_begin(void);
void mpk_closing_line(const char *path, uint64_t before, const char *fmt, ...) MPK_PRINTF(3, 4);
void mpk_closing_hint(const char *fmt, ...) MPK_PRINTF(1, 2);

#endif

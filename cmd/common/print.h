/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - the one place where text leaves for standard output and standard error
 *
 * Names in a file may hold what a terminal takes for a command. Whoever makes a text escapes them. When somebody
 * forgot, this still holds: no byte gets out that is neither printable UTF-8 nor a line end or tab, but for the
 * colours of our own. A backslash stays, so
 * what was escaped is not escaped twice.
 *
 * Nothing else of cmd/ uses these streams (scripts/check-layers). Files are written through io/output.h. */
#ifndef MPK_CMD_COMMON_PRINT_H
#define MPK_CMD_COMMON_PRINT_H

#include <stdbool.h>
#include <stddef.h>

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* shell.h - words of a command line, for lines that a user pastes */
#ifndef MPK_TEXT_SHELL_H
#define MPK_TEXT_SHELL_H

#include "base/span.h"
#include "base/strbuf.h"

/* mpk_shell_quote - append a word so that a POSIX shell takes it back as it is
 * What needs no quotes gets none. A newline stays one, within quotes; other control
 * characters, which a terminal would obey, are left to printf(1).
 * @word    any bytes but NUL */
void mpk_shell_quote(struct mpk_strbuf *out, struct mpk_span word);

#endif

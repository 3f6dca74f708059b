/* SPDX-License-Identifier: Apache-2.0 */
/* phrase.h - pieces of sentences that many views print: "2 kernels", "a, b and 3 more" */
#ifndef MPK_TEXT_PHRASE_H
#define MPK_TEXT_PHRASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"

/* How many names of a list are printed; --json has all. */
enum { MPK_NAMES_SHOWN = 8 };

/* mpk_put_count - append "1 kernel", "2 kernels"
 * mpk_put_also - append ", 1 kernel", ", 2 kernels"
 * @what    the singular */
void mpk_put_count(struct mpk_strbuf *out, uint64_t n, const char *what);
void mpk_put_also(struct mpk_strbuf *out, uint64_t n, const char *what);

/* mpk_put_more - append " and 3 more" when count names are more than MPK_NAMES_SHOWN */
void mpk_put_more(struct mpk_strbuf *out, size_t count);

/* mpk_put_names - append the first names, escaped, with commas, and how many more there are */
void mpk_put_names(struct mpk_strbuf *out, const struct mpk_span *names, size_t count);

/* mpk_put_word - append a word of a command line as a shell takes it back; what a terminal would obey is
 * escaped before */
void mpk_put_word(struct mpk_strbuf *out, struct mpk_span word);

/* mpk_shell_quote - append a word so that a POSIX shell takes it back as it is
 * What needs no quotes gets none. A newline stays one, within quotes; other control
 * characters, which a terminal would obey, are left to printf(1).
 * @word    any bytes but NUL */
void mpk_shell_quote(struct mpk_strbuf *out, struct mpk_span word);

#endif

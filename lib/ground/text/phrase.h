/* SPDX-License-Identifier: Apache-2.0 */
/* phrase.h - pieces of sentences that many views print: "2 kernels", "a, b and 3 more"; names in lists */
#ifndef MPK_TEXT_PHRASE_H
#define MPK_TEXT_PHRASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"

/* How many names of a list are printed; --json has all. */
enum { MPK_NAMES_SHOWN = 8 };

/* mpk_put_number - append a number with its thousands apart: "999", "5,000" */
void mpk_put_number(struct mpk_strbuf *out, uint64_t n);

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

/* --- names in lists: their order, and what --filter means wherever names are chosen by it --- */

/* mpk_natural_compare - as strcmp, but layer2 is before layer10: runs of digits are compared as numbers of any length; names that
 * differ in leading zeros alone are in the order of strcmp, so that only equal names compare equal */
int mpk_natural_compare(const char *a, const char *b);

/* mpk_name_matches - whether a name is chosen: the filter is a pattern for the whole name where it has
 * one of * ? [, as shells have them, otherwise it is a part of the name
 * @filter  NULL: every name is chosen
 * Of a name longer than 4095 bytes a pattern sees so much. */
bool mpk_name_matches(struct mpk_span name, const char *filter);

/* What several filters choose: what one of them does. Borrowed. */
struct mpk_name_filter {
	const char *const *items;
	size_t count;
};

/* mpk_name_is_chosen - whether any of them chooses a name
 * @filter  NULL: every name is chosen */
bool mpk_name_is_chosen(struct mpk_span name, const struct mpk_name_filter *filter);

#endif

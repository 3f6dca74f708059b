/* SPDX-License-Identifier: Apache-2.0 */
/* phrase.h - pieces of sentences that many views print: "2 kernels", "a, b and 3 more"; names in lists */
#ifndef MPK_TEXT_PHRASE_H
#define MPK_TEXT_PHRASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"

/* The most names of a list that are printed; --json has all. */
enum { MPK_NAMES_SHOWN = 8 };

/* mpk_put_number - append a number with thousands separators: "999", "5,000" */
void mpk_put_number(struct mpk_strbuf *out, uint64_t n);

/* mpk_put_count - append "1 kernel", "2 kernels"
 * mpk_put_also - append ", 1 kernel", ", 2 kernels"
 * @what    the singular */
void mpk_put_count(struct mpk_strbuf *out, uint64_t n, const char *what);
void mpk_put_also(struct mpk_strbuf *out, uint64_t n, const char *what);

/* mpk_put_more - append " and 3 more" when count names are more than MPK_NAMES_SHOWN */
void mpk_put_more(struct mpk_strbuf *out, size_t count);

/* mpk_put_names - append the first names, escaped, separated by commas, and how many more there
 * are */
void mpk_put_names(struct mpk_strbuf *out, const struct mpk_span *names, size_t count);

/* mpk_put_word - append a word of a command line, quoted for a shell; control characters are
 * escaped before */
void mpk_put_word(struct mpk_strbuf *out, struct mpk_span word);

/* mpk_shell_quote - append a word so that a POSIX shell reads it back unchanged
 * Adds quotes only where needed. A newline stays, within quotes; other control characters are
 * written for printf(1), because a terminal would act on them.
 * @word    any bytes but NUL */
void mpk_shell_quote(struct mpk_strbuf *out, struct mpk_span word);

/* --- names in lists: their order, and what --filter means wherever names are chosen by it --- */

/* mpk_natural_compare - like strcmp, but layer2 is before layer10: runs of digits are compared as
 * numbers of any length. Names that differ in leading zeros only are ordered by strcmp, so only
 * equal names compare equal */
int mpk_natural_compare(const char *a, const char *b);

/* mpk_name_matches - whether a filter selects a name: a filter with * ? or [ is a shell pattern
 * for the whole name; any other filter is a part of the name
 * @filter  NULL: every name matches. Patterns see the first 4095 bytes of a name. */
bool mpk_name_matches(struct mpk_span name, const char *filter);

/* Several filters; a name is selected if one of them matches. Borrowed. */
struct mpk_name_filter {
	const char *const *items;
	size_t count;
};

/* mpk_name_is_chosen - whether any of the filters selects a name
 * @filter  NULL: every name is selected */
bool mpk_name_is_chosen(struct mpk_span name, const struct mpk_name_filter *filter);

#endif

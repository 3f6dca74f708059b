/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - the order in which people list names, and what --filter means, wherever names are chosen by it */
#ifndef MPK_TEXT_NAMES_H
#define MPK_TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

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

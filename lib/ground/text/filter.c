/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - names that a filter selects
 *
 * Separate from phrase.c, which is linked into applications and must not call fnmatch.
 *
 * A filter with a special character of fnmatch(3) is a pattern; any other filter selects names
 * that contain it, because that is what people type first. */
#include <fnmatch.h>
#include <string.h>

#include "text/phrase.h"

enum { NAME_BYTES = 4095 }; /* Copies without allocating, so it cannot fail. */

bool mpk_name_matches(struct mpk_span name, const char *filter)
{
	char text[NAME_BYTES + 1];

	if (!filter)
		return true;
	if (!filter[strcspn(filter, "*?[")])
		return name.len && memmem(name.data, name.len, filter, strlen(filter)) != NULL;
	/* A name from a file need not end with a NUL; a name with a NUL inside matches up to it. */
	name.len = name.len < NAME_BYTES ? name.len : NAME_BYTES;
	if (name.len)
		memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	return fnmatch(filter, text, 0) == 0;
}

bool mpk_name_is_chosen(struct mpk_span name, const struct mpk_name_filter *filter)
{
	for (size_t i = 0; filter && i < filter->count; i++)
		if (mpk_name_matches(name, filter->items[i]))
			return true;
	return !filter;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "text/match.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool mpk_name_matches(struct mpk_span name, const char *filter)
{
	char *text;
	bool matches;

	if (!filter)
		return true;
	if (!filter[strcspn(filter, "*?[")])
		return name.len && memmem(name.data, name.len, filter, strlen(filter)) != NULL;
	/* names of files need not end with a NUL; one that has a NUL within matches up to it */
	text = strndup(name.len ? (const char *)name.data : "", name.len);
	matches = text && fnmatch(filter, text, 0) == 0;
	free(text);
	return matches;
}

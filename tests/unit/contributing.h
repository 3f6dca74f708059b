/* SPDX-License-Identifier: Apache-2.0 */
/* contributing.h - what CONTRIBUTING.md shows is what is compiled */
#ifndef CONTRIBUTING_H
#define CONTRIBUTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

static char *whole_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	ck_assert_msg(f && text && fread(text, 1, (1 << 20) - 1, f) > 0, "cannot read %s", path);
	(void)fclose(f);
	return text;
}

/* The lines of the C block that begins with the comment `title` stand in the file `source`; lines of
 * "..." stand for what is left out. */
static void assert_contributing_shows(const char *title, const char *source)
{
	char *page = whole_file("CONTRIBUTING.md"), *compiled = whole_file(source);
	char begin[128], *at, *rest;
	size_t shown = 0;

	(void)snprintf(begin, sizeof begin, "```c\n/* %s */\n", title);
	at = strstr(page, begin);
	ck_assert_msg(at != NULL, "CONTRIBUTING.md does not show %s", title);
	at += strlen(begin);
	*strstr(at, "```") = '\0';
	for (char *line = strtok_r(at, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, "\t ");
		if (strcmp(line, "...") == 0)
			continue;
		ck_assert_msg(strstr(compiled, line) != NULL, "not there: %s", line);
		shown++;
	}
	ck_assert_uint_gt(shown, 20);
	free(compiled);
	free(page);
}

#endif

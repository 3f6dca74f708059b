/* SPDX-License-Identifier: Apache-2.0 */
/* skip.h - a test that cannot run here says why, and ends
 *
 * The runner counts these reports, one a test, so a test that skips does nothing after it.
 */
#ifndef MPK_TESTS_UNIT_SKIP_H
#define MPK_TESTS_UNIT_SKIP_H

#include <check.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

/* SKIP_TEST("format", ...) - leave the test of which this is a statement as skipped */
#define SKIP_TEST(...)                                                                             \
	do {                                                                                       \
		skip_report(__func__, __VA_ARGS__);                                                \
		return;                                                                            \
	} while (0)

static inline void skip_report(const char *function, const char *fmt, ...) MPK_PRINTF(2, 3);

/* skip_report - "test: reason" to the file that the runner names; without one to stdout
 * One write a line, so that tests of several processes do not mix theirs.
 * @function  __func__ of the test: Check appends "_fn" to the name */
static inline void skip_report(const char *function, const char *fmt, ...)
{
	const char *path = getenv("MPK_TEST_SKIPS");
	size_t name_len = strlen(function);
	char line[512];
	va_list ap;

	if (name_len > 3 && strcmp(function + name_len - 3, "_fn") == 0)
		name_len -= 3;
	int n = snprintf(line, sizeof line, "%.*s: ", (int)name_len, function);
	va_start(ap, fmt);
	(void)vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
	va_end(ap);
	line[strcspn(line, "\n")] = '\0';
	if (!path) {
		(void)printf("SKIP: %s\n", line);
		return;
	}
	size_t len = strlen(line);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	line[len++] = '\n';
	ck_assert_msg(fd >= 0, "%s cannot be written", path);
	ck_assert_int_eq(write(fd, line, len), (ssize_t)len);
	(void)close(fd);
}

#endif

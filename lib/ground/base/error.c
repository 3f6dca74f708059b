/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - errors, and reports of many. An error is filled in place: no allocation, so that it works when memory is
 * out. */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "base/vec.h"

/* err may be NULL everywhere, for callers that only need the code. */
static void fill(struct mpk_error *err, enum mpk_code code, const char *fmt, va_list ap)
	MPK_PRINTF(3, 0);

static void fill(struct mpk_error *err, enum mpk_code code, const char *fmt, va_list ap)
{
	if (!err)
		return;
	err->at = (struct mpk_where){ 0 };
	err->code = code;
	err->sys_errno = 0;
	(void)vsnprintf(err->text, sizeof err->text, fmt, ap);
}

#define FILL(err, code, fmt)                                                                       \
	do {                                                                                       \
		va_list ap_;                                                                       \
		va_start(ap_, fmt);                                                                \
		fill(err, code, fmt, ap_);                                                         \
		va_end(ap_);                                                                       \
	} while (0)

/* The parentheses keep the macros of the same names (error.h) from expanding here; those
 * tell the compiler that a failure is never MPK_OK. */
enum mpk_code(mpk_fail)(struct mpk_error *err, enum mpk_code code, const char *fmt, ...)
{
	FILL(err, code, fmt);
	return code;
}

enum mpk_code(mpk_fail_errno)(struct mpk_error *err, enum mpk_code code, int errno_value,
			      const char *fmt, ...)
{
	/* a system call that fails for lack of memory is reported like any failed allocation */
	if (errno_value == ENOMEM)
		code = MPK_E_NOMEM;
	FILL(err, code, fmt);
	if (err) {
		size_t used = strlen(err->text);

		err->sys_errno = errno_value;
		(void)snprintf(err->text + used, sizeof err->text - used, ": %s",
			       strerror(errno_value));
	}
	return code;
}

enum mpk_code(mpk_fail_offset)(struct mpk_error *err, enum mpk_code code, const char *space,
			       uint64_t offset, const char *fmt, ...)
{
	FILL(err, code, fmt);
	if (err) {
		err->at.offset = offset;
		err->at.has_offset = true;
		(void)snprintf(err->at.space, sizeof err->at.space, "%s", space);
	}
	return code;
}

enum mpk_code(mpk_fail_line)(struct mpk_error *err, enum mpk_code code, uint32_t line,
			     uint32_t column, const char *fmt, ...)
{
	FILL(err, code, fmt);
	if (err) {
		err->at.line = line;
		err->at.column = column;
	}
	return code;
}

enum mpk_code(mpk_fail_nomem)(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_NOMEM, "out of memory");
}

/* Keeps the prefix whole, and cuts the end of the old sentence when both do not fit. */
void mpk_error_prefix(struct mpk_error *err, const char *fmt, ...)
{
	char text[sizeof err->text];
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	int used = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (used < 0)
		return;
	if ((size_t)used < sizeof text) {
		size_t room = sizeof text - (size_t)used - 1;
		size_t n = strnlen(err->text, room);

		memcpy(text + used, err->text, n);
		text[(size_t)used + n] = '\0';
	}
	memcpy(err->text, text, sizeof text);
}

void mpk_error_at_file(struct mpk_error *err, const char *file)
{
	if (!err || !file || err->at.file[0])
		return;

	/* The end of a path tells more than its beginning, so the beginning is cut. */
	size_t len = strlen(file), room = sizeof err->at.file - 1;
	if (len <= room)
		memcpy(err->at.file, file, len + 1);
	else
		(void)snprintf(err->at.file, sizeof err->at.file, "...%s", file + (len - room + 3));
}

void mpk_error_at_path(struct mpk_error *err, const char *path)
{
	if (err && path && !err->at.path[0])
		(void)snprintf(err->at.path, sizeof err->at.path, "%s", path);
}

const char *mpk_code_name(enum mpk_code code)
{
	static const char *const names[MPK_CODE_COUNT] = {
		[MPK_OK] = "ok",
		[MPK_E_DIFFERENT] = "different",
		[MPK_E_USAGE] = "usage",
		[MPK_E_IO] = "io",
		[MPK_E_SYNTAX] = "syntax",
		[MPK_E_CORRUPT] = "corrupt",
		[MPK_E_RANGE] = "range",
		[MPK_E_UNSUPPORTED] = "unsupported",
		[MPK_E_CONFLICT] = "conflict",
		[MPK_E_TOOL] = "tool",
		[MPK_E_NO_BLOB] = "no-blob",
		[MPK_E_NOTFOUND] = "not-found",
		[MPK_E_LOAD] = "load",
		[MPK_E_DEVICE] = "device",
		[MPK_E_RAISED] = "raised",
		[MPK_E_TIMEOUT] = "timeout",
		[MPK_E_NOMEM] = "no-memory",
		[MPK_E_BUDGET] = "budget",
		[MPK_E_INTERNAL] = "internal",
	};

	return code < MPK_CODE_COUNT && names[code] ? names[code] : "internal";
}

/* As compilers print positions, so that editors find them: "file:line:column"; in binary
 * files "file: space+0xoffset". */
const char *mpk_where_print(const struct mpk_where *at, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
#define PUT(...)                                                                                   \
	do {                                                                                       \
		if (used < size)                                                                   \
			used += (size_t)snprintf(out + used, size - used, __VA_ARGS__);            \
	} while (0)
	if (at->file[0])
		PUT("%s", at->file);
	if (at->line)
		PUT("%s%" PRIu32 ":%" PRIu32, used ? ":" : "", at->line, at->column);
	if (at->has_offset)
		PUT("%s%s+0x%" PRIx64, used ? ": " : "", at->space, at->offset);
	if (at->path[0])
		PUT("%s%s", used ? ": " : "", at->path);
#undef PUT
	return out;
}

/* --- findings (report.h): in the order in which they were made, sorted by position in the end. Their
 * number is bounded, because a file may be wrong in a million places and nobody reads that;
 * what is beyond is counted --- */

const char *mpk_severity_name(enum mpk_severity severity)
{
	static const char *const names[] = {
		[MPK_NOTE] = "note", [MPK_WARNING] = "warning", [MPK_ERROR] = "error"
	};

	return names[severity];
}

/* A report that streams (take) keeps nothing and drops nothing. Otherwise findings beyond
 * the limit are counted only; errors and warnings are counted in both cases, as exit
 * statuses depend on them. */
void mpk_report_add_about(struct mpk_report *report, enum mpk_severity severity, const char *check,
			  const struct mpk_error *error, struct mpk_span about)
{
	char *copy = about.len ? strndup((const char *)about.data, about.len) : NULL;

	report->errors += severity == MPK_ERROR;
	report->warnings += severity == MPK_WARNING;
	if (!report->take && report->count >= MPK_REPORT_MAX) {
		report->dropped++;
		free(copy);
		return;
	}
	if (report->take && (copy || !about.len)) {
		report->take(&(struct mpk_finding){ .severity = severity,
						    .check = check,
						    .error = *error,
						    .about = copy },
			     report->arg);
		free(copy);
		return;
	}
	if ((about.len && !copy) || !MPK_VEC_ROOM(report->findings, report->count, report->cap)) {
		report->failed = true;
		free(copy);
		return;
	}
	report->findings[report->count++] = (struct mpk_finding){
		.severity = severity, .check = check, .error = *error, .about = copy
	};
}

void mpk_report_add(struct mpk_report *report, enum mpk_severity severity, const char *check,
		    const struct mpk_error *error)
{
	mpk_report_add_about(report, severity, check, error, (struct mpk_span){ 0 });
}

/* By file, then position; findings without a position come first in their file. Equal
 * positions keep the order in which they were found. */
static int order(const struct mpk_where *a, const struct mpk_where *b)
{
	int r = strcmp(a->file, b->file);

	if (r)
		return r;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->column != b->column)
		return a->column < b->column ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return 0;
}

void mpk_report_sort(struct mpk_report *report)
{
	/* insertion sort: stable, and at most MPK_REPORT_MAX elements */
	for (size_t i = 1; i < report->count; i++) {
		struct mpk_finding f = report->findings[i];
		size_t j = i;

		while (j > 0 && order(&report->findings[j - 1].error.at, &f.error.at) > 0) {
			report->findings[j] = report->findings[j - 1];
			j--;
		}
		report->findings[j] = f;
	}
}

void mpk_report_fini(struct mpk_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		free(report->findings[i].about);
	free(report->findings);
	memset(report, 0, sizeof *report);
}

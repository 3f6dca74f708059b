/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - errors are filled in place: no allocation, so that they work when memory is out */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Nobody has to want to know why: err may be NULL throughout. */
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
	/* a system call that lacks memory is reported as all other lack of memory */
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

/* What comes before is kept whole; the end of the old sentence is cut when both do not fit. */
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

	/* the end of a path says more than its beginning */
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

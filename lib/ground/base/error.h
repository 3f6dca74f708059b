/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - errors are values: a code, a position and one sentence
 *
 * Every fallible function returns enum mpk_code and takes a caller-owned
 * struct mpk_error as its last parameter. The struct is filled only on failure and
 * needs no memory of its own; the pointer may be NULL when the caller wants the code
 * alone. On failure out-parameters are untouched unless the header says otherwise.
 * Only cmd/ prints errors and turns codes into exit statuses.
 */
#ifndef MPK_BASE_ERROR_H
#define MPK_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum mpk_code {
	MPK_OK,
	MPK_E_DIFFERENT,   /* a comparison or verification found a difference */
	MPK_E_USAGE,       /* the command line asks for something that makes no sense */
	MPK_E_IO,          /* a file is missing, unreadable or cannot be written */
	MPK_E_SYNTAX,      /* text that does not parse; at.line and at.column say where */
	MPK_E_CORRUPT,     /* bytes that cannot be what they claim; at.offset says where */
	MPK_E_RANGE,       /* a number outside its bounds */
	MPK_E_UNSUPPORTED, /* valid input that this program refuses, with the reason */
	MPK_E_CONFLICT,    /* two parts of the input contradict each other */
	MPK_E_TOOL,        /* a tool that we called (cc, ar) failed */
	MPK_E_NO_BLOB,     /* the file holds no module blob and no callable function */
	MPK_E_NOTFOUND,    /* a named function, symbol or member does not exist */
	MPK_E_LOAD,        /* missing loader kind, symbol or library; wrong machine */
	MPK_E_DEVICE,      /* no device or no driver: "skip" for CI */
	MPK_E_RAISED,   /* the called function raised or crashed, or a device call of it failed */
	MPK_E_TIMEOUT,  /* the called function did not return in time */
	MPK_E_NOMEM,    /* the system gave no memory */
	MPK_E_BUDGET,   /* the caller's limit of memory is exceeded */
	MPK_E_INTERNAL, /* a defect of this program */
	MPK_CODE_COUNT
};

/* Where in the input the fault is. All parts are optional; empty and zero mean unknown. */
struct mpk_where {
	char file[512];  /* the file as the user named it; long names lose their head */
	uint32_t line;   /* 1-based; 0: not a position in a text */
	uint32_t column; /* 1-based, in characters */
	uint64_t offset; /* bytes from the start of `space`, when has_offset */
	bool has_offset;
	char space[24]; /* what offset counts in: "blob", "file", "payload" */
	char path[64];  /* module tree path such as "/0/1", or a symbol name */
};

struct mpk_error {
	enum mpk_code code;
	int sys_errno; /* errno of the failed call; 0 when none was involved */
	struct mpk_where at;
	char text[1024]; /* one sentence, no newline at its end, already escaped */
};

/* mpk_fail - fill *err with code and a formatted sentence; at becomes empty
 * Returns  code, so that a function can end in `return mpk_fail(err, ...)`. */
enum mpk_code mpk_fail(struct mpk_error *err, enum mpk_code code, const char *fmt, ...)
	MPK_PRINTF(3, 4);

/* mpk_fail_errno - the same for a failed system call: appends ": " and strerror(errno_value)
 * Returns  code (usually MPK_E_IO). ENOMEM becomes MPK_E_NOMEM. */
enum mpk_code mpk_fail_errno(struct mpk_error *err, enum mpk_code code, int errno_value,
			     const char *fmt, ...) MPK_PRINTF(4, 5);

/* mpk_fail_offset - mpk_fail at a byte offset
 * @space   what the offset counts in ("blob", "file", "payload"); at most 23 bytes
 * Returns  code */
enum mpk_code mpk_fail_offset(struct mpk_error *err, enum mpk_code code, const char *space,
			      uint64_t offset, const char *fmt, ...) MPK_PRINTF(5, 6);

/* mpk_fail_line - mpk_fail at a position in a text; line and column count from 1
 * Returns  code */
enum mpk_code mpk_fail_line(struct mpk_error *err, enum mpk_code code, uint32_t line,
			    uint32_t column, const char *fmt, ...) MPK_PRINTF(5, 6);

/* mpk_fail_nomem - MPK_E_NOMEM with the standard sentence */
enum mpk_code mpk_fail_nomem(struct mpk_error *err);

/* mpk_error_prefix - put "<formatted>" in front of err->text (context on the way up)
 * A text that would not fit is cut at its end. Keeps code and position. NULL err: no-op. */
void mpk_error_prefix(struct mpk_error *err, const char *fmt, ...) MPK_PRINTF(2, 3);

/* mpk_error_at_file, mpk_error_at_path - add a file name or tree path to the position,
 * unless one is there already: the innermost knowledge wins. NULL err: no-op. */
void mpk_error_at_file(struct mpk_error *err, const char *file);
void mpk_error_at_path(struct mpk_error *err, const char *path);

/* mpk_code_name - "different", "not-found", ...: the word in documents; static text */
const char *mpk_code_name(enum mpk_code code);

/* mpk_where_print - "file:12:5", "file: blob+0x58: /0/1" or ""; for messages
 * @out     receives a NUL-terminated text, cut to size bytes
 * Returns  out */
const char *mpk_where_print(const struct mpk_where *at, char *out, size_t size);

/* A failure is never MPK_OK. The compiler learns that here, so that it knows which variables are
 * set after MPK_TRY. */
static inline enum mpk_code mpk_failed(enum mpk_code code)
{
	if (code == MPK_OK)
		__builtin_unreachable();
	return code;
}

#define mpk_fail(...) mpk_failed(mpk_fail(__VA_ARGS__))
#define mpk_fail_errno(...) mpk_failed(mpk_fail_errno(__VA_ARGS__))
#define mpk_fail_offset(...) mpk_failed(mpk_fail_offset(__VA_ARGS__))
#define mpk_fail_line(...) mpk_failed(mpk_fail_line(__VA_ARGS__))
#define mpk_fail_nomem(err) mpk_failed(mpk_fail_nomem(err))

/* Propagates a failure to the caller. */
#define MPK_TRY(expr)                                                                              \
	do {                                                                                       \
		enum mpk_code mpk_try_code_ = (expr);                                              \
		if (mpk_try_code_ != MPK_OK)                                                       \
			return mpk_try_code_;                                                      \
	} while (0)

/* The same for allocations: ok is a pointer, or the bool result of a function that reserves
 * memory. */
#define MPK_TRY_ALLOC(ok, err)                                                                     \
	do {                                                                                       \
		if (!(ok))                                                                         \
			return mpk_fail_nomem(err);                                                \
	} while (0)

#endif

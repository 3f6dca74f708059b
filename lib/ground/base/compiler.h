/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.h - the compiler extensions this project uses, under names of its own
 *
 * Nothing outside lib/ground/base spells an attribute or a statement expression; that keeps
 * the rest plain C17 and makes a port a matter of this one file.
 */
#ifndef MPK_BASE_COMPILER_H
#define MPK_BASE_COMPILER_H

#include <stddef.h>

#define MPK_MUST_CHECK __attribute__((warn_unused_result))
#define MPK_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define MPK_NORETURN __attribute__((noreturn))
#define MPK_EXPORT __attribute__((visibility("default")))

/* Calls fn(&variable) when the variable goes out of scope. The variable must be
 * initialised where it is declared; fn must accept the initial value. */
#define MPK_CLEANUP(fn) __attribute__((cleanup(fn)))

/* Whether the program is built with a sanitizer. Its runtime reserves terabytes and needs
 * additional system calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MPK_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define MPK_IS_SANITIZED 1
#endif
#endif
#ifndef MPK_IS_SANITIZED
#define MPK_IS_SANITIZED 0
#endif

/* Whether that sanitizer is AddressSanitizer, which can mark memory as unreadable. */
#if defined(__SANITIZE_ADDRESS__)
#define MPK_IS_ADDRESS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPK_IS_ADDRESS_SANITIZED 1
#endif
#endif
#ifndef MPK_IS_ADDRESS_SANITIZED
#define MPK_IS_ADDRESS_SANITIZED 0
#endif

#define MPK_ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Returns  *p and sets *p to NULL, so that a cleanup of p frees nothing. */
#define MPK_STEAL(p)                                                                               \
	(__extension__({                                                                           \
		__typeof__(*(p)) mpk_stolen_ = *(p);                                               \
		*(p) = NULL;                                                                       \
		mpk_stolen_;                                                                       \
	}))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - a borrowed view of bytes; not NUL-terminated */
#ifndef MPK_BASE_SPAN_H
#define MPK_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mpk_span {
	const uint8_t *data;
	size_t len; /* bytes */
};

/* Data of this size and more is "large". Large data is copied from file to file, not through
 * memory, and a thread hashes it meanwhile. Compilers and linkers never get large data; below this
 * size keeping it from them would save nothing. A large tensor gets pages of its own, which the
 * kernel zeroes. */
enum { MPK_LARGE_BYTES = 1 << 20 };

/* "%.*s" arguments for a span that holds text */
#define MPK_SPAN_FMT "%.*s"
#define MPK_SPAN_ARG(s) (int)((s).len > 4096 ? 4096 : (s).len), (const char *)(s).data

static inline struct mpk_span mpk_span_of(const void *data, size_t len)
{
	return (struct mpk_span){ .data = data, .len = len };
}

/* A view of a C string without its NUL. */
static inline struct mpk_span mpk_span_str(const char *text)
{
	return (struct mpk_span){ .data = (const uint8_t *)text, .len = strlen(text) };
}

static inline bool mpk_span_equal(struct mpk_span a, struct mpk_span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool mpk_span_is(struct mpk_span a, const char *text)
{
	return mpk_span_equal(a, mpk_span_str(text));
}

/* mpk_span_has - whether s contains text */
static inline bool mpk_span_has(struct mpk_span s, const char *text)
{
	return s.len && memmem(s.data, s.len, text, strlen(text));
}

/* mpk_span_count - how often a byte occurs in s */
static inline size_t mpk_span_count(struct mpk_span s, uint8_t byte)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.data[i] == byte;
	return n;
}

static inline bool mpk_span_starts(struct mpk_span a, const char *prefix)
{
	size_t n = strlen(prefix);
	return a.len >= n && memcmp(a.data, prefix, n) == 0;
}

/* mpk_is_digit - whether a byte is an ASCII digit, in every locale */
static inline bool mpk_is_digit(int byte)
{
	return byte >= '0' && byte <= '9';
}

/* mpk_span_trim - the text without blanks and control characters at its ends */
static inline struct mpk_span mpk_span_trim(struct mpk_span s)
{
	while (s.len && s.data[0] <= ' ')
		s = mpk_span_of(s.data + 1, s.len - 1);
	while (s.len && s.data[s.len - 1] <= ' ')
		s.len--;
	return s;
}

/* Bytewise order, shorter first on a tie, as std::string compares. Returns <0, 0, >0. */
static inline int mpk_span_compare(struct mpk_span a, struct mpk_span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int r = n ? memcmp(a.data, b.data, n) : 0;
	return r ? r : (a.len > b.len) - (a.len < b.len);
}

/* mpk_span_from - the bytes of s from offset at; at <= s.len. The data of an empty span may be
 * NULL, so nothing is added to it. */
static inline struct mpk_span mpk_span_from(struct mpk_span s, size_t at)
{
	return at ? mpk_span_of(s.data + at, s.len - at) : s;
}

/* mpk_span_sub - bytes [off, off+len) of s
 * Returns  true and sets *out; false when they do not lie within s (*out untouched). */
static inline bool mpk_span_sub(struct mpk_span s, uint64_t off, uint64_t len, struct mpk_span *out)
{
	if (off > s.len || len > s.len - off || (len > 0 && !s.data))
		return false;
	*out = (struct mpk_span){ .data = s.data ? s.data + off : NULL, .len = (size_t)len };
	return true;
}

/* mpk_span_text - a NUL-terminated text at offset off of a table, such as .strtab
 * @max     the most bytes up to the NUL
 * Returns  true and sets *out, without the NUL; false when no NUL is found (*out
 *          untouched) */
static inline bool mpk_span_text(struct mpk_span table, uint64_t off, size_t max,
				 struct mpk_span *out)
{
	size_t left = off < table.len ? table.len - (size_t)off : 0;
	const uint8_t *text = left ? table.data + off : NULL;
	const uint8_t *end =
		text ? (const uint8_t *)memchr(text, 0, left < max ? left : max) : NULL;

	if (!end)
		return false;
	*out = mpk_span_of(text, (size_t)(end - text));
	return true;
}

#endif

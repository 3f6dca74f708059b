/* SPDX-License-Identifier: Apache-2.0 */
/* escape.c - makes text from files safe to print. Names may contain escape sequences that rewrite
 * a terminal, line ends that forge a line of a log, bidirectional overrides, invalid UTF-8.
 * Printed text has none of them, and the original bytes can be recovered from it. */
#include "text/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

/* RFC 3629: no overlong forms, no surrogates. */
size_t mpk_utf8_at(const uint8_t *p, size_t left, uint32_t *cp)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = p[0] < 0x80       ? 1
		   : p[0] >> 5 == 6  ? 2
		   : p[0] >> 4 == 14 ? 3
		   : p[0] >> 3 == 30 ? 4
				     : 0;

	if (n == 0 || n > left)
		return 0;
	*cp = n == 1 ? p[0] : (uint32_t)p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (p[i] & 0x3fU);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return n;
}

bool mpk_utf8_whole(struct mpk_span s)
{
	uint32_t cp;

	for (size_t i = 0, n; i < s.len; i += n) {
		n = s.data[i] < 0x80 ? 1 : mpk_utf8_at(s.data + i, s.len - i, &cp);
		if (n == 0)
			return false;
	}
	return true;
}

/* Whether a terminal would act on it, it reorders or separates lines, or it is invisible. */
static bool is_control(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
#define MPK_INVISIBLE(first, last) { first, last },
#include "text/invisible.def"
#undef MPK_INVISIBLE
	};
	size_t low = 0, high = MPK_ARRAY_COUNT(ranges);

	if (cp < 0x80)
		return cp < 0x20 || cp == 0x7f;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (cp > ranges[mid].last)
			low = mid + 1;
		else
			high = mid;
	}
	return low < MPK_ARRAY_COUNT(ranges) && cp >= ranges[low].first;
}

/* Writes the escaped form of the character at p to out (at most 12 bytes and a NUL);
 * returns the number of input bytes taken. */
static size_t escape_one(const uint8_t *p, size_t left, char out[MPK_ESCAPED_MAX])
{
	uint32_t cp;
	size_t n = mpk_utf8_at(p, left, &cp);

	if (n && !is_control(cp) && cp != '\\') {
		memcpy(out, p, n);
		out[n] = '\0';
		return n;
	}
	if (n == 0)
		n = 1;
	if (p[0] == '\n' || p[0] == '\t' || p[0] == '\r' || p[0] == '\\') {
		out[0] = '\\';
		out[1] = p[0] == '\n' ? 'n' : p[0] == '\t' ? 't' : p[0] == '\r' ? 'r' : '\\';
		out[2] = '\0';
		return n;
	}
	for (size_t i = 0; i < n; i++)
		(void)snprintf(out + 4 * i, 5, "\\x%02x", p[i]);
	return n;
}

/* A carriage return before a line feed is the line end of texts from Windows, and harmless. */
size_t mpk_escape_next(struct mpk_span s, char out[MPK_ESCAPED_MAX])
{
	uint32_t cp;
	size_t i = 0, n;

	while (i < s.len) {
		uint8_t c = s.data[i];

		bool ends_line = c == '\r' && i + 1 < s.len && s.data[i + 1] == '\n';

		if ((c >= ' ' && c < 0x7f) || c == '\n' || c == '\t' || ends_line) {
			i++;
			continue;
		}
		n = mpk_utf8_at(s.data + i, s.len - i, &cp);
		if (!n || is_control(cp))
			break;
		i += n;
	}
	if (i < s.len && i == 0)
		return escape_one(s.data, s.len, out);
	out[0] = '\0';
	return i;
}

/* Appends runs of plain characters at once, because nearly all text is plain.
 * @kept    characters that are not escaped */
static void escape_but(struct mpk_strbuf *buf, struct mpk_span s, const char *kept)
{
	char piece[MPK_ESCAPED_MAX];

	for (size_t i = 0, plain = 0; i < s.len; i += plain, plain = 0) {
		while (i + plain < s.len) {
			uint8_t c = s.data[i + plain];

			if (!(c >= ' ' && c < 0x7f && c != '\\') && !(c && strchr(kept, c)))
				break;
			plain++;
		}
		mpk_strbuf_put(buf, (const char *)s.data + i, plain);
		if (i + plain == s.len)
			break;
		i += escape_one(s.data + i + plain, s.len - i - plain, piece);
		mpk_strbuf_puts(buf, piece);
	}
}

void mpk_escape(struct mpk_strbuf *buf, struct mpk_span s)
{
	escape_but(buf, s, "");
}

void mpk_escape_controls(struct mpk_strbuf *buf, struct mpk_span s)
{
	escape_but(buf, s, "\\\n");
}

void mpk_escape_sentence(struct mpk_strbuf *buf, struct mpk_span s)
{
	escape_but(buf, s, "\\");
}

void mpk_escape_lines(struct mpk_strbuf *buf, struct mpk_span s)
{
	size_t from = 0;

	for (size_t i = 0; i <= s.len; i++) {
		if (i < s.len && s.data[i] != '\t')
			continue;
		mpk_escape_controls(buf, mpk_span_of(s.data + from, i - from));
		mpk_strbuf_puts(buf, i < s.len ? "\t" : "");
		from = i + 1;
	}
}

/* Cuts at a whole escape, so that the end never looks like another escape. */
const char *mpk_escape_to(struct mpk_span s, char *out, size_t size)
{
	size_t used = 0, cut = 0;
	char piece[MPK_ESCAPED_MAX];

	for (size_t i = 0; i < s.len;) {
		i += escape_one(s.data + i, s.len - i, piece);
		size_t n = strlen(piece);

		if (used + 4 <= size)
			cut = used; /* The last position at which "..." still fits. */
		if (used + n >= size) {
			memcpy(out + cut, "...", 4);
			return out;
		}
		memcpy(out + used, piece, n);
		used += n;
	}
	out[used] = '\0';
	return out;
}

static void put_string(struct mpk_strbuf *buf, struct mpk_span s, const char *invalid, bool is_toml)
{
	uint32_t cp;

	mpk_strbuf_putc(buf, '"');
	for (size_t i = 0, n; i < s.len; i += n ? n : 1) {
		const char *p = (const char *)s.data + i;

		n = mpk_utf8_at(s.data + i, s.len - i, &cp);
		if (n == 0 && invalid)
			mpk_strbuf_puts(buf, invalid);
		else if (n && is_control(cp)) {
			/* "\u061c"; beyond 16 bits JSON needs two surrogates, and TOML one
			 * number */
			if (cp < 0x10000)
				mpk_strbuf_printf(buf, "\\u%04x", (unsigned)cp);
			else if (is_toml)
				mpk_strbuf_printf(buf, "\\U%08x", (unsigned)cp);
			else
				mpk_strbuf_printf(buf, "\\u%04x\\u%04x",
						  (unsigned)(0xd7c0 + (cp >> 10)),
						  (unsigned)(0xdc00 + (cp & 0x3ff)));
		} else if (*p == '"' || *p == '\\')
			mpk_strbuf_printf(buf, "\\%c", *p);
		else
			mpk_strbuf_put(buf, p, n ? n : 1);
	}
	mpk_strbuf_putc(buf, '"');
}

void mpk_escape_json(struct mpk_strbuf *buf, struct mpk_span s, const char *invalid)
{
	put_string(buf, s, invalid, false);
}

void mpk_escape_toml(struct mpk_strbuf *buf, struct mpk_span s, const char *invalid)
{
	put_string(buf, s, invalid, true);
}

/* Outside its strings a document is ASCII; the writer has escaped the inside of its strings. */
void mpk_escape_document(struct mpk_strbuf *buf, struct mpk_span s)
{
	size_t from = 0, i = 0, n;
	uint32_t cp;

	for (; i < s.len; i += n ? n : 1) {
		n = s.data[i] < 0x7f ? 1 : mpk_utf8_at(s.data + i, s.len - i, &cp);
		if (s.data[i] < 0x7f || n == 0 || !is_control(cp))
			continue;
		mpk_strbuf_put(buf, (const char *)s.data + from, i - from);
		if (cp < 0x10000)
			mpk_strbuf_printf(buf, "\\u%04X", (unsigned)cp);
		else
			mpk_strbuf_printf(buf, "\\u%04X\\u%04X", (unsigned)(0xd7c0 + (cp >> 10)),
					  (unsigned)(0xdc00 + (cp & 0x3ff)));
		from = i + n;
	}
	mpk_strbuf_put(buf, (const char *)s.data + from, s.len - from);
}

/* --- errors of another process ------------------------------------------------------------- */

/* Works in place. Another process wrote the text; it may contain anything and lack a NUL. */
static void clean(char *text, size_t size)
{
	uint8_t *p = (uint8_t *)text;
	size_t len = strnlen(text, size - 1);

	text[len] = '\0';
	for (size_t i = 0; i < len;) {
		uint32_t cp;
		size_t n = mpk_utf8_at(p + i, len - i, &cp);

		if (n == 0 || is_control(cp)) {
			n = n ? n : 1;
			memset(p + i, '?', n);
		}
		i += n;
	}
}

void mpk_escape_error(const struct mpk_error *from, enum mpk_code unknown, struct mpk_error *out)
{
	*out = *from;
	clean(out->text, sizeof out->text);
	clean(out->at.file, sizeof out->at.file);
	clean(out->at.space, sizeof out->at.space);
	clean(out->at.path, sizeof out->at.path);
	if ((unsigned)out->code >= MPK_CODE_COUNT)
		out->code = unknown;
}

/* '?' is escaped because of trigraphs; octal escapes have three digits, so that no digit of the text continues one. */
void mpk_escape_c(struct mpk_strbuf *out, struct mpk_span s)
{
	mpk_strbuf_putc(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.data[i];

		if (c == '"' || c == '\\' || c == '?')
			mpk_strbuf_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			mpk_strbuf_printf(out, "\\%03o", c);
		else
			mpk_strbuf_putc(out, (char)c);
	}
	mpk_strbuf_putc(out, '"');
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Text of files in markup: Markdown for code reviews, attributes of XML for JUnit; and bytes as base64. Control bytes become escapes first,
 * as everywhere.
 *
 * Escaping Markdown by backslashes depends on the renderer, so names go into code spans, whose only rule is the length
 * of the run of backticks around them. XML cannot hold control characters even as references; the two noncharacters of
 * Unicode that it also forbids become U+FFFD. */
#include "text/markup.h"

#include <string.h>

#include "base/compiler.h"
#include "text/escape.h"

/* --- Markdown ------------------------------------------------------------------------------ */

/* Longest run of one byte: a code span or a fence needs more backticks around it than its text
 * has in a row. */
static size_t longest_run(struct mpk_span s, uint8_t byte)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < s.len; i++) {
		run = s.data[i] == byte ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void put_run(struct mpk_strbuf *out, char c, size_t count)
{
	while (count--)
		mpk_strbuf_putc(out, c);
}

static void markdown_put_code(struct mpk_strbuf *out, const struct mpk_strbuf *escaped)
{
	struct mpk_span s = mpk_span_of(mpk_strbuf_text(escaped), escaped->len);
	size_t ticks = longest_run(s, '`') + 1;
	/* Markdown removes one blank on each side, which separates the text from the backticks. */
	bool pad = s.len && (s.data[0] == '`' || s.data[s.len - 1] == '`' || s.data[0] == ' ' ||
			     s.data[s.len - 1] == ' ');

	out->failed |= escaped->failed;
	if (!s.len)
		return;
	put_run(out, '`', ticks);
	put_run(out, ' ', pad);
	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] == '|') /* A table ends a cell even inside code. */
			mpk_strbuf_putc(out, '\\');
		/* Sentences may contain line feeds, table cells may not. */
		mpk_strbuf_putc(out, s.data[i] == '\n' ? ' ' : (char)s.data[i]);
	}
	put_run(out, ' ', pad);
	put_run(out, '`', ticks);
}

void mpk_markdown_code(struct mpk_strbuf *out, struct mpk_span text)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, text);
	markdown_put_code(out, &escaped);
}

/* Appends a sentence about a file: line feeds stay until put_code turns them into blanks. */
void mpk_markdown_said(struct mpk_strbuf *out, const char *sentence)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape_controls(&escaped, mpk_span_str(sentence));
	markdown_put_code(out, &escaped);
}

void mpk_markdown_html(struct mpk_strbuf *out, const char *sentence)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape_controls(&escaped, mpk_span_str(sentence));
	out->failed |= escaped.failed;
	for (const char *p = mpk_strbuf_text(&escaped); *p; p++) {
		/* An empty line ends an HTML block, and "@" would notify people. */
		if (*p == '<' || *p == '>' || *p == '&' || *p == '"' || *p == '@')
			mpk_strbuf_printf(out, "&#%d;", *p);
		else
			mpk_strbuf_putc(out, *p == '\n' ? ' ' : *p);
	}
}

/* The text is escaped code; only the length of the fence depends on it. */
void mpk_markdown_fence(struct mpk_strbuf *out, const char *language, struct mpk_span text)
{
	size_t ticks = longest_run(text, '`') + 1;

	if (ticks < 3)
		ticks = 3;
	put_run(out, '`', ticks);
	mpk_strbuf_printf(out, "%s\n", language);
	mpk_strbuf_put_span(out, text);
	if (text.len && text.data[text.len - 1] != '\n')
		mpk_strbuf_putc(out, '\n');
	put_run(out, '`', ticks);
	mpk_strbuf_putc(out, '\n');
}

/* --- XML ----------------------------------------------------------------------------------- */

/* The characters U+FFFE and U+FFFF, which XML does not allow even as references. */
static bool is_noncharacter(const char *p)
{
	return memcmp(p, "\xef\xbf", 2) == 0 && (p[2] == '\xbe' || p[2] == '\xbf');
}

/* One character, or the three bytes of a noncharacter. */
static void put_char(struct mpk_strbuf *out, const char **at)
{
	static const struct {
		char c;
		const char *reference;
	} special[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" } };
	const char *p = (*at)++;

	if (strnlen(p, 3) == 3 && is_noncharacter(p)) {
		mpk_strbuf_puts(out, "\xef\xbf\xbd");
		*at += 2;
		return;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(special); i++)
		if (*p == special[i].c) {
			mpk_strbuf_puts(out, special[i].reference);
			return;
		}
	mpk_strbuf_putc(out, *p);
}

void mpk_xml_escaped_attribute(struct mpk_strbuf *out, const char *name, const char *text)
{
	mpk_strbuf_printf(out, " %s=\"", name);
	while (*text)
		put_char(out, &text);
	mpk_strbuf_putc(out, '"');
}

void mpk_xml_attribute(struct mpk_strbuf *out, const char *name, const char *value)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, mpk_span_str(value));
	out->failed |= escaped.failed;
	mpk_xml_escaped_attribute(out, name, mpk_strbuf_text(&escaped));
}

/* --- base64: strict in reading, a text has one value and a value one text, so that two spellings of one key do not
 * pass for two keys --- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void mpk_base64_put(struct mpk_strbuf *out, struct mpk_span bytes)
{
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t group = (uint32_t)bytes.data[i] << 16;
		char text[4];

		group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
		group |= left > 2 ? (uint32_t)bytes.data[i + 2] : 0;
		for (unsigned k = 0; k < 4; k++)
			text[k] = k <= left ? alphabet[group >> (18 - 6 * k) & 63] : '=';
		mpk_strbuf_put(out, text, sizeof text);
	}
}

bool mpk_base64_read(struct mpk_span text, uint8_t *out, size_t room, size_t *len)
{
	uint32_t bits = 0; /* bits not yet returned; the lowest `held` of them count */
	unsigned held = 0;
	size_t characters = 0, padding = 0, count = 0;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];
		const char *at = c ? strchr(alphabet, c) : NULL;

		if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
			continue;
		characters++;
		padding += c == '=';
		if (c == '=' && padding <= 2)
			continue;
		if (!at || padding)
			return false;
		bits = bits << 6 | (uint32_t)(at - alphabet);
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		if (count == room)
			return false;
		out[count++] = (uint8_t)(bits >> held);
		bits &= (1U << held) - 1;
	}
	*len = count;
	return characters % 4 == 0 && bits == 0 && padding == (3 - count % 3) % 3;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* markup.h - untrusted text as GitHub's Markdown and as XML; bytes as base64
 *
 * Control bytes become escapes first (escape.h). Then the text is put where nothing in it can be
 * markup, a mention or a link: in a code span, a fence, or character references of HTML and XML. */
#ifndef MPK_TEXT_MARKUP_H
#define MPK_TEXT_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"

/* mpk_markdown_code - append text as a code span that is valid in a table: "`name`"; nothing for
 * an empty text
 * mpk_markdown_said - append a sentence whose parts are escaped already, the same way */
void mpk_markdown_code(struct mpk_strbuf *out, struct mpk_span text);
void mpk_markdown_said(struct mpk_strbuf *out, const char *sentence);

/* mpk_markdown_html - append a sentence whose parts are escaped already, as content of an HTML
 * element */
void mpk_markdown_html(struct mpk_strbuf *out, const char *sentence);

/* mpk_markdown_fence - append a fenced block; the fence is longer than any in the text
 * @language "diff"
 * @text    lines that are escaped already */
void mpk_markdown_fence(struct mpk_strbuf *out, const char *language, struct mpk_span text);

/* mpk_xml_attribute - append ` name="value"`; control bytes and invalid UTF-8 of the value are
 * escaped
 * mpk_xml_escaped_attribute - the same for a text that is escaped already: only XML's own
 * characters are escaped */
void mpk_xml_attribute(struct mpk_strbuf *out, const char *name, const char *value);
void mpk_xml_escaped_attribute(struct mpk_strbuf *out, const char *name, const char *text);

/* --- bytes as text of RFC 4648's standard alphabet, in which keys and signatures travel --- */

/* mpk_base64_put - append bytes in base64, padded, on one line */
void mpk_base64_put(struct mpk_strbuf *out, struct mpk_span bytes);

/* mpk_base64_read - decode a text; white space between its characters is ignored
 * @out     room bytes; undefined after a failure
 * @len     receives the number of bytes
 * Returns  false: a character of another alphabet, nonzero bits after the last byte,
 *          missing padding, text after it, or more than room bytes */
bool mpk_base64_read(struct mpk_span text, uint8_t *out, size_t room, size_t *len);

#endif

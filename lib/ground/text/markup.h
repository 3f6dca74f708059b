/* SPDX-License-Identifier: Apache-2.0 */
/* markup.h - pieces of GitHub's Markdown and of XML that hold text from untrusted input
 *
 * Control bytes become escapes first, as everywhere (escape.h). Then the text is put where nothing in it is
 * markup, a mention or a link: in a code span, a fence, or references of HTML and XML.
 */
#ifndef MPK_TEXT_MARKUP_H
#define MPK_TEXT_MARKUP_H

#include "base/span.h"
#include "base/strbuf.h"

/* mpk_markdown_code - append text as a code span that may stand in a table: "`name`"; nothing for an empty
 * text
 * mpk_markdown_said - the same for a sentence whose parts have been escaped */
void mpk_markdown_code(struct mpk_strbuf *out, struct mpk_span text);
void mpk_markdown_said(struct mpk_strbuf *out, const char *sentence);

/* mpk_markdown_html - append a sentence whose parts have been escaped for the inside of an HTML element */
void mpk_markdown_html(struct mpk_strbuf *out, const char *sentence);

/* mpk_markdown_fence - append a fenced block; the fence is longer than any in the text
 * @language  "diff"
 * @text    lines that are escaped already */
void mpk_markdown_fence(struct mpk_strbuf *out, const char *language, struct mpk_span text);

/* mpk_xml_attribute - append ` name="value"`; control bytes and broken UTF-8 of the value are shown escaped
 * mpk_xml_escaped_attribute - the same for a text that is escaped already: only what XML asks for is done */
void mpk_xml_attribute(struct mpk_strbuf *out, const char *name, const char *value);
void mpk_xml_escaped_attribute(struct mpk_strbuf *out, const char *name, const char *text);

#endif

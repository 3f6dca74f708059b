/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of XML, for JUnit. Control characters, which XML cannot hold even as
 * references, become escapes first; the two noncharacters of Unicode that it also forbids
 * become U+FFFD. */
#include "text/xml.h"

#include <string.h>

#include "base/compiler.h"
#include "text/escape.h"

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

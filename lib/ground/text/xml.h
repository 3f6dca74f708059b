/* SPDX-License-Identifier: Apache-2.0 */
/* xml.h - attributes of XML that hold text from untrusted input */
#ifndef MPK_TEXT_XML_H
#define MPK_TEXT_XML_H

#include "base/strbuf.h"

/* mpk_xml_attribute - append ` name="value"`; control bytes and broken UTF-8 of the value are shown escaped
 * mpk_xml_escaped_attribute - the same for a text that is escaped already: only what XML asks for is done */
void mpk_xml_attribute(struct mpk_strbuf *out, const char *name, const char *value);
void mpk_xml_escaped_attribute(struct mpk_strbuf *out, const char *name, const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* escape.h - text from untrusted input, made safe for a terminal and a log line */
#ifndef MPK_TEXT_ESCAPE_H
#define MPK_TEXT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

/* mpk_utf8_at - the character of UTF-8 at p
 * @left    bytes at p, one at least
 * Returns  its length, and its code point in *cp; 0 when there is none
 * mpk_utf8_whole - whether s is UTF-8 from its beginning to its end */
size_t mpk_utf8_at(const uint8_t *p, size_t left, uint32_t *cp);
bool mpk_utf8_whole(struct mpk_span s);

/* mpk_escape - append s with control bytes, backslash and bytes that are not UTF-8 as
 * \n, \t, \\, \xNN; printable UTF-8 stays as it is. C1 controls, bidirectional controls, separators of
 * lines and what nobody sees count as control bytes (invisible.def). */
void mpk_escape(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_controls - the same for a text whose parts have been escaped: backslashes and line feeds
 * stay as they are */
void mpk_escape_controls(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_sentence - the same for one line: line feeds are escaped, too */
void mpk_escape_sentence(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_lines - the same for a text whose parts have not been: as mpk_escape_controls, and tabs stay,
 * too */
void mpk_escape_lines(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_to - the same into a fixed buffer, cut with "..." when it does not fit
 * @out     size bytes, size >= 8; NUL-terminated
 * Returns  out */
const char *mpk_escape_to(struct mpk_span s, char *out, size_t size);

/* mpk_escape_c - append s as a string literal of C, with its quotes */
void mpk_escape_c(struct mpk_strbuf *out, struct mpk_span s);

/* mpk_escape_json - append s as a string of JSON, which is one of YAML, too: in double quotes, with what mpk_escape counts
 * as control as \uNNNN, of two halves beyond 16 bits
 * mpk_escape_toml - the same as a string of TOML, which has \UNNNNNNNN for that
 * @invalid is put for each byte that is not UTF-8, such as "\\ufffd"; NULL: the byte itself */
void mpk_escape_json(struct mpk_strbuf *buf, struct mpk_span s, const char *invalid);
void mpk_escape_toml(struct mpk_strbuf *buf, struct mpk_span s, const char *invalid);

/* mpk_escape_document - append a piece of a JSON document, with the same in its strings */
void mpk_escape_document(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_error - an error that another process wrote, who may have been made to write anything:
 * texts end within their arrays and hold no control characters or bytes that are not UTF-8 ('?'
 * replaces each), and the code is one that there is
 * @unknown the code in place of one that there is not */
void mpk_escape_error(const struct mpk_error *from, enum mpk_code unknown, struct mpk_error *out);

/* mpk_escape_next - what of s is printed next
 * @out     "": the bytes as they are, which need no escape on a terminal: printable UTF-8, backslashes, tabs and line
 *          feeds, also with a carriage return before them; else the text for their character
 * Returns  how many bytes of s that is; 0: s is empty */
enum { MPK_ESCAPED_MAX = 17 };
size_t mpk_escape_next(struct mpk_span s, char out[MPK_ESCAPED_MAX]);

/* A name quoted in a message: MPK_QUOTE(span) is the escaped text, at most 120 bytes. */
#define MPK_QUOTE(s) mpk_escape_to((s), (char[128]){ 0 }, 128)

#endif

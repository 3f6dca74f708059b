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

/* mpk_utf8_at - decode the UTF-8 character at p
 * @left    bytes at p, at least one
 * Returns  its length, and its code point in *cp; 0: invalid
 * mpk_utf8_whole - whether all of s is valid UTF-8 */
size_t mpk_utf8_at(const uint8_t *p, size_t left, uint32_t *cp);
bool mpk_utf8_whole(struct mpk_span s);

/* mpk_escape - append s with control bytes, backslashes and invalid bytes as \n, \t, \\, \xNN;
 * printable UTF-8 stays. C1 controls, bidirectional controls, line separators and invisible
 * characters count as control bytes (invisible.def). */
void mpk_escape(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_controls - the same for a text whose parts are escaped already: backslashes and line
 * feeds stay */
void mpk_escape_controls(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_sentence - like mpk_escape_controls, but escapes line feeds, for text on one line */
void mpk_escape_sentence(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_lines - like mpk_escape_controls, but keeps tabs, for a text of which no part is
 * escaped yet */
void mpk_escape_lines(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_to - mpk_escape into a fixed buffer, cut with "..." when it does not fit
 * @out     size bytes, size >= 8; NUL-terminated
 * Returns  out */
const char *mpk_escape_to(struct mpk_span s, char *out, size_t size);

/* mpk_escape_c - append s as a string literal of C, with its quotes */
void mpk_escape_c(struct mpk_strbuf *out, struct mpk_span s);

/* mpk_escape_json - append s as a JSON string, which YAML reads, too: in double quotes; characters
 * that mpk_escape treats as control become \uNNNN, surrogate pairs beyond 16 bits
 * mpk_escape_toml - the same as a TOML string, which uses \UNNNNNNNN beyond 16 bits
 * @invalid replaces each byte that is not UTF-8, such as "\\ufffd"; NULL: the byte
 *          stays */
void mpk_escape_json(struct mpk_strbuf *buf, struct mpk_span s, const char *invalid);
void mpk_escape_toml(struct mpk_strbuf *buf, struct mpk_span s, const char *invalid);

/* mpk_escape_document - append a piece of a JSON document; its strings are escaped as
 * mpk_escape_json does */
void mpk_escape_document(struct mpk_strbuf *buf, struct mpk_span s);

/* mpk_escape_error - copy an error from an untrusted process: texts end within their arrays and
 * contain no control characters or invalid UTF-8 ('?' replaces each), and the code is a valid one
 * @unknown replaces an invalid code */
void mpk_escape_error(const struct mpk_error *from, enum mpk_code unknown, struct mpk_error *out);

/* mpk_escape_next - print the next part of s
 * @out     "": the bytes need no escape on a terminal (printable UTF-8, backslashes,
 *          tabs, line feeds, also after a carriage return); else the text that replaces
 *          them
 * Returns  the number of bytes of s that this covers; 0: s is empty */
enum { MPK_ESCAPED_MAX = 17 };
size_t mpk_escape_next(struct mpk_span s, char out[MPK_ESCAPED_MAX]);

/* A name quoted in a message: MPK_QUOTE(span) is the escaped text, at most 120 bytes. */
#define MPK_QUOTE(s) mpk_escape_to((s), (char[128]){ 0 }, 128)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - the last step of a text that a person reads: names of C++, and lines that fit the terminal
 *
 * Every text passes it, whichever answer made it. Documents, tables for programs and texts out of a file do not. */
#ifndef MPK_SHOW_ANSWER_LINES_H
#define MPK_SHOW_ANSWER_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "base/strbuf.h"

/* Zero-initialise, set the first four. */
struct mpk_lines {
	mpk_take_text *take; /* gets the lines */
	void *arg;
	size_t width;            /* columns; 0: lines stay whole */
	bool mangled;            /* symbols of C++ stay as they are */
	struct mpk_strbuf begun; /* a line of which only the beginning is known */
	struct mpk_strbuf out;
};

/* mpk_lines_put - a text that may begin and end within a line; an mpk_take_text
 *
 * "_Z5scalePfi" becomes "scale(float*, int)", but for command lines to paste ("minspect --run _Z5scalePfi x.so") and
 * places ("/0#_Z5scalePfi"); in front of a "(" without its parameters. One of more than 96 columns loses parameters
 * and inner template arguments.
 *
 * A line that is longer than width goes on in further ones, indented by four columns more: behind a comma where it
 * has one, else at a blank; never within a word. A command line goes on in front of an option, behind a backslash, so
 * that it can be pasted. Width is counted in characters.
 * @lines   struct mpk_lines */
void mpk_lines_put(const char *text, size_t len, void *lines);

/* mpk_symbol_name - append what a symbol of C++ names, in the longest form that is not longer than a width: with
 * parameters, without, with template arguments of two levels, of one
 * @has_params  they follow already
 * Returns  false: it is no such symbol; nothing is appended */
bool mpk_symbol_name(struct mpk_span symbol, bool has_params, size_t width, struct mpk_strbuf *out);

/* mpk_lines_end - the rest, when there is no more text; frees what it held
 * Returns  false: memory was out, and some of the text is lost */
bool mpk_lines_end(struct mpk_lines *lines);

#endif

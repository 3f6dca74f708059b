/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - what minspect says of something, in each form that it has
 *
 * A room that answers fills a struct with what it found, and exports one row of functions that print it.
 * cmd/ prints every answer through one path: a further form, or a further answer, is a row and no more.
 */
#ifndef MPK_ANSWER_ANSWER_H
#define MPK_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "base/strbuf.h"
#include "text/json.h"

/* How text is drawn, and how much of it; cmd/ knows what the terminal can. */
struct mpk_style {
	bool color;
	bool unicode;
	bool verbose;     /* -v: also what few want to see */
	bool is_terminal; /* a person reads it in lines of some width: long names may be cut */
};

/* Append a text; failures are remembered by out.
 * Put members into the object at; failures are remembered by j. */
typedef void mpk_answer_text(const void *what, struct mpk_style style, struct mpk_strbuf *out);
typedef void mpk_answer_json(const void *what, struct mpk_json *j, struct mpk_json_at *at);

/* One answer. `what` is a pointer to the struct that the declaration of the row names. A form that is
 * NULL the answer does not have. */
struct mpk_answer {
	mpk_answer_text *text;
	mpk_answer_json *json;
	mpk_answer_text *line;     /* in a line, or a part of one: for lists of many */
	mpk_answer_text *markdown; /* for a pull request */
	mpk_answer_text *csv_head; /* the line of column names; `what` is NULL */
	mpk_answer_text *csv;      /* rows, as RFC 4180 has them */
	mpk_answer_text *tap;      /* TAP version 13 */
	mpk_answer_text *junit;    /* XML in the form that Jenkins and its kin read */
	bool is_apart;             /* an empty line goes between the texts of two files */
};

/* --- the last step of a text that a person reads: names of C++, and lines that fit the terminal ---
 *
 * Every text passes it, whichever answer made it. Documents, tables for programs and texts out of a file do not. */

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

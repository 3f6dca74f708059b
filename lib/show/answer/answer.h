/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the table of functions that print one result of minspect in each output format
 *
 * A part of lib/show that computes a result fills a struct and exports one struct mpk_answer, whose
 * functions print that struct. cmd/ prints every result through that table: a new format or a new
 * result needs no other code.
 */
#ifndef MPK_ANSWER_ANSWER_H
#define MPK_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "base/strbuf.h"
#include "text/json.h"

/* How text is drawn and how much of it. Only cmd/ knows the abilities of the terminal, so it fills
 * this struct. */
struct mpk_style {
	bool color;
	bool unicode;
	bool verbose;     /* -v: also print details that few users want */
	bool is_terminal; /* output goes to a terminal with a line width: long names may be cut */
};

/* Appends text to out; out remembers failures.
 * Puts members into the object at; j remembers failures. */
typedef void mpk_answer_text(const void *what, struct mpk_style style, struct mpk_strbuf *out);
typedef void mpk_answer_json(const void *what, struct mpk_json *j, struct mpk_json_at *at);

/* The printers of one result. `what` points to the struct that the declaration of the table names.
 * A printer is NULL if the result does not have that format. */
struct mpk_answer {
	mpk_answer_text *text;
	mpk_answer_json *json;
	mpk_answer_text *line;     /* one line or part of a line: for lists of many results */
	mpk_answer_text *markdown; /* for a comment on a pull request */
	mpk_answer_text *csv_head; /* the line of column names; `what` is NULL */
	mpk_answer_text *csv;      /* rows in the format of RFC 4180 */
	mpk_answer_text *tap;      /* TAP version 13 */
	mpk_answer_text *junit;    /* JUnit XML, which CI servers read */
	bool is_apart;             /* an empty line separates the texts of two files */
};

/* --- the last step of all text for people: demangles C++ symbols and breaks lines to the width of
 * the terminal ---
 *
 * All text results pass through this filter. JSON documents, tables for programs and text copied
 * from a file do not. */

/* Zero-initialise, then set the first four fields. */
struct mpk_lines {
	mpk_take_text *take; /* receives the finished lines */
	void *arg;
	size_t width;            /* columns; 0: no line is broken */
	bool mangled;            /* C++ symbols stay mangled */
	struct mpk_strbuf begun; /* a line whose end has not arrived yet */
	struct mpk_strbuf out;
};

/* mpk_lines_put - filter a piece of text that may begin and end within a line; an mpk_take_text
 *
 * "_Z5scalePfi" becomes "scale(float*, int)". Symbols stay mangled in command lines to paste
 * ("minspect --run _Z5scalePfi x.so") and in tree paths ("/0#_Z5scalePfi"). In front of a "(" the
 * name gets no parameters. A name of more than 96 columns loses its parameters and its inner
 * template arguments.
 *
 * A line longer than width continues on further lines, indented by four more columns. It breaks
 * behind a comma if possible, else at a blank, and never within a word. A command line breaks in
 * front of an option, behind a backslash, so that it can be pasted. Width is counted in characters.
 * @lines   struct mpk_lines */
void mpk_lines_put(const char *text, size_t len, void *lines);

/* mpk_symbol_name - append the demangled name of a C++ symbol, in the longest form that fits in
 * width columns: with parameters, without parameters, with two levels of template arguments, with
 * one level
 * @has_params  the parameters already follow in the text
 * Returns  false: it is not a C++ symbol; nothing is appended */
bool mpk_symbol_name(struct mpk_span symbol, bool has_params, size_t width, struct mpk_strbuf *out);

/* mpk_lines_end - write the unfinished last line and free the memory of lines
 * Returns  false: memory ran out, and part of the text is lost */
bool mpk_lines_end(struct mpk_lines *lines);

#endif

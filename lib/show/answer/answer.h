/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - what minspect says of something, in each form that it has
 *
 * A room that answers fills a struct with what it found, and exports one row of functions that print it.
 * cmd/ prints every answer through one path: a further form, or a further answer, is a row and no more.
 */
#ifndef MPK_ANSWER_ANSWER_H
#define MPK_ANSWER_ANSWER_H

#include <stdbool.h>

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

#endif

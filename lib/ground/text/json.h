/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - building JSON documents; a failed allocation is remembered, not reported each time
 *
 * A document is written from beginning to end: putting a value into a container closes all
 * containers within it, and nothing more can be put into those. Bytes from input files become
 * valid UTF-8, and integers that a reader with IEEE doubles would round are written as strings.
 * The same calls give the same bytes. */
#ifndef MPK_TEXT_JSON_H
#define MPK_TEXT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

struct mpk_json_at; /* an object or array that is not closed yet */

/* How far a document has been printed. */
struct mpk_json_print {
	size_t depth;
	bool is_empty; /* nothing follows the last opening bracket yet */
	/* the rest is printed without blanks, one line for each element of a list in the root */
	bool is_long;
};

/* One document. Use mpk_json_init, build from root, print, mpk_json_fini. */
struct mpk_json {
	struct mpk_json_at *root; /* an object; NULL after a failed allocation */
	bool failed;
	struct mpk_strbuf text;   /* without blanks; without the part that was passed on */
	struct mpk_json_at *open; /* the innermost open container */
	struct mpk_json_print print;
	/* The document becomes part of an HTML script element, printed without blanks: no string
	 * ends the element, begins another or opens a comment, and no line ends within a string.
	 * Set it before building. */
	bool in_script;
	mpk_take_text *take; /* receives finished pieces; NULL: none */
	void *arg;
};

/* mpk_json_init - an empty object whose first member is "schema_version"
 * @schema_version  0: no such member */
void mpk_json_init(struct mpk_json *j, int schema_version);

/* mpk_json_init_list - an empty array, to be copied into a document */
void mpk_json_init_list(struct mpk_json *j);

void mpk_json_fini(struct mpk_json *j);

/* mpk_json_stream - pass on complete parts in pieces of about a megabyte; mpk_json_print then
 * appends the rest. A short document is one piece, printed as by mpk_json_print. Of a long one
 * only the first piece has blanks: they would be two thirds of it, and nobody reads so much.
 * @take    is not called again after a failed allocation */
void mpk_json_stream(struct mpk_json *j, mpk_take_text *take, void *arg);

/* mpk_json_object, mpk_json_array - put a new empty container and return it
 * @at      the object or array that receives it, not complete yet; NULL (an earlier failure) is fine
 * @key     member name when at is an object, valid UTF-8; NULL appends to an array
 * Returns  the container, borrowed from the document until it is complete; NULL after a failure */
struct mpk_json_at *mpk_json_object(struct mpk_json *j, struct mpk_json_at *at, const char *key);
struct mpk_json_at *mpk_json_array(struct mpk_json *j, struct mpk_json_at *at, const char *key);

/* mpk_json_document - put a copy of another, separately built document */
void mpk_json_document(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		       const struct mpk_json *document);

/* mpk_json_u64, mpk_json_i64 - a number, or its decimal digits as a string beyond 2^53 */
void mpk_json_u64(struct mpk_json *j, struct mpk_json_at *at, const char *key, uint64_t v);
void mpk_json_i64(struct mpk_json *j, struct mpk_json_at *at, const char *key, int64_t v);

/* mpk_json_f64 - a number; or the strings "nan", "inf", "-inf", for which JSON has no numbers */
void mpk_json_f64(struct mpk_json *j, struct mpk_json_at *at, const char *key, double v);

/* mpk_json_bool, mpk_json_null - true or false; null */
void mpk_json_bool(struct mpk_json *j, struct mpk_json_at *at, const char *key, bool v);
void mpk_json_null(struct mpk_json *j, struct mpk_json_at *at, const char *key);

/* mpk_json_text, mpk_json_span - a string; if the bytes are not UTF-8, escaped by mpk_escape. NULL
 * becomes null. */
void mpk_json_text(struct mpk_json *j, struct mpk_json_at *at, const char *key, const char *text);
void mpk_json_span(struct mpk_json *j, struct mpk_json_at *at, const char *key, struct mpk_span s);

/* mpk_json_name - a string; null for an empty span */
static inline void mpk_json_name(struct mpk_json *j, struct mpk_json_at *at, const char *key,
				 struct mpk_span name)
{
	if (name.len)
		mpk_json_span(j, at, key, name);
	else
		mpk_json_null(j, at, key);
}

/* mpk_json_take - a string from a buffer, which is freed; a failed buffer fails the document */
void mpk_json_take(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		   struct mpk_strbuf *text);

/* mpk_json_spans, mpk_json_texts, mpk_json_i64s - an array of strings, or of numbers
 * mpk_json_printf - a formatted string of at most 63 bytes; for numbers with words around them */
void mpk_json_spans(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const struct mpk_span *items, size_t count);
void mpk_json_texts(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const char *const *items, size_t count);
void mpk_json_i64s(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		   const int64_t *items, size_t count);
void mpk_json_printf(struct mpk_json *j, struct mpk_json_at *at, const char *key, const char *fmt,
		     ...) MPK_PRINTF(4, 5);

/* mpk_json_error - an error as {"code", "message", "file", "offset", ...}; unknown parts are
 * omitted */
void mpk_json_error(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const struct mpk_error *error);

/* mpk_json_print - append the document, indented by two, and a newline; in_script: without
 * indentation and newline
 * Returns  MPK_OK; MPK_E_NOMEM when anything failed since mpk_json_init */
enum mpk_code mpk_json_print(const struct mpk_json *j, struct mpk_strbuf *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_json_so_far - the text put so far, for comparing documents; borrowed until more is put */
struct mpk_span mpk_json_so_far(const struct mpk_json *j);

/* mpk_json_line - append the document in ASCII, without a blank or a newline
 * Returns  as mpk_json_print */
enum mpk_code mpk_json_line(const struct mpk_json *j, struct mpk_strbuf *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif

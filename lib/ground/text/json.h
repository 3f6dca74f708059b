/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - building JSON documents; a failed allocation is remembered, not reported each time
 *
 * A document is written from its beginning to its end: what is put into a container ends all that
 * was begun within that container before, and nothing more can be put there. Bytes from input files become
 * valid UTF-8, and integers that a reader with IEEE doubles would round are written as strings. The
 * same calls give the same bytes.
 */
#ifndef MPK_TEXT_JSON_H
#define MPK_TEXT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

struct mpk_json_at; /* an object or array that is not complete yet */

/* How far a document has been printed. */
struct mpk_json_print {
	size_t depth;
	bool is_empty; /* nothing follows the last bracket yet */
	bool is_long; /* what comes is set without blanks, a line for each thing in a list of the root */
};

/* One document. Use mpk_json_init, build from root, print, mpk_json_fini. */
struct mpk_json {
	struct mpk_json_at *root; /* an object; NULL after a failed allocation */
	bool failed;
	struct mpk_strbuf text;   /* without blanks; less what was taken */
	struct mpk_json_at *open; /* the innermost container that is not complete */
	struct mpk_json_print print;
	/* It is to be part of a script element of HTML, and is printed without spaces: no text in it ends the
	 * element, begins another or opens a comment, and no line ends within it. Set before it is built. */
	bool in_script;
	mpk_take_text *take; /* gets a piece when there is one; NULL: nobody takes them */
	void *arg;
};

/* mpk_json_init - an empty object whose first member is "schema_version"
 * @schema_version  0: no such member */
void mpk_json_init(struct mpk_json *j, int schema_version);

/* mpk_json_init_list - an empty array, to be put into a document */
void mpk_json_init_list(struct mpk_json *j);

void mpk_json_fini(struct mpk_json *j);

/* mpk_json_stream - hand over what is complete in pieces of about a megabyte; mpk_json_print then appends what is left.
 * A short document is in one piece, set as mpk_json_print does. Of a long one only the first piece is: blanks would be
 * two thirds of it, and nobody reads so much.
 * @take    is not called again after a failed allocation */
void mpk_json_stream(struct mpk_json *j, mpk_take_text *take, void *arg);

/* mpk_json_object, mpk_json_array - put a new empty container and return it
 * @at      the object or array that receives it, not complete yet; NULL (an earlier failure) is fine
 * @key     member name when at is an object, valid UTF-8; NULL appends to an array
 * Returns  the container, borrowed from the document until it is complete; NULL after a failure */
struct mpk_json_at *mpk_json_object(struct mpk_json *j, struct mpk_json_at *at, const char *key);
struct mpk_json_at *mpk_json_array(struct mpk_json *j, struct mpk_json_at *at, const char *key);

/* mpk_json_document - a copy of another document, which was built beside this one */
void mpk_json_document(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		       const struct mpk_json *document);

/* mpk_json_u64, mpk_json_i64 - a number, or its decimal digits as a string beyond 2^53 */
void mpk_json_u64(struct mpk_json *j, struct mpk_json_at *at, const char *key, uint64_t v);
void mpk_json_i64(struct mpk_json *j, struct mpk_json_at *at, const char *key, int64_t v);

/* mpk_json_f64 - a number; "nan", "inf" or "-inf" as a string, which JSON has no numbers for */
void mpk_json_f64(struct mpk_json *j, struct mpk_json_at *at, const char *key, double v);

/* mpk_json_bool, mpk_json_null - true or false; null */
void mpk_json_bool(struct mpk_json *j, struct mpk_json_at *at, const char *key, bool v);
void mpk_json_null(struct mpk_json *j, struct mpk_json_at *at, const char *key);

/* mpk_json_text, mpk_json_span - a string; when the bytes are not UTF-8, the text that
 * mpk_escape makes of them. A NULL text is null. */
void mpk_json_text(struct mpk_json *j, struct mpk_json_at *at, const char *key, const char *text);
void mpk_json_span(struct mpk_json *j, struct mpk_json_at *at, const char *key, struct mpk_span s);

/* mpk_json_name - the same; null for a span of no bytes, which is no name */
static inline void mpk_json_name(struct mpk_json *j, struct mpk_json_at *at, const char *key,
				 struct mpk_span name)
{
	if (name.len)
		mpk_json_span(j, at, key, name);
	else
		mpk_json_null(j, at, key);
}

/* mpk_json_take - the same with a buffer, which it frees; one that failed fails the document */
void mpk_json_take(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		   struct mpk_strbuf *text);

/* mpk_json_spans, mpk_json_texts, mpk_json_i64s - an array of strings; of numbers
 * mpk_json_printf - a formatted string of at most 63 bytes; for numbers with words around them */
void mpk_json_spans(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const struct mpk_span *items, size_t count);
void mpk_json_texts(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const char *const *items, size_t count);
void mpk_json_i64s(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		   const int64_t *items, size_t count);
void mpk_json_printf(struct mpk_json *j, struct mpk_json_at *at, const char *key, const char *fmt,
		     ...) MPK_PRINTF(4, 5);

/* mpk_json_error - an error as {"code", "message", "file", "offset", ...}; parts that are
 * unknown are left out */
void mpk_json_error(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		    const struct mpk_error *error);

/* mpk_json_print - append the document, indented by two, and a newline; in_script: without either
 * Returns  MPK_OK; MPK_E_NOMEM when anything failed since mpk_json_init */
enum mpk_code mpk_json_print(const struct mpk_json *j, struct mpk_strbuf *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_json_so_far - what has been put, for a comparison with another document; borrowed until more is put */
struct mpk_span mpk_json_so_far(const struct mpk_json *j);

/* mpk_json_line - append the document in ASCII, without a blank or a newline
 * Returns  as mpk_json_print */
enum mpk_code mpk_json_line(const struct mpk_json *j, struct mpk_strbuf *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - comma-separated values, as Python's module csv reads and writes them: RECORD of wheels (FORMAT.md) */
#ifndef MPK_FORMATS_CSV_CSV_H
#define MPK_FORMATS_CSV_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "base/strbuf.h"

/* So many fields of a row are handed out; RECORD has three. */
enum { MPK_CSV_FIELDS = 3 };

/* A row; all spans are views of the text. */
struct mpk_csv_row {
	struct mpk_span bytes; /* with the line end; rows follow each other without a gap */
	struct mpk_span end;   /* LF, CR, CR LF; nothing at the end of the text */
	struct mpk_span
		fields[MPK_CSV_FIELDS]; /* as stored, with quotes; empty where the row has fewer */
	size_t count;                   /* fields that the row has; 0: an empty line */
	size_t line;                    /* its first, from 1 */
	bool is_open;                   /* its last field begins with a quote that nothing closes */
};

/* What is left to read. */
struct mpk_csv {
	struct mpk_span rest;
	size_t lines; /* that were read */
};

/* mpk_csv_of - a reader of a text, which is borrowed */
static inline struct mpk_csv mpk_csv_of(struct mpk_span text)
{
	return (struct mpk_csv){ .rest = text };
}

/* mpk_csv_next - the next row
 * Returns  false: there is none
 * Format   FORMAT.md 1 */
bool mpk_csv_next(struct mpk_csv *csv, struct mpk_csv_row *out);

/* mpk_csv_text - what a stored field says
 * @stored  of a row
 * @scratch receives the text of a field that has quotes, and loses what it had; its status is the caller's to check
 * Returns  a view of stored, or of scratch until that is used again
 * Format   FORMAT.md 2 */
struct mpk_span mpk_csv_text(struct mpk_span stored, struct mpk_strbuf *scratch);

/* mpk_csv_put - a field as it is to be stored, in quotes where it needs them; commas and line ends are the caller's */
void mpk_csv_put(struct mpk_strbuf *out, struct mpk_span text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - comma-separated values, as Python's module csv reads and writes them, for RECORD files of
 * wheels (FORMAT.md) */
#ifndef MPK_FORMATS_CSV_CSV_H
#define MPK_FORMATS_CSV_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "base/strbuf.h"

/* Number of fields that a row returns; RECORD has three. */
enum { MPK_CSV_FIELDS = 3 };

/* A row; all spans are views of the text. */
struct mpk_csv_row {
	struct mpk_span bytes; /* with the line end; rows follow one another without gaps */
	struct mpk_span end;   /* LF, CR, CR LF; empty at the end of the text */
	struct mpk_span
		fields[MPK_CSV_FIELDS]; /* as stored, with quotes; missing fields are empty */
	size_t count;                   /* number of fields in the row; 0: an empty line */
	size_t line;                    /* number of its first line, from 1 */
	bool is_open; /* its last field begins with a quote that is never closed */
};

/* The text that is left to read. */
struct mpk_csv {
	struct mpk_span rest;
	size_t lines; /* number of lines read */
};

/* mpk_csv_of - begin reading a text, which is borrowed */
static inline struct mpk_csv mpk_csv_of(struct mpk_span text)
{
	return (struct mpk_csv){ .rest = text };
}

/* mpk_csv_next - read the next row
 * Returns  false: there is none
 * Format   FORMAT.md 1 */
bool mpk_csv_next(struct mpk_csv *csv, struct mpk_csv_row *out);

/* mpk_csv_text - the text of a stored field
 * @stored  a field of a row
 * @scratch is emptied and receives the text of a field that has quotes; the caller checks its
 *          status
 * Returns  a view of stored, or of scratch until that is used again
 * Format   FORMAT.md 2 */
struct mpk_span mpk_csv_text(struct mpk_span stored, struct mpk_strbuf *scratch);

/* mpk_csv_put - append a field, in quotes if needed; the caller appends commas and line ends */
void mpk_csv_put(struct mpk_strbuf *out, struct mpk_span text);

#endif

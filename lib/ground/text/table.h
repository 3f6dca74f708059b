/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - text in aligned columns, and sizes in human units */
#ifndef MPK_TEXT_TABLE_H
#define MPK_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"

enum { MPK_TABLE_COLUMNS = 8, MPK_SIZE_TEXT = 16 };

/* Zero-initialise, add rows cell by cell, print, mpk_table_fini. A column is as wide as its widest
 * cell, counted in code points. Numbers are right-aligned, and the last column is not padded.
 * Cells are printed as they are: escape text that comes from a file. */
struct mpk_table {
	struct mpk_strbuf text; /* all cells, each NUL-terminated */
	size_t *cells;          /* offset of each cell in text */
	size_t count, cap;      /* cells */
	size_t columns;         /* columns of the longest row; <= MPK_TABLE_COLUMNS */
	size_t *rows;           /* index of each row's first cell */
	size_t row_count, row_cap;
	unsigned right; /* bit i: column i is aligned to the right */
	bool failed;
};

/* mpk_table_row - begin a row */
void mpk_table_row(struct mpk_table *t);

/* mpk_table_cell - append a cell to the current row; cells beyond MPK_TABLE_COLUMNS are dropped */
void mpk_table_cell(struct mpk_table *t, const char *fmt, ...) MPK_PRINTF(2, 3);

/* mpk_table_print - append all rows, each after indent, two blanks between columns
 * Failures are remembered by out. */
void mpk_table_print(const struct mpk_table *t, const char *indent, struct mpk_strbuf *out);

void mpk_table_fini(struct mpk_table *t);

/* mpk_size_print - "0 B", "1023 B", "1.0 KiB", "2.2 GiB": 1024-based, one decimal
 * @out     MPK_SIZE_TEXT bytes
 * Returns  out */
const char *mpk_size_print(uint64_t bytes, char out[MPK_SIZE_TEXT]);

/* mpk_size_print as an expression, for an argument of printf. */
#define MPK_SIZE(bytes) mpk_size_print((bytes), (char[MPK_SIZE_TEXT]){ 0 })

/* mpk_size_parse - "2GiB", "500 MB", "4096": KiB is 1024, kB and KB are 1000
 * Returns  true and sets *out; false when it is no size or does not fit */
bool mpk_size_parse(struct mpk_span text, uint64_t *out);

#endif

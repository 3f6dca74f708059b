/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_csv - rows of comma-separated values: together they are the text, and fields that are written again read as they
 * did */
#include "fuzz.h"

#include "csv/csv.h"

static void again(const struct mpk_csv_row *row)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf made = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf was = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf now = { 0 };
	size_t count = row->count < MPK_CSV_FIELDS ? row->count : MPK_CSV_FIELDS;
	struct mpk_csv csv;
	struct mpk_csv_row read;

	for (size_t i = 0; i < count; i++) {
		mpk_csv_put(&made, mpk_csv_text(row->fields[i], &was));
		mpk_strbuf_putc(&made, i + 1 < count ? ',' : '\n');
	}
	csv = mpk_csv_of(mpk_span_of(made.data, made.len));
	FUZZ_REQUIRE(mpk_csv_next(&csv, &read) == (count > 0));
	FUZZ_REQUIRE(!csv.rest.len);
	for (size_t i = 0; i < count; i++)
		FUZZ_REQUIRE(mpk_span_equal(mpk_csv_text(row->fields[i], &was),
					    mpk_csv_text(read.fields[i], &now)));
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_csv csv = mpk_csv_of(bytes);
	struct mpk_csv_row row;
	size_t at = 0, line = 0;

	(void)arena;
	while (mpk_csv_next(&csv, &row)) {
		FUZZ_REQUIRE(row.bytes.data == bytes.data + at && row.bytes.len);
		at += row.bytes.len;
		FUZZ_REQUIRE(row.line > line);
		line = row.line;
		FUZZ_REQUIRE(row.end.len || at == bytes.len);
		/* one of no text is written as an empty line, which has no fields */
		if (row.count > 1 || row.fields[0].len > 2)
			again(&row);
	}
	FUZZ_REQUIRE(at == bytes.len);
}

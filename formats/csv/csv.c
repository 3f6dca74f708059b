/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - rows and fields of comma-separated values */
#include "csv/csv.h"

#include <string.h>

static bool ends_line(uint8_t c)
{
	return c == '\n' || c == '\r';
}

/* Returns the offset of the next byte that ends a field outside quotes. */
static size_t skip_plain(struct mpk_span text, size_t at)
{
	while (at < text.len && text.data[at] != ',' && !ends_line(text.data[at]))
		at++;
	return at;
}

/* Returns the offset after the quote that closes a field; the end of the text: none does.
 * @at      offset after the opening quote */
static size_t skip_quoted(struct mpk_span text, size_t at, size_t *lines, bool *is_open)
{
	for (; at < text.len; at++) {
		if (text.data[at] == '"') {
			if (at + 1 == text.len || text.data[at + 1] != '"')
				return at + 1;
			at++;
		} else if (text.data[at] == '\n' ||
			   (text.data[at] == '\r' &&
			    (at + 1 == text.len || text.data[at + 1] != '\n'))) {
			++*lines;
		}
	}
	*is_open = true;
	return at;
}

bool mpk_csv_next(struct mpk_csv *csv, struct mpk_csv_row *out)
{
	struct mpk_span text = csv->rest;
	size_t at = 0, begin, end;

	if (!text.len)
		return false;
	*out = (struct mpk_csv_row){ .line = csv->lines + 1 };
	while (!ends_line(text.data[0])) {
		begin = at;
		if (at < text.len && text.data[at] == '"')
			at = skip_quoted(text, at + 1, &csv->lines, &out->is_open);
		at = skip_plain(text, at);
		if (out->count < MPK_CSV_FIELDS)
			out->fields[out->count] = mpk_span_of(text.data + begin, at - begin);
		out->count++;
		if (at == text.len || text.data[at] != ',')
			break;
		at++;
	}
	end = at;
	if (at < text.len)
		at += text.data[at] == '\r' && at + 1 < text.len && text.data[at + 1] == '\n' ? 2
											      : 1;
	csv->lines++;
	out->end = mpk_span_of(text.data + end, at - end);
	out->bytes = mpk_span_of(text.data, at);
	csv->rest = mpk_span_from(text, at);
	return true;
}

struct mpk_span mpk_csv_text(struct mpk_span stored, struct mpk_strbuf *scratch)
{
	const uint8_t *quote;
	size_t at = 1, n;

	if (!stored.len || stored.data[0] != '"')
		return stored;
	scratch->len = 0;
	for (;;) {
		quote = memchr(stored.data + at, '"', stored.len - at);
		n = (quote ? (size_t)(quote - stored.data) : stored.len) - at;
		mpk_strbuf_put_span(scratch, mpk_span_of(stored.data + at, n));
		at += n + 1;
		if (at >= stored.len)
			break;
		if (stored.data[at] !=
		    '"') { /* The text after the closing quote is taken unchanged. */
			mpk_strbuf_put_span(scratch, mpk_span_from(stored, at));
			break;
		}
		mpk_strbuf_putc(scratch, '"');
		at++;
	}
	return mpk_span_of(scratch->data, scratch->len);
}

static bool needs_quotes(struct mpk_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == ',' || text.data[i] == '"' || ends_line(text.data[i]))
			return true;
	return false;
}

void mpk_csv_put(struct mpk_strbuf *out, struct mpk_span text)
{
	if (!needs_quotes(text)) {
		mpk_strbuf_put_span(out, text);
		return;
	}
	mpk_strbuf_putc(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '"')
			mpk_strbuf_putc(out, '"');
		mpk_strbuf_putc(out, (char)text.data[i]);
	}
	mpk_strbuf_putc(out, '"');
}

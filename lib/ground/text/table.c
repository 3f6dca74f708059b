/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - tables for terminals. All cells are in one text and are addressed by offset, because a
 * table may have a hundred thousand rows; widths are measured when it is printed. */
#include "text/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"

void mpk_table_row(struct mpk_table *t)
{
	if (!MPK_VEC_ROOM(t->rows, t->row_count, t->row_cap)) {
		t->failed = true;
		return;
	}
	t->rows[t->row_count++] = t->count;
}

/* Drops cells beyond the last column, so that a row is never shifted. */
void mpk_table_cell(struct mpk_table *t, const char *fmt, ...)
{
	size_t column = t->row_count ? t->count - t->rows[t->row_count - 1] : 0;
	char *text = NULL;
	va_list ap;

	if (t->failed || !t->row_count || column >= MPK_TABLE_COLUMNS)
		return;
	va_start(ap, fmt);
	int len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0 || !MPK_VEC_ROOM(t->cells, t->count, t->cap)) {
		t->failed = true;
	} else {
		t->cells[t->count++] = t->text.len;
		mpk_strbuf_put(&t->text, text, (size_t)len + 1);
		t->columns = column + 1 > t->columns ? column + 1 : t->columns;
	}
	if (len >= 0)
		free(text);
}

/* Counts code points of valid UTF-8, which are columns in most scripts. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static size_t row_end(const struct mpk_table *t, size_t row)
{
	return row + 1 < t->row_count ? t->rows[row + 1] : t->count;
}

static void text_table_pad(struct mpk_strbuf *out, size_t n)
{
	while (n--)
		mpk_strbuf_putc(out, ' ');
}

/* Puts two blanks between columns, and no padding after the last cell. */
static void print_row(const struct mpk_table *t, size_t row, const size_t *width,
		      struct mpk_strbuf *out)
{
	size_t end = row_end(t, row);

	/* Empty cells at the end leave no trailing blanks. */
	while (end > t->rows[row] && !t->text.data[t->cells[end - 1]])
		end--;
	for (size_t i = t->rows[row]; i < end; i++) {
		const char *text = t->text.data + t->cells[i];
		size_t column = i - t->rows[row];
		size_t fill = width[column] - width_of(text);
		bool right = t->right >> column & 1;

		if (column)
			mpk_strbuf_puts(out, "  ");
		if (right)
			text_table_pad(out, fill);
		mpk_strbuf_puts(out, text);
		if (!right && i + 1 < end)
			text_table_pad(out, fill);
	}
}

void mpk_table_print(const struct mpk_table *t, const char *indent, struct mpk_strbuf *out)
{
	size_t width[MPK_TABLE_COLUMNS] = { 0 };

	if (t->failed || t->text.failed) {
		out->failed = true;
		return;
	}

	/* Measures the widest cell of each column, in columns of the terminal. */
	for (size_t r = 0; r < t->row_count; r++) {
		for (size_t i = t->rows[r]; i < row_end(t, r); i++) {
			size_t n = width_of(t->text.data + t->cells[i]);
			size_t column = i - t->rows[r];

			if (n > width[column])
				width[column] = n;
		}
	}

	for (size_t r = 0; r < t->row_count; r++) {
		mpk_strbuf_puts(out, indent);
		print_row(t, r, width, out);
		mpk_strbuf_putc(out, '\n');
	}
}

void mpk_table_fini(struct mpk_table *t)
{
	mpk_strbuf_fini(&t->text);
	free(t->cells);
	free(t->rows);
	memset(t, 0, sizeof *t);
}

const char *mpk_size_print(uint64_t bytes, char out[MPK_SIZE_TEXT])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t u = 0;

	if (bytes < 1024) {
		(void)snprintf(out, MPK_SIZE_TEXT, "%u B", (unsigned)bytes);
		return out;
	}
	/* A value that would print as 1024.0 takes the next unit. */
	for (; value >= 1023.95 && u + 1 < MPK_ARRAY_COUNT(units); u++)
		value /= 1024;
	(void)snprintf(out, MPK_SIZE_TEXT, "%.1f %s", value, units[u]);
	return out;
}

/* Binary and decimal units, as in IEC 80000-13: KiB is 1024, kB is 1000. A product that overflows
 * is refused and not clipped. */
bool mpk_size_parse(struct mpk_span text, uint64_t *out)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "KiB", 1024 },
		{ "MiB", 1 << 20 },
		{ "GiB", 1 << 30 },
		{ "TiB", (uint64_t)1 << 40 },
		/* Single letters mean the same as in ls, dd and du. */
		{ "K", 1024 },
		{ "M", 1 << 20 },
		{ "G", 1 << 30 },
		{ "T", (uint64_t)1 << 40 },
		{ "kB", 1000 },
		{ "KB", 1000 },
		{ "MB", 1000000 },
		{ "GB", 1000000000 },
		{ "TB", 1000000000000 },
	};
	struct mpk_span number = text, unit;
	uint64_t value;

	for (number.len = 0; number.len < text.len; number.len++)
		if (text.data[number.len] < '0' || text.data[number.len] > '9')
			break;
	unit = mpk_span_of(text.data + number.len, text.len - number.len);
	while (unit.len && unit.data[0] == ' ')
		unit = mpk_span_from(unit, 1);
	if (!mpk_parse_u64(number, &value))
		return false;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(units); i++)
		if (mpk_span_is(unit, units[i].name))
			return mpk_mul_u64(value, units[i].bytes, out);
	return false;
}

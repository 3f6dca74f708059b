/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - prints differences as text, JSON and Markdown */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "canon/canon.h"
#include "compare/compare.h"
#include "diff/diff.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/markup.h"
#include "text/phrase.h"
#include "text/table.h"

static const char *const signs[] = {
	[MPK_DIFF_REMOVED] = "removed", [MPK_DIFF_ADDED] = "added", [MPK_DIFF_CHANGED] = "changed"
};

static const char *const green = "\033[32m", *const red = "\033[31m", *const cyan = "\033[36m",
			 *const off = "\033[0m";

/* The colours of git diff. */
static const char *color_of(char mark)
{
	return mark == '+' ? green : mark == '-' ? red : mark == '@' ? cyan : NULL;
}

/* Limit on source lines over all kernels: a rebuilt release may change them all. */
enum { WORK_LINES_MOST = 60 };

/* Writes "  12 -> 19 instructions, local stores 0 -> 12 of 4 B" for the kernel, "  k.cu:41: 12 ->
 * 19 instructions" for lines. */
static void put_work(const struct mpk_difference *d, size_t *left, struct mpk_strbuf *out)
{
	size_t hidden = 0;

	for (size_t i = 0; i < d->work_count; i++) {
		const struct mpk_work_change *c = &d->work[i];

		if (c->line && !*left) {
			hidden++;
			continue;
		}
		mpk_strbuf_puts(out, "    ");
		if (c->line) {
			--*left;
			mpk_strbuf_puts(out, "line ");
			mpk_escape(out, mpk_span_str(c->file));
			mpk_strbuf_printf(out, ":%" PRIu32 ": ", c->line);
		}
		mpk_work_put_changes(&c->work[0], &c->work[1], out);
		mpk_strbuf_putc(out, '\n');
	}
	if (hidden) {
		mpk_strbuf_puts(out, "    and ");
		mpk_put_count(out, hidden, "more line");
		mpk_strbuf_puts(out, "; --json has them\n");
	}
}

/* Hunks are indented, so that none of their lines looks like a difference; patch(1) accepts the
 * indentation. Returns the number of lines. */
static size_t put_hunks(struct mpk_span lines, struct mpk_style style, struct mpk_strbuf *out)
{
	size_t count = 0;

	for (size_t at = 0; at < lines.len; count++) {
		const char *line = (const char *)lines.data + at;
		const char *end = memchr(line, '\n', lines.len - at);
		size_t len = end ? (size_t)(end - line) : lines.len - at;
		const char *color = style.color ? color_of(*line) : NULL;

		mpk_strbuf_puts(out, "  ");
		mpk_strbuf_puts(out, color ? color : "");
		mpk_strbuf_put(out, line, len);
		mpk_strbuf_puts(out, color ? off : "");
		mpk_strbuf_putc(out, '\n');
		at += len + (end != NULL);
	}
	return count;
}

/* Appends the path: "/1", or "/1 -> /2" if the module moved */
static void put_place(const struct mpk_difference *d, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, d->path);
	if (d->new_path[0])
		mpk_strbuf_printf(out, " -> %s", d->new_path);
}

/* Appends the file names in the form that patch(1) expects. */
static void put_names(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "--- ");
	mpk_escape(out, mpk_span_str(diff->older.name));
	mpk_strbuf_puts(out, "\n+++ ");
	mpk_escape(out, mpk_span_str(diff->newer.name));
	mpk_strbuf_putc(out, '\n');
}

/* Appends the number of things with other code by kind: "2 kernels, 1 image". */
static void put_counts(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	static const char *const words[] = { "kernel",   "image",           "code",     "module",
					     "function", "inner functions", "host code" };
	size_t shown = 0;

	for (size_t w = 0; w < MPK_ARRAY_COUNT(words); w++) {
		size_t n = 0;

		for (size_t i = 0; i < diff->count; i++)
			n += strcmp(diff->items[i].what, words[w]) == 0;
		mpk_strbuf_puts(out, n && shown++ ? ", " : "");
		if (n && strchr(words[w], ' '))
			mpk_strbuf_puts(out, words[w]); /* a file has at most one of these */
		else if (n)
			mpk_put_count(out, n, words[w]);
	}
}

/* "new.so: same code as old.so" */
static void put_verdict(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	mpk_escape(out, mpk_span_str(diff->newer.name));
	mpk_strbuf_puts(out, diff->count ? ": different code than " : ": same code as ");
	mpk_escape(out, mpk_span_str(diff->older.name));
	mpk_strbuf_puts(out, diff->count ? ": " : "");
	put_counts(diff, out);
	mpk_strbuf_putc(out, '\n');
}

/* "+1.2 KiB" */
static void put_gain(uint64_t older, uint64_t newer, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%c%s", newer < older ? '-' : '+',
			  MPK_SIZE(newer < older ? older - newer : newer - older));
}

/* Appends how a thing changed and the bytes it gained or lost: "", "-80 B", "80 -> 96 bytes of code
 * (+16 B)". */
static void put_said(const struct mpk_difference *d, const char *said, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, said);
	if (!d->has_bytes || d->older_bytes == d->newer_bytes)
		return;
	mpk_strbuf_puts(out, said[0] ? " (" : "");
	put_gain(d->older_bytes, d->newer_bytes, out);
	mpk_strbuf_puts(out, said[0] ? ")" : "");
}

/* The name of a kind of things, and the total size of its changed things in both files. */
struct total {
	const char *what, *title;
	uint64_t older, newer;
};

enum { TOTALS = 6 };

/* Sums the sizes of changed things by kind. Parts include kernels, and modules include parts. */
static size_t total_of(const struct mpk_diff *diff, struct total out[TOTALS])
{
	static const struct total sorts[TOTALS] = {
		{ .what = "function", .title = "host functions" },
		{ .what = "kernel", .title = "kernels" },
		{ .what = "image", .title = "images" },
		{ .what = "part", .title = "parts" },
		{ .what = "tensor", .title = "tensors" },
		{ .what = "module", .title = "modules" },
	};
	size_t count = 0;

	for (size_t k = 0; k < TOTALS; k++) {
		struct total t = sorts[k];
		bool any = false;

		for (size_t i = 0; i < diff->count; i++) {
			const struct mpk_difference *d = &diff->items[i];
			bool is_inner = !k && strncmp(d->what, "inner function", 14) == 0;

			if (!d->has_bytes || (!is_inner && strcmp(d->what, t.what) != 0))
				continue;
			any = true;
			t.older += d->older_bytes;
			t.newer += d->newer_bytes;
		}
		if (any)
			out[count++] = t;
	}
	return count;
}

/* "(file 80 KiB -> 81 KiB, +1.0 KiB; host functions +96 B)" */
static void put_total(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	struct total totals[TOTALS];
	size_t count = total_of(diff, totals);
	uint64_t a = diff->older.bytes, b = diff->newer.bytes;
	bool gains = a != b;

	for (size_t i = 0; i < count; i++)
		gains |= totals[i].older != totals[i].newer;
	if (!gains || !count)
		return;
	mpk_strbuf_printf(out, "(file %s -> %s", MPK_SIZE(a), MPK_SIZE(b));
	if (a != b) {
		mpk_strbuf_puts(out, ", ");
		put_gain(a, b, out);
	}
	for (size_t i = 0; i < count; i++) {
		if (totals[i].older == totals[i].newer)
			continue;
		mpk_strbuf_printf(out, "; %s ", totals[i].title);
		put_gain(totals[i].older, totals[i].newer, out);
	}
	mpk_strbuf_puts(out, ")\n");
}

/* Numbers of tensors, in a comparison of two weight files, by result. */
struct tensors {
	size_t changed, added, removed;
	/* the tensor with the largest finite relative change; NULL if none has one */
	const struct mpk_difference *furthest;
};

static struct tensors count_tensors(const struct mpk_diff *diff)
{
	struct tensors t = { 0 };

	for (size_t i = 0; i < diff->count; i++) {
		const struct mpk_difference *d = &diff->items[i];

		t.changed += d->sign == MPK_DIFF_CHANGED;
		t.added += d->sign == MPK_DIFF_ADDED;
		t.removed += d->sign == MPK_DIFF_REMOVED;
		if (d->elements && d->elements->relative > 0 && isfinite(d->elements->relative) &&
		    (!t.furthest || d->elements->relative > t.furthest->elements->relative))
			t.furthest = d;
	}
	return t;
}

/* Writes "tensors: 4 changed, 1 added, 1 removed, 2 equal; most w, by 12 % of their magnitude". */
static void put_tensors(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	struct tensors t = count_tensors(diff);

	mpk_strbuf_printf(out, "tensors: %zu changed, %zu added, %zu removed, %zu equal", t.changed,
			  t.added, t.removed, diff->equal_tensors);
	if (t.furthest) {
		mpk_strbuf_puts(out, "; most ");
		mpk_escape(out, t.furthest->name);
		mpk_strbuf_puts(out, ", ");
		mpk_tensor_put_relative(t.furthest->elements->relative, out);
	}
	mpk_strbuf_putc(out, '\n');
}

/* Counts a difference with this sign. Returns whether it is beyond the limit, so its line is left
 * out. */
static bool is_beyond(const struct mpk_diff *diff, size_t counts[], enum mpk_diff_sign sign)
{
	return counts[sign]++ >= diff->lines_most && diff->lines_most;
}

/* Writes "and 201 more removed, 68 more added: --all". */
static void put_left_out(const struct mpk_diff *diff, const size_t counts[], struct mpk_strbuf *out)
{
	static const struct {
		enum mpk_diff_sign sign;
		const char *word;
	} rows[] = { { MPK_DIFF_CHANGED, "changed" },
		     { MPK_DIFF_ADDED, "added" },
		     { MPK_DIFF_REMOVED, "removed" } };
	const char *before = "and ";

	for (size_t i = 0; diff->lines_most && i < MPK_ARRAY_COUNT(rows); i++) {
		if (counts[rows[i].sign] <= diff->lines_most)
			continue;
		mpk_strbuf_puts(out, before);
		mpk_put_number(out, counts[rows[i].sign] - diff->lines_most);
		mpk_strbuf_printf(out, " more %s", rows[i].word);
		before = ", ";
	}
	if (before[0] == ',')
		mpk_strbuf_puts(out, ": --all\n");
}

/* Returns the length of the hunks, from the first on, that have at most room lines together. */
static size_t hunks_that_fit(const char *lines, size_t room)
{
	size_t fits = 0, n = 0;

	for (const char *at = lines; *at;) {
		const char *end = strchr(at, '\n');

		at = end ? end + 1 : at + strlen(at);
		if (++n > room)
			break;
		if (!*at || *at == '@')
			fits = (size_t)(at - lines);
	}
	return fits;
}

/* Returns the number of lines that remain for hunks and counts of instructions: each difference has
 * a line of its own first. */
static size_t room_for_hunks(const struct mpk_diff *diff)
{
	size_t whole = 3 * diff->lines_most;

	if (!diff->lines_most)
		return SIZE_MAX;
	return whole > diff->count ? whole - diff->count : 0;
}

/* Prints one line for each difference, then its hunk. Without colours the mark is the first byte of
 * the line, so that grep '^+' finds added things. */
static void diff_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_diff *diff = what;

	static const char marks[] = {
		[MPK_DIFF_REMOVED] = '-', [MPK_DIFF_ADDED] = '+', [MPK_DIFF_CHANGED] = '~'
	};
	static const char *const colors[] = { [MPK_DIFF_REMOVED] = "\033[31m",
					      [MPK_DIFF_ADDED] = "\033[32m",
					      [MPK_DIFF_CHANGED] = "\033[33m" };

	size_t lines_left = WORK_LINES_MOST, counts[MPK_ARRAY_COUNT(marks)] = { 0 };
	size_t room = room_for_hunks(diff), hidden_lines = 0;

	if (diff->newer.code_digest)
		put_verdict(diff, out);
	else if (diff->count)
		put_names(diff, out);
	if (diff->of_weights && diff->count)
		put_tensors(diff, out);
	for (size_t i = 0; i < diff->count; i++) {
		const struct mpk_difference *d = &diff->items[i];

		if (is_beyond(diff, counts, d->sign))
			continue;
		mpk_strbuf_printf(out, "%s%c ", style.color ? colors[d->sign] : "", marks[d->sign]);
		put_place(d, out);
		mpk_strbuf_printf(out, "%s%s", d->path[0] ? " " : "", d->what);
		if (d->name.len) {
			mpk_strbuf_putc(out, ' ');
			mpk_escape(out, d->name);
		}
		if (d->target[0])
			mpk_strbuf_printf(out, " (%s)", d->target);
		mpk_strbuf_puts(out, d->text[0] || d->older_bytes != d->newer_bytes ? ": " : "");
		put_said(d, d->text, out);
		mpk_strbuf_printf(out, "%s\n", style.color ? off : "");
		size_t lines = mpk_span_count(mpk_span_str(d->lines), '\n'), fits = 0, shown;

		if (d->work_count <= room) {
			put_work(d, &lines_left, out);
			room -= d->work_count;
			fits = hunks_that_fit(d->lines, room);
		} else {
			lines += d->work_count;
		}
		shown = put_hunks(mpk_span_of(d->lines, fits), style, out);
		room -= shown;
		hidden_lines += lines - shown;
		mpk_strbuf_pass(out);
	}
	put_left_out(diff, counts, out);
	if (hidden_lines) {
		mpk_strbuf_puts(out, "and ");
		mpk_put_count(out, hidden_lines, "more line");
		mpk_strbuf_puts(out, " of instructions: --all\n");
	}
	if (!diff->newer.code_digest)
		put_total(diff, out);
	if (diff->no_instructions) {
		mpk_strbuf_putc(out, '(');
		mpk_strbuf_puts(out, diff->no_instructions);
		mpk_strbuf_puts(out, ")\n");
	}
}

static void work_side(const struct mpk_work_change *c, size_t side, struct mpk_json *j,
		      struct mpk_json_at *at)
{
	static const char *const keys[] = { "before", "after" };

	if (c->is_there[side])
		mpk_work_json(&c->work[side], j, mpk_json_object(j, at, keys[side]));
	else
		mpk_json_null(j, at, keys[side]);
}

static void put_work_json(const struct mpk_difference *d, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	struct mpk_json_at *list = NULL, *o;

	for (size_t i = 0; i < d->work_count; i++) {
		const struct mpk_work_change *c = &d->work[i];

		if (c->line) {
			list = list ? list : mpk_json_array(j, at, "source_lines");
			o = mpk_json_object(j, list, NULL);
			mpk_json_text(j, o, "file", c->file);
			mpk_json_u64(j, o, "line", c->line);
		} else {
			o = mpk_json_object(j, at, "instructions");
		}
		work_side(c, 0, j, o);
		work_side(c, 1, j, o);
	}
}

/* Figures are JSON numbers, not texts, so that scripts need not parse units. */
static void put_figures(const struct mpk_difference *d, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_object(j, at, "figures"), *o;

	for (size_t i = 0; i < d->figure_count; i++) {
		o = mpk_json_object(j, list, mpk_figure_row(d->figures[i].figure)->word);
		mpk_figure_json(j, o, "before", d->figures[i].before);
		mpk_figure_json(j, o, "after", d->figures[i].after);
	}
}

static void put_digests(const struct mpk_diff *diff, struct mpk_json *j, struct mpk_json_at *at)
{
	char text[MPK_DIGEST_TEXT];
	struct mpk_json_at *o;

	mpk_json_text(j, at, "verdict", diff->count ? "different code" : "same code");
	o = mpk_json_object(j, at, "code_digest");
	mpk_json_text(j, o, "algorithm", MPK_CANON_NAME);
	mpk_json_text(j, o, "before",
		      mpk_digest_print(diff->older.code_digest, MPK_DIGEST_BYTES, text));
	mpk_json_text(j, o, "after",
		      mpk_digest_print(diff->newer.code_digest, MPK_DIGEST_BYTES, text));
}

static void put_bytes_json(uint64_t older, uint64_t newer, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	mpk_json_u64(j, at, "before", older);
	mpk_json_u64(j, at, "after", newer);
	mpk_json_i64(j, at, "delta", (int64_t)(newer - older));
}

static void put_totals_json(const struct mpk_diff *diff, struct mpk_json *j, struct mpk_json_at *at)
{
	struct total totals[TOTALS];
	size_t count = total_of(diff, totals);
	struct mpk_json_at *o = mpk_json_object(j, at, "bytes");

	put_bytes_json(diff->older.bytes, diff->newer.bytes, j, mpk_json_object(j, o, "file"));
	for (size_t i = 0; i < count; i++)
		put_bytes_json(totals[i].older, totals[i].newer, j,
			       mpk_json_object(j, o, totals[i].what));
}

static const struct mpk_fact tensor_diff_facts[] = {
	{ MPK_FACT(COUNT, "count", struct mpk_tensor_diff, count, "all of the tensor") },
	{ MPK_FACT(COUNT, "differing", struct mpk_tensor_diff, differing,
		   "by value: NaN equals NaN, 0 equals -0") },
	{ MPK_FACT(COUNT, "bits_only", struct mpk_tensor_diff, bits_only,
		   "of one value, but other bytes") },
	{ MPK_FACT(COUNT, "unordered", struct mpk_tensor_diff, unordered,
		   "differing, from or to NaN or infinity") },
};

static const struct mpk_fact tensor_distance_facts[] = {
	{ MPK_FACT(F64, "max_abs", struct mpk_tensor_diff, max_abs,
		   "largest |a - b|; as what follows without the unordered") },
	{ MPK_FACT(COUNT, "max_at", struct mpk_tensor_diff, max_at,
		   "row-major index of the element where that is") },
	{ MPK_FACT(F64, "mean_abs", struct mpk_tensor_diff, mean_abs,
		   "mean |a - b| over all elements") },
	{ MPK_FACT(
		F64, "relative", struct mpk_tensor_diff, relative,
		"sum of |a - b| by sum of |a|, both over the elements that differ; inf: they were 0") },
};

static void put_elements(const struct mpk_tensor_diff *e, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "elements");

	mpk_facts_json(MPK_FACTS(tensor_diff_facts), e, j, o);
	if (e->has_values)
		mpk_facts_json(MPK_FACTS(tensor_distance_facts), e, j,
			       mpk_json_object(j, o, "distance"));
}

static void diff_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_diff *diff = what;
	struct mpk_json_at *list, *o;

	mpk_json_text(j, at, "file", diff->newer.name);
	mpk_json_text(j, at, "other", diff->older.name);
	if (diff->newer.code_digest)
		put_digests(diff, j, at);
	list = mpk_json_array(j, at, "differences");
	for (size_t i = 0; i < diff->count; i++) {
		const struct mpk_difference *d = &diff->items[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "change", signs[d->sign]);
		mpk_json_text(j, o, "path", d->path[0] ? d->path : NULL);
		if (d->new_path[0])
			mpk_json_text(j, o, "new_path", d->new_path);
		mpk_json_text(j, o, "what", d->what);
		mpk_json_name(j, o, "name", d->name);
		mpk_json_text(j, o, "text", d->text[0] ? d->text : NULL);
		if (d->target[0])
			mpk_json_text(j, o, "target", d->target);
		if (d->figure_count)
			put_figures(d, j, o);
		if (d->work_count)
			put_work_json(d, j, o);
		if (d->elements)
			put_elements(d->elements, j, o);
		if (d->has_bytes)
			put_bytes_json(d->older_bytes, d->newer_bytes, j,
				       mpk_json_object(j, o, "bytes"));
		if (d->same_code)
			mpk_json_bool(j, o, "same_code", true);
		if (d->lines[0])
			mpk_json_text(j, o, "diff", d->lines);
	}
	if (diff->of_weights) {
		struct tensors t = count_tensors(diff);

		o = mpk_json_object(j, at, "tensors");
		mpk_json_u64(j, o, "changed", t.changed);
		mpk_json_u64(j, o, "added", t.added);
		mpk_json_u64(j, o, "removed", t.removed);
		mpk_json_u64(j, o, "equal", diff->equal_tensors);
	}
	if (!diff->newer.code_digest)
		put_totals_json(diff, j, at);
	if (diff->no_instructions)
		mpk_json_text(j, at, "no_instructions", diff->no_instructions);
}

/* --- for a pull request ----------------------------------------------------------------- */

enum {
	HUNKS_MAX = 32 * 1024, /* bytes of all hunks */
	ROWS_MAX = 100,        /* rows of a table */
};

static void put_bytes(const char *what, uint64_t before, uint64_t after, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "| %s | %s | %s | ", what, MPK_SIZE(before), MPK_SIZE(after));
	mpk_figure_put_percent(mpk_figure_of(before), mpk_figure_of(after), out);
	mpk_strbuf_puts(out, " |\n");
}

/* Paths go through mpk_markdown_code: names of modules come from an untrusted file, and could
 * otherwise be links or markup in a pull request. */
static void put_place_cell(const struct mpk_difference *d, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf place = { 0 };

	put_place(d, &place);
	out->failed |= place.failed;
	mpk_markdown_code(out, mpk_span_str(mpk_strbuf_text(&place)));
}

/* --- kernels: a row for each figure that changed ---------------------------------------- */

/* One row for each figure, so that the column of percentages can be read from top to bottom. */
static void put_figure_rows(const struct mpk_difference *d, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < d->figure_count; i++) {
		const struct mpk_figure_change *c = &d->figures[i];

		mpk_strbuf_puts(out, "| ");
		put_place_cell(d, out);
		mpk_strbuf_puts(out, " | ");
		mpk_markdown_code(out, d->name);
		mpk_strbuf_printf(out, " | %s | %s | ", d->target,
				  mpk_figure_row(c->figure)->label);
		mpk_figure_put(c->figure, c->before, out);
		mpk_strbuf_puts(out, " | ");
		mpk_figure_put(c->figure, c->after, out);
		mpk_strbuf_puts(out, " | ");
		mpk_figure_put_percent(c->before, c->after, out);
		mpk_strbuf_puts(out, " |\n");
	}
}

/* GitHub limits a comment to 65536 characters, so the tables are cut, with a note that says by how
 * much. */
static void put_kernels(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	size_t rows = 0;

	for (size_t i = 0; i < diff->count; i++) {
		if (!diff->items[i].figure_count)
			continue;
		if (!rows)
			mpk_strbuf_puts(
				out, "\n| module | kernel | device | figure | before | after | |\n"
				     "|---|---|---|---|---:|---:|---:|\n");
		if (rows < ROWS_MAX)
			put_figure_rows(&diff->items[i], out);
		rows++;
	}
	if (rows > ROWS_MAX)
		mpk_strbuf_printf(out, "\nand %zu more kernels\n", rows - ROWS_MAX);
}

/* --- everything else: a row each --------------------------------------------------------- */

/* Differences with figures are already in the table of kernels. */
static void put_changes(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	size_t rows = 0;

	for (size_t i = 0; i < diff->count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
		const struct mpk_difference *d = &diff->items[i];

		if (d->figure_count)
			continue;
		if (!rows)
			mpk_strbuf_puts(out, "\n| | module | what | name | how |\n"
					     "|---|---|---|---|---|\n");
		if (rows++ >= ROWS_MAX)
			continue;
		mpk_strbuf_printf(out, "| %s | ", signs[d->sign]);
		put_place_cell(d, out);
		mpk_strbuf_printf(out, " | %s | ", d->what);
		mpk_markdown_code(out, d->name);
		mpk_strbuf_puts(out, d->name.len ? " | " : "| ");
		put_said(d, d->text[0] ? d->text : d->target, &said);
		out->failed |= said.failed;
		mpk_markdown_said(out, mpk_strbuf_text(&said));
		mpk_strbuf_puts(out, " |\n");
	}
	if (rows > ROWS_MAX)
		mpk_strbuf_printf(out, "\nand %zu more\n", rows - ROWS_MAX);
}

/* --- hunks, folded ------------------------------------------------------------------------ */

/* "/0 part kernels.cl: 1 line added" */
static void put_title(const struct mpk_difference *d, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf title = { 0 };

	put_place(d, &title);
	mpk_strbuf_printf(&title, "%s%s%s", d->path[0] ? " " : "", d->what, d->name.len ? " " : "");
	mpk_escape(&title, d->name);
	mpk_strbuf_printf(&title, ": %s", d->text);
	out->failed |= title.failed;
	mpk_markdown_html(out, mpk_strbuf_text(&title));
}

/* Adds what the instructions of each kernel do, by source line, and its hunk, in order. What does
 * not fit is omitted: half a hunk cannot be applied. A smaller one after it may still fit. */
static void put_hunk_folds(const struct mpk_diff *diff, struct mpk_strbuf *out)
{
	size_t left = HUNKS_MAX, left_out = 0, work_left = WORK_LINES_MOST;

	for (size_t i = 0; i < diff->count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf work = { 0 };
		const struct mpk_difference *d = &diff->items[i];
		struct mpk_span lines = mpk_span_str(d->lines);

		put_work(d, &work_left, &work);
		out->failed |= work.failed;
		if (!lines.len && !work.len)
			continue;
		if (lines.len + work.len > left) {
			left_out++;
			continue;
		}
		left -= lines.len + work.len;
		mpk_strbuf_puts(out, "\n<details><summary>");
		put_title(d, out);
		mpk_strbuf_puts(out, "</summary>\n\n");
		if (work.len)
			mpk_markdown_fence(out, "", mpk_span_of(work.data, work.len));
		if (work.len && lines.len)
			mpk_strbuf_putc(out, '\n');
		if (lines.len)
			mpk_markdown_fence(out, "diff", lines);
		mpk_strbuf_puts(out, "\n</details>\n");
	}
	if (left_out)
		mpk_strbuf_printf(out,
				  "\nThe lines of %zu more are too many for a comment; "
				  "`minspect diff` shows them.\n",
				  left_out);
}

static void diff_markdown(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_diff *diff = what;
	const struct mpk_diff_side a = diff->older, b = diff->newer;

	(void)style;
	mpk_strbuf_puts(out, "### ");
	mpk_markdown_code(out, mpk_span_str(b.name));
	mpk_strbuf_puts(out, " against ");
	mpk_markdown_code(out, mpk_span_str(a.name));
	mpk_strbuf_puts(out, "\n\n");
	if (!diff->count) {
		mpk_strbuf_puts(out, b.code_digest ? "Same code.\n" : "No differences.\n");
		return;
	}
	if (b.code_digest) {
		mpk_strbuf_puts(out, "Different code: ");
		put_counts(diff, out);
		mpk_strbuf_puts(out, "\n");
		put_changes(diff, out);
		return;
	}
	mpk_strbuf_puts(out, "| | before | after | |\n|---|---:|---:|---:|\n");
	put_bytes("file", a.bytes, b.bytes, out);
	if (a.blob_bytes || b.blob_bytes)
		put_bytes("blob", a.blob_bytes, b.blob_bytes, out);
	put_kernels(diff, out);
	put_changes(diff, out);
	put_hunk_folds(diff, out);
	if (diff->no_instructions) {
		mpk_strbuf_putc(out, '\n');
		mpk_markdown_said(out, diff->no_instructions);
		mpk_strbuf_putc(out, '\n');
	}
}

const struct mpk_answer mpk_answer_diff = {
	.text = diff_text, .json = diff_json, .markdown = diff_markdown, .is_apart = true
};

const struct mpk_answer mpk_answer_verdict = { .text = diff_text,
					       .json = diff_json,
					       .markdown = diff_markdown };

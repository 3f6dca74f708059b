/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - compares two texts line by line. First the common beginning and end are cut off, so that
 * a small change in a large text costs little. Then equal lines get equal numbers. Lines that only
 * one text has cannot have a partner and are left out of the search. */
#include "compare/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "compare/internal/compare.h"
#include "text/escape.h"
#include "text/phrase.h"

/* --- windows ------------------------------------------------------------------------- */

static size_t common_prefix(struct mpk_span a, struct mpk_span b)
{
	size_t n = a.len < b.len ? a.len : b.len, i = 0;

	while (i < n && a.data[i] == b.data[i])
		i++;
	return i;
}

/* most is the length that the common prefix leaves: prefix and suffix must not overlap in the
 * shorter text. */
static size_t common_suffix(struct mpk_span a, struct mpk_span b, size_t most)
{
	size_t i = 0;

	while (i < most && a.data[a.len - 1 - i] == b.data[b.len - 1 - i])
		i++;
	return i;
}

/* Returns the beginning of the line that contains offset at, moved back by a number of lines. */
static size_t back_lines(struct mpk_span text, size_t at, unsigned lines)
{
	for (;;) {
		while (at && text.data[at - 1] != '\n')
			at--;
		if (!at || !lines--)
			return at;
		at--;
	}
}

/* Returns the offset after a number of line ends from at on, or the end of the text. */
static size_t skip_lines(struct mpk_span text, size_t at, unsigned lines)
{
	while (at < text.len && lines)
		lines -= text.data[at++] == '\n';
	return at;
}

/* Cuts both texts to the part that differs and its context. */
static void find_windows(struct mpk_span a, struct mpk_span b, struct mpk_text_diff *d)
{
	a = a.data ? a : mpk_span_str(""); /* an empty text may be NULL, which must not be offset */
	b = b.data ? b : mpk_span_str("");

	size_t prefix = common_prefix(a, b);
	size_t shorter = a.len < b.len ? a.len : b.len;
	size_t suffix = common_suffix(a, b, shorter - prefix);
	size_t begin = back_lines(a, prefix, MPK_TEXT_CONTEXT);
	/* the byte before the common end may differ: then its whole line differs */
	size_t end = skip_lines(a, a.len - suffix, 1 + MPK_TEXT_CONTEXT);
	size_t beyond = a.len - end;

	d->a.text = mpk_span_of(a.data + begin, end - begin);
	d->b.text = mpk_span_of(b.data + begin, b.len - beyond - begin);
	d->is_cut = beyond > 0;
	d->a.first = d->b.first = mpk_span_count(mpk_span_of(a.data, begin), '\n');
}

/* Finds the ends of the lines. Returns false if there are too many lines. */
static enum mpk_code find_ends(struct mpk_text_window *w, bool *fits, struct mpk_error *err)
{
	uint64_t count = mpk_span_count(w->text, '\n');
	size_t at = 0;

	count += w->text.len && w->text.data[w->text.len - 1] != '\n';
	*fits = count <= MPK_TEXT_LINES_MAX && w->text.len <= UINT32_MAX;
	if (!*fits || !count)
		return MPK_OK;
	w->ends = malloc((size_t)count * sizeof *w->ends);
	MPK_TRY_ALLOC(w->ends, err);
	while (w->count < count) {
		at = skip_lines(w->text, at, 1);
		w->ends[w->count++] = (uint32_t)at;
	}
	return MPK_OK;
}

static struct mpk_span line(const struct mpk_text_window *w, uint32_t i)
{
	/* NOLINTBEGIN(clang-analyzer-core.NullDereference): i < count, so that there are ends */
	size_t begin = i ? w->ends[i - 1] : 0;

	return mpk_span_of(w->text.data + begin, w->ends[i] - begin);
	/* NOLINTEND(clang-analyzer-core.NullDereference) */
}

/* --- lines as numbers ------------------------------------------------------------------ */

/* The lines of both texts, one text after the other. A hash table finds the first line equal to
 * another. */
struct lines {
	const struct mpk_text_window *a, *b;
	uint32_t *first; /* for each line: the first line equal to it */
	uint8_t *sides;  /* for each first line: bit 0 if a has it, bit 1 if b has it */
	uint32_t *slots; /* 1 + index of a line; 0 if free */
	size_t mask;
};

/* One index covers the lines of both texts: those of b follow those of a. */
static struct mpk_span any_line(const struct lines *l, uint32_t i)
{
	return i < l->a->count ? line(l->a, i) : line(l->b, i - l->a->count);
}

/* Hashes eight bytes at a time with one multiplication. The hash need not resist attacks:
 * PROBES_MAX limits the cost of collisions. */
static uint64_t compare_text_hash(struct mpk_span s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ s.len, word;
	size_t i = 0;

	for (; i + 8 <= s.len; i += 8) {
		memcpy(&word, s.data + i, 8);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	for (; i < s.len; i++)
		h = (h ^ s.data[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

/* A text with deliberate hash collisions costs matches, not time: after so many probes a line
 * counts as unique. */
enum { PROBES_MAX = 64 };

/* Uses open addressing with linear probing. A line that equals no earlier line becomes the first of
 * its kind. */
static uint32_t first_equal(struct lines *l, uint32_t i)
{
	struct mpk_span text = any_line(l, i);
	size_t at = (size_t)compare_text_hash(text) & l->mask;

	for (int probe = 0; probe < PROBES_MAX; probe++, at = (at + 1) & l->mask) {
		if (!l->slots[at]) {
			l->slots[at] = i + 1;
			return i;
		}
		if (mpk_span_equal(any_line(l, l->slots[at] - 1), text))
			return l->slots[at] - 1;
	}
	return i;
}

static void lines_fini(struct lines *l)
{
	free(l->first);
	free(l->sides);
	free(l->slots);
}

/* At most half of the slots are used, so that a search takes two or three probes in ordinary
 * texts. */
static enum mpk_code number_lines(struct mpk_text_diff *d, struct lines *l, struct mpk_error *err)
{
	uint32_t count = d->a.count + d->b.count;
	size_t slots = 16;

	while (slots < 2 * (size_t)count)
		slots *= 2;
	*l = (struct lines){ .a = &d->a, .b = &d->b, .mask = slots - 1 };
	l->first = malloc((count + 1U) * sizeof *l->first);
	l->sides = calloc(count + 1U, 1);
	l->slots = calloc(slots, sizeof *l->slots);
	MPK_TRY_ALLOC(l->first && l->sides && l->slots, err);
	for (uint32_t i = 0; i < count; i++) {
		l->first[i] = first_equal(l, i);
		l->sides[l->first[i]] |= i < d->a.count ? 1 : 2;
	}
	/* the slots are a quarter of all memory; free them before the search allocates */
	free(l->slots);
	l->slots = NULL;
	return MPK_OK;
}

/* --- the search -------------------------------------------------------------------------- */

/* The lines of one text that the other text has too. */
struct side {
	uint32_t count;  /* number of lines in the text */
	uint32_t *ids;   /* numbers of the common lines */
	uint32_t *where; /* index of each common line in the text */
	bool *changed;   /* first one flag for each common line; then for all lines */
	uint32_t kept;
};

static void side_fini(struct side *s)
{
	free(s->ids);
	free(s->where);
	free(s->changed);
}

/* Lines that only one text has are certainly changed. Without them the search has less to do, and
 * its cost depends only on the common lines. */
static enum mpk_code keep_common(const struct lines *l, uint32_t from, uint32_t count,
				 struct side *out, struct mpk_error *err)
{
	*out = (struct side){ .count = count };
	out->ids = malloc((count + 1U) * sizeof *out->ids);
	out->where = malloc((count + 1U) * sizeof *out->where);
	out->changed = calloc(count + 1U, sizeof *out->changed);
	MPK_TRY_ALLOC(out->ids && out->where && out->changed, err);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = l->first[from + i];

		if (l->sides[id] != 3)
			continue;
		out->ids[out->kept] = id;
		out->where[out->kept++] = i;
	}
	return MPK_OK;
}

/* Converts the flags of the common lines to flags of all lines, in place from the end. */
static void spread(struct side *s)
{
	uint32_t kept = s->kept;

	for (uint32_t i = s->count; i-- > 0;) {
		bool searched = kept && s->where[kept - 1] == i;

		s->changed[i] = searched ? s->changed[--kept] : true;
	}
}

static enum mpk_code add_change(struct mpk_text_diff *d, struct mpk_text_change c,
				struct mpk_error *err)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(d->changes, d->count, d->cap), err);
	d->changes[d->count++] = c;
	d->removed += c.a_count;
	d->added += c.b_count;
	return MPK_OK;
}

/* If a run of removed or added lines is followed by a copy of its first line, the run moves down,
 * as far as possible. This usually keeps a function in one piece. An unchanged line stays between
 * two changes. */
static void slide(struct mpk_text_diff *d, const struct lines *l)
{
	const uint32_t *a = l->first, *b = l->first + d->a.count;

	for (size_t i = 0; i < d->count; i++) {
		struct mpk_text_change *c = &d->changes[i], *next = i + 1 < d->count ? c + 1 : NULL;
		bool went = c->b_count == 0;
		const uint32_t *first = went ? a : b;
		uint32_t *at = went ? &c->a : &c->b, count = went ? c->a_count : c->b_count;
		uint32_t end = went ? (next ? next->a - 1 : d->a.count)
				    : (next ? next->b - 1 : d->b.count);

		if (c->a_count && c->b_count)
			continue;
		for (; *at + count < end && first[*at] == first[*at + count]; c->a++)
			c->b++;
	}
}

/* Walks both texts at once: unchanged lines correspond, so whatever lies between two of them is one
 * change. */
static enum mpk_code compare_text_collect(struct mpk_text_diff *d, const bool *gone,
					  const bool *came, struct mpk_error *err)
{
	uint32_t x = 0, y = 0;

	while (x < d->a.count || y < d->b.count) {
		struct mpk_text_change c = { .a = x, .b = y };

		while (x < d->a.count && gone[x])
			x++;
		while (y < d->b.count && came[y])
			y++;
		c.a_count = x - c.a;
		c.b_count = y - c.b;
		if (c.a_count || c.b_count) {
			MPK_TRY(add_change(d, c, err));
			continue;
		}
		x++;
		y++;
	}
	return MPK_OK;
}

static enum mpk_code compare_text_search(struct mpk_text_diff *d, struct mpk_error *err)
{
	MPK_CLEANUP(lines_fini) struct lines l = { 0 };
	MPK_CLEANUP(side_fini) struct side a = { 0 }, b = { 0 };

	MPK_TRY(number_lines(d, &l, err));
	MPK_TRY(keep_common(&l, 0, d->a.count, &a, err));
	MPK_TRY(keep_common(&l, d->a.count, d->b.count, &b, err));
	MPK_TRY(mpk_script_find((struct mpk_sequence){ a.ids, a.kept, a.changed },
				(struct mpk_sequence){ b.ids, b.kept, b.changed }, err));
	spread(&a);
	spread(&b);
	MPK_TRY(compare_text_collect(d, a.changed, b.changed, err));
	slide(d, &l);
	return MPK_OK;
}

/* If the texts continue after their windows, the last lines are context only: a change moved into
 * them would lack its own context. */
static enum mpk_code find_changes(struct mpk_text_diff *d, struct mpk_error *err)
{
	uint32_t shown = d->is_cut ? MPK_TEXT_CONTEXT : 0;
	enum mpk_code code;

	d->a.count -= shown;
	d->b.count -= shown;
	code = compare_text_search(d, err);
	d->a.count += shown;
	d->b.count += shown;
	return code;
}

enum mpk_code mpk_text_compare(struct mpk_span a, struct mpk_span b, struct mpk_text_diff *out,
			       struct mpk_error *err)
{
	bool a_fits, b_fits;

	*out = (struct mpk_text_diff){ .is_equal = mpk_span_equal(a, b) };
	if (out->is_equal)
		return MPK_OK;
	find_windows(a, b, out);
	MPK_TRY(find_ends(&out->a, &a_fits, err));
	MPK_TRY(find_ends(&out->b, &b_fits, err));
	out->is_too_large = !a_fits || !b_fits;
	return out->is_too_large ? MPK_OK : find_changes(out, err);
}

void mpk_text_diff_fini(struct mpk_text_diff *d)
{
	free(d->a.ends);
	free(d->b.ends);
	free(d->changes);
	*d = (struct mpk_text_diff){ 0 };
}

/* --- the unified format -------------------------------------------------------------------- */

/* Appends a mark and a line. A tab is harmless to a terminal, and a patch needs it. */
static void compare_text_put_line(char mark, struct mpk_span text, struct mpk_strbuf *out)
{
	bool ended = text.len && text.data[text.len - 1] == '\n';
	const uint8_t *p = text.data, *end = p + text.len - ended, *tab;

	mpk_strbuf_putc(out, mark);
	while ((tab = memchr(p, '\t', (size_t)(end - p)))) {
		mpk_escape_controls(out, mpk_span_of(p, (size_t)(tab - p)));
		mpk_strbuf_putc(out, '\t');
		p = tab + 1;
	}
	mpk_escape_controls(out, mpk_span_of(p, (size_t)(end - p)));
	mpk_strbuf_puts(out, ended ? "\n" : "\n\\ No newline at end of file\n");
}

/* Stops at the limit in the middle of a hunk; the caller counts such a hunk as omitted. */
static void compare_text_put_lines(char mark, const struct mpk_text_window *w, uint32_t from,
				   uint32_t count, size_t limit, struct mpk_strbuf *out)
{
	for (uint32_t i = from; i < from + count && out->len < limit; i++)
		compare_text_put_line(mark, line(w, i), out);
}

/* Appends "12,3": the first line, from 1 on, and the number of lines. If the number is 0, it gives
 * the line before. */
static void put_range(const struct mpk_text_window *w, uint32_t from, uint32_t count,
		      struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%" PRIu64, w->first + from + (count ? 1 : 0));
	if (count != 1)
		mpk_strbuf_printf(out, ",%" PRIu32, count);
}

/* Returns the end of the changes [i, end) that are near enough to share a hunk. */
static size_t hunk_end(const struct mpk_text_diff *d, size_t i)
{
	const struct mpk_text_change *c = d->changes;

	while (++i < d->count && c[i].a - (c[i - 1].a + c[i - 1].a_count) <= 2 * MPK_TEXT_CONTEXT)
		;
	return i;
}

/* The format of diff -u (POSIX, diff utility): ranges count from 1, and changes that are near each
 * other share their context. */
static void put_hunk(const struct mpk_text_diff *d, size_t begin, size_t end, size_t limit,
		     struct mpk_strbuf *out)
{
	const struct mpk_text_change *first = &d->changes[begin], *last = &d->changes[end - 1];
	uint32_t before = first->a < MPK_TEXT_CONTEXT ? first->a : MPK_TEXT_CONTEXT;
	uint32_t a_end = last->a + last->a_count, b_end = last->b + last->b_count;
	uint32_t left = d->a.count - a_end;
	uint32_t after = left < MPK_TEXT_CONTEXT ? left : MPK_TEXT_CONTEXT;
	uint32_t at = first->a - before;

	mpk_strbuf_puts(out, "@@ -");
	put_range(&d->a, at, a_end + after - at, out);
	mpk_strbuf_puts(out, " +");
	put_range(&d->b, first->b - before, b_end + after - (first->b - before), out);
	mpk_strbuf_puts(out, " @@\n");
	for (size_t i = begin; i < end; i++) {
		const struct mpk_text_change *c = &d->changes[i];

		compare_text_put_lines(' ', &d->a, at, c->a - at, limit, out);
		compare_text_put_lines('-', &d->a, c->a, c->a_count, limit, out);
		compare_text_put_lines('+', &d->b, c->b, c->b_count, limit, out);
		at = c->a + c->a_count;
	}
	compare_text_put_lines(' ', &d->a, at, after, limit, out);
}

size_t mpk_text_unified(const struct mpk_text_diff *d, size_t limit, struct mpk_strbuf *out)
{
	size_t most = out->len > SIZE_MAX - limit ? SIZE_MAX : out->len + limit, left_out = 0;

	for (size_t i = 0, end; i < d->count; i = end) {
		end = hunk_end(d, i);
		if (out->len < most)
			put_hunk(d, i, end, most, out);
		left_out += out->len >= most;
	}
	return left_out;
}

void mpk_text_put_counts(uint64_t removed, uint64_t added, const char *unit, struct mpk_strbuf *out)
{
	if (removed) {
		mpk_put_count(out, removed, unit);
		mpk_strbuf_puts(out, added ? " removed, " : " removed");
	}
	if (removed && added)
		mpk_strbuf_printf(out, "%" PRIu64, added);
	else if (added)
		mpk_put_count(out, added, unit);
	mpk_strbuf_puts(out, added ? " added" : "");
}

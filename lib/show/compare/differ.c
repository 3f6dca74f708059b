/* SPDX-License-Identifier: Apache-2.0 */
/* differ.c - the list of differences: appends to it, and matches two lists of named things
 *
 * Names are looked up in hash tables, since a hostile file has hundreds of thousands of them. The
 * list remembers a failed allocation and the comparison goes on, so that callers need not check
 * after each step. */
#include "compare/differ.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "code/format.h"
#include "compare/compare.h"
#include "text/table.h"

struct mpk_difference *mpk_differ_add(struct mpk_differ *d, enum mpk_diff_sign sign,
				      const char *what, struct mpk_span name, const char *text)
{
	struct mpk_diff *diff = d->diff;

	if (!text || !MPK_VEC_ROOM(diff->items, diff->count, diff->cap)) {
		diff->failed = true;
		return NULL;
	}
	/* removed things are in the older file, added things in the newer, changed things in
	 * both */
	bool moved = d->new_path[0];

	diff->items[diff->count] = (struct mpk_difference){
		.sign = sign,
		.path = moved && sign == MPK_DIFF_ADDED ? d->new_path : d->path,
		.new_path = moved && sign == MPK_DIFF_CHANGED ? d->new_path : "",
		.what = what,
		.name = name,
		.text = text,
		.lines = "",
		.target = ""
	};
	return &diff->items[diff->count++];
}

struct mpk_difference *mpk_differ_change(struct mpk_differ *d, const char *what,
					 struct mpk_span name, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = mpk_arena_vprintf(d->arena, fmt, ap);
	va_end(ap);
	return mpk_differ_add(d, MPK_DIFF_CHANGED, what, name, text);
}

const char *mpk_differ_take(struct mpk_differ *d, struct mpk_strbuf *buf)
{
	const char *text =
		buf->failed ? NULL : mpk_arena_copy(d->arena, mpk_strbuf_text(buf), buf->len);

	d->diff->failed |= !text;
	mpk_strbuf_fini(buf);
	return text;
}

/* --- lists --------------------------------------------------------------------------- */

/* Adds a thing that only one file has. A module is named by its path, so its name would repeat the
 * path. */
static void add_whole(struct mpk_differ *d, enum mpk_diff_sign sign, const struct mpk_diff_thing *t,
		      struct mpk_span name, const void *thing)
{
	uint64_t bytes = t->bytes_of ? t->bytes_of(thing) : 0;
	struct mpk_difference *added;

	if (t->only_matched)
		return;
	if (t->is_place)
		d->path = (const char *)name.data; /* a path is a C string */
	added = mpk_differ_add(d, sign, t->what, t->is_place ? mpk_span_of(NULL, 0) : name, "");
	if (bytes)
		mpk_differ_note_bytes(added, sign == MPK_DIFF_REMOVED ? bytes : 0,
				      sign == MPK_DIFF_ADDED ? bytes : 0);
}

/* Compares two things with equal names. The list of lines begins with a heading. */
static void differ_compare(struct mpk_differ *d, const struct mpk_diff_thing *t,
			   struct mpk_span name, const void *a, const void *b)
{
	size_t before = d->diff->count;

	t->compare(d, name, a, b);
	if (!t->bytes_of || d->diff->count == before)
		return;
	uint64_t older = t->bytes_of(a), newer = t->bytes_of(b);

	if (older || newer)
		mpk_differ_note_bytes(&d->diff->items[before], older, newer);
}

/* Elements may have any type; t holds their size. */
static const void *item(const struct mpk_diff_thing *t, const void *list, size_t i)
{
	return (const uint8_t *)list + i * t->bytes;
}

static struct mpk_span name_of(const struct mpk_diff_thing *t, const void *list, size_t i)
{
	const uint8_t *at = item(t, list, i);
	struct mpk_span name;

	if (t->name)
		return t->name(at);
	memcpy(&name, at + t->name_at, sizeof name);
	return name;
}

void mpk_differ_match(struct mpk_differ *d, const struct mpk_diff_thing *t, const void *a,
		      size_t a_count, const void *b, size_t b_count)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap in_a = { 0 }, in_b = { 0 };
	size_t at;

	for (size_t i = 0; i < a_count; i++)
		d->diff->failed |= mpk_strmap_put(&in_a, name_of(t, a, i), i, &at) < 0;
	for (size_t i = 0; i < b_count; i++)
		d->diff->failed |= mpk_strmap_put(&in_b, name_of(t, b, i), i, &at) < 0;
	for (size_t i = 0; i < a_count; i++) {
		struct mpk_span name = name_of(t, a, i);

		if (!mpk_strmap_find(&in_b, name, &at))
			add_whole(d, MPK_DIFF_REMOVED, t, name, item(t, a, i));
		else if (t->compare)
			differ_compare(d, t, name, item(t, a, i), item(t, b, at));
	}
	for (size_t i = 0; i < b_count; i++) {
		struct mpk_span name = name_of(t, b, i);

		if (!mpk_strmap_find(&in_a, name, &at))
			add_whole(d, MPK_DIFF_ADDED, t, name, item(t, b, i));
	}
}

/* --- single things --------------------------------------------------------------------- */

void mpk_differ_words(struct mpk_differ *d, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		(void)mpk_differ_change(d, what, (struct mpk_span){ 0 }, "%s -> %s", a, b);
}

bool mpk_differ_texts(struct mpk_differ *d, const char *what, struct mpk_span name,
		      struct mpk_strbuf *a, struct mpk_strbuf *b)
{
	bool differ = strcmp(mpk_strbuf_text(a), mpk_strbuf_text(b)) != 0;

	d->diff->failed |= a->failed || b->failed;
	if (differ)
		(void)mpk_differ_change(d, what, name, "%s -> %s", mpk_strbuf_text(a),
					mpk_strbuf_text(b));
	mpk_strbuf_fini(a);
	mpk_strbuf_fini(b);
	return differ;
}

void mpk_differ_put_type(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			 struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(out, "%s[", mpk_dtype_print_short(dtype, type));
	for (size_t i = 0; i < ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", shape[i]);
	mpk_strbuf_putc(out, ']');
}

struct mpk_difference *mpk_differ_bytes(struct mpk_differ *d, const char *what,
					struct mpk_span name, struct mpk_span a, struct mpk_span b)
{
	size_t n = a.len < b.len ? a.len : b.len, at = 0, differing = 0;

	if (a.len != b.len)
		return mpk_differ_change(d, what, name, "%s -> %s", MPK_SIZE(a.len),
					 MPK_SIZE(b.len));
	/* backwards, so that the last assignment to at is the first difference */
	for (size_t i = n; i-- > 0;) {
		if (a.data[i] != b.data[i]) {
			at = i;
			differing++;
		}
	}
	return mpk_differ_change(d, what, name, "%zu of %zu bytes differ, from byte %zu on",
				 differing, n, at);
}

/* All hunks of a comparison share one limit of bytes. The counts are complete even if hunks are
 * omitted. */
static void differ_add_lines(struct mpk_differ *d, const char *what, struct mpk_span name,
			     const char *unit, const struct mpk_text_diff *text)
{
	struct mpk_strbuf counts = { 0 }, hunks = { 0 };
	size_t left_out = mpk_text_unified(text, d->lines_left, &hunks);
	struct mpk_difference *item;
	const char *lines;

	mpk_text_put_counts(text->removed, text->added, unit, &counts);
	if (left_out)
		mpk_strbuf_printf(&counts, "; %zu hunk%s not shown", left_out,
				  left_out == 1 ? "" : "s");
	d->lines_left -= hunks.len < d->lines_left ? hunks.len : d->lines_left;
	lines = mpk_differ_take(d, &hunks);
	item = mpk_differ_add(d, MPK_DIFF_CHANGED, what, name, mpk_differ_take(d, &counts));
	if (item && lines)
		item->lines = lines;
}

void mpk_differ_lines(struct mpk_differ *d, const char *what, struct mpk_span name,
		      const char *unit, struct mpk_span a, struct mpk_span b)
{
	MPK_CLEANUP(mpk_text_diff_fini) struct mpk_text_diff text = { 0 };

	if (mpk_text_compare(a, b, &text, NULL) != MPK_OK)
		d->diff->failed = true;
	else if (text.is_too_large)
		(void)mpk_differ_change(d, what, name,
					"%s -> %s, too many different lines to be matched",
					MPK_SIZE(a.len), MPK_SIZE(b.len));
	else if (!text.is_equal)
		differ_add_lines(d, what, name, unit, &text);
}

/* A text may end with NULs, which drivers require. A NUL within it makes it binary data. */
static bool differ_is_text(struct mpk_span *s)
{
	while (s->len && !s->data[s->len - 1])
		s->len--;
	return s->len && mpk_code_is_text(*s) && !memchr(s->data, 0, s->len);
}

void mpk_differ_content(struct mpk_differ *d, const char *what, struct mpk_span name,
			struct mpk_span a, struct mpk_span b)
{
	struct mpk_span x = a, y = b;

	if (mpk_span_equal(a, b))
		return;
	if (differ_is_text(&x) && differ_is_text(&y))
		mpk_differ_lines(d, what, name, "line", x, y);
	else
		(void)mpk_differ_bytes(d, what, name, a, b);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c - what is read of a file as a whole: copies in it and its map, and the listings that a terminal shows, as HTML
 * for where scripts are switched off
 *
 * The listings are in <noscript>, so that a browser with scripts builds nothing of them. They are here because the one of
 * sizes needs what copies and map are made from. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "list/list.h"
#include "map/map.h"
#include "page/internal/page.h"
#include "size/size.h"
#include "text/escape.h"

/* Of one file, and of all of a page: a wheel has many, and its page a size to keep. */
enum { PLAIN_FILE_MOST = 64 << 10, PLAIN_MOST = 192 << 10 };

/* A tree of more modules is not drawn: most of it would be left out. */
enum { PLAIN_MODULES_MOST = 5000 };

/* What is listed of copies. */
enum { COPIES_MOST = 50, NAMED_MOST = 6 };

/* One listing while it is made. */
struct plain {
	struct mpk_strbuf *out;
	size_t left;       /* bytes that may still be shown */
	uint64_t left_out; /* lines that were not */
};

static void put_html(struct mpk_strbuf *out, char c)
{
	switch (c) {
	case '&':
		mpk_strbuf_puts(out, "&amp;");
		break;
	case '<':
		mpk_strbuf_puts(out, "&lt;");
		break;
	case '>':
		mpk_strbuf_puts(out, "&gt;");
		break;
	default:
		mpk_strbuf_putc(out, c);
	}
}

/* Of a file, as a terminal would show it. */
static void put_html_name(struct mpk_page *page, const char *file)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

	mpk_escape(&name, mpk_span_str(file));
	page->json.failed |= name.failed;
	for (const char *p = mpk_strbuf_text(&name); *p; p++)
		put_html(&page->plain, *p);
}

/* Whole lines, as many as there is room for. */
static void plain_take(const char *text, size_t len, void *arg)
{
	struct plain *p = arg;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line = end ? (size_t)(end - text) - at + 1 : len - at;

		if (line > p->left) {
			p->left = 0;
			p->left_out++;
		} else {
			p->left -= line;
			for (size_t i = 0; i < line; i++)
				put_html(p->out, text[at + i]);
		}
		at += line;
	}
}

static void put_answer(struct mpk_page *page, const struct mpk_page_listing *l, const char *file)
{
	static const struct mpk_style style = { .unicode = true };
	size_t left = page->plain.len < PLAIN_MOST ? PLAIN_MOST - page->plain.len : 0;
	struct plain p = { .out = &page->plain,
			   .left = left < PLAIN_FILE_MOST ? left : PLAIN_FILE_MOST };
	struct mpk_strbuf text = { .take = plain_take, .arg = &p };

	mpk_strbuf_printf(&page->plain, "<h3>%s</h3>\n<pre>", l->title);
	if (l->answer->text)
		l->answer->text(l->what, style, &text);
	else
		l->answer->line(l->what, style, &text);
	if (text.len)
		plain_take(text.data, text.len, &p);
	mpk_strbuf_puts(&page->plain, "</pre>\n");
	if (p.left_out) {
		mpk_strbuf_printf(&page->plain, "<p>%" PRIu64 " more lines: minspect %s%s",
				  p.left_out, l->action, *l->action ? " " : "");
		put_html_name(page, file);
		mpk_strbuf_puts(&page->plain, "</p>\n");
	}
	page->json.failed |= text.failed || page->plain.failed;
	mpk_strbuf_fini(&text);
}

void mpk_page_listings(struct mpk_page *page, const char *file,
		       const struct mpk_page_listing *listings, size_t count)
{
	mpk_strbuf_puts(&page->plain, "<h2>");
	put_html_name(page, file);
	mpk_strbuf_puts(&page->plain, "</h2>\n");
	for (size_t i = 0; i < count; i++)
		put_answer(page, &listings[i], file);
}

/* --- copies and the map ------------------------------------------------------------------------ */

/* What stands in the file twice, as far as somebody reads it. */
static void put_copies(const struct mpk_size *size, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "duplicates"), *o, *names;
	uint64_t same = 0;

	for (size_t i = 0; i < size->copy_count && i < COPIES_MOST; i++) {
		const struct mpk_size_copies *c = &size->copies[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "bytes", size->sorted.items[c->first].bytes);
		mpk_json_u64(j, o, "count", c->count);
		names = mpk_json_array(j, o, "copies");
		for (size_t k = c->first; k < c->first + c->count && k < c->first + NAMED_MOST;
		     k++) {
			struct mpk_strbuf name = { 0 };

			mpk_strbuf_printf(&name, "%s ", size->sorted.items[k].path);
			mpk_strbuf_put_span(&name, size->sorted.items[k].name);
			mpk_json_take(j, names, NULL, &name);
		}
	}
	mpk_json_u64(j, at, "wasted", size->wasted);
	list = mpk_json_array(j, at, "same_kernels");
	for (size_t i = 0; i < size->same_kernel_count; i++) {
		const struct mpk_size_kernel *k = &size->same_kernels[i];

		same += k->item.bytes * (k->count - 1);
		if (i >= COPIES_MOST)
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", k->item.name);
		mpk_json_text(j, o, "target", k->target);
		mpk_json_u64(j, o, "bytes", k->item.bytes);
		mpk_json_u64(j, o, "count", k->count);
	}
	mpk_json_u64(j, at, "same_bytes", same);
}

/* A row: the depth, the kind, the name, bytes; then what only some have. */
static void put_map_row(struct mpk_page *page, const struct mpk_map_node *n,
			struct mpk_json_at *list)
{
	struct mpk_json *j = &page->json;
	struct mpk_json_at *row = mpk_json_array(j, list, NULL);
	bool is_packed = n->plain_bytes && n->plain_bytes != n->bytes;

	mpk_json_u64(j, row, NULL, n->depth);
	mpk_page_shared_text(page, j, row, n->kind);
	mpk_page_shared(page, j, row, n->name);
	mpk_json_u64(j, row, NULL, n->bytes);
	if (!n->symbol.len && !n->path && !is_packed)
		return;
	mpk_page_shared_text(page, j, row, n->path);
	if (!n->symbol.len && !is_packed)
		return;
	if (n->symbol.len)
		mpk_page_shared(page, j, row, n->symbol);
	else
		mpk_json_null(j, row, NULL);
	if (is_packed)
		mpk_json_u64(j, row, NULL, n->plain_bytes);
}

/* How deep it is, its maker decides, not the file. Of an archive's libraries the largest of each are enough. */
static void put_map_node(struct mpk_page *page, const struct mpk_map *map, size_t at,
			 struct mpk_json_at *list)
{
	const struct mpk_map_node *n = &map->nodes[at];
	struct mpk_map_node rest = { .kind = "rest", .depth = n->depth + 1 };
	size_t count = 0;

	put_map_row(page, n, list);
	for (size_t i = n->first; i; i = map->nodes[i].next)
		if (count++ < page->map_most)
			put_map_node(page, map, i, list);
		else
			rest.bytes += map->nodes[i].bytes;
	if (count > page->map_most) {
		char name[40];

		(void)snprintf(name, sizeof name, "%zu smaller ones", count - page->map_most);
		rest.name = mpk_span_str(name);
		put_map_row(page, &rest, list);
	}
}

enum mpk_code mpk_page_sizes(struct mpk_page *page, const struct mpk_view *view,
			     struct mpk_json_at *at, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_json *j = &page->json;
	struct mpk_size size;
	struct mpk_map map;
	const struct mpk_page_listing listings[] = {
		{ "What is in it", "",
		  view->count > PLAIN_MODULES_MOST ? &mpk_answer_brief : &mpk_answer_summary,
		  view },
		{ "Functions and kernels", "functions", &mpk_answer_functions, view },
		{ "Sizes", "size", &mpk_answer_size, &size },
	};

	MPK_TRY(mpk_size_read(view, &scratch, &size, err));
	mpk_page_listings(
		page, view->name, listings,
		MPK_ARRAY_COUNT(listings)); /* before the map: each takes memory while it is made */
	put_copies(&size, j, mpk_json_object(j, at, "size"));
	MPK_TRY(mpk_map_read(view, &size, &scratch, &map, err));
	put_map_node(page, &map, 0, mpk_json_array(j, at, "map"));
	return MPK_OK;
}

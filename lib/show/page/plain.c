/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - what a page says where scripts are switched off: the listings that a terminal shows, as HTML
 *
 * They stand in <noscript>, so that a browser with scripts builds nothing of them. */
#include <inttypes.h>
#include <string.h>

#include "list/list.h"
#include "page/internal/page.h"
#include "size/size.h"
#include "text/escape.h"

/* Of one file, and of all of a page: a wheel has many, and its page a size to keep. */
enum { PLAIN_FILE_MOST = 64 << 10, PLAIN_MOST = 192 << 10 };

/* A tree of more modules is not drawn: most of it would be left out. */
enum { PLAIN_MODULES_MOST = 5000 };

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

static void put_html_text(struct mpk_strbuf *out, const char *text)
{
	while (*text)
		put_html(out, *text++);
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

/* @name    of the action that prints all of it */
static void put_plain_answer(struct mpk_page *page, const char *title, const char *name,
			     const struct mpk_answer *answer, const void *what, const char *file)
{
	static const struct mpk_style style = { .unicode = true };
	size_t left = page->plain.len < PLAIN_MOST ? PLAIN_MOST - page->plain.len : 0;
	struct plain p = { .out = &page->plain,
			   .left = left < PLAIN_FILE_MOST ? left : PLAIN_FILE_MOST };
	struct mpk_strbuf text = { .take = plain_take, .arg = &p };

	mpk_strbuf_printf(&page->plain, "<h3>%s</h3>\n<pre>", title);
	if (answer->text)
		answer->text(what, style, &text);
	else
		answer->line(what, style, &text);
	if (text.len)
		plain_take(text.data, text.len, &p);
	mpk_strbuf_puts(&page->plain, "</pre>\n");
	if (p.left_out) {
		mpk_strbuf_printf(&page->plain, "<p>%" PRIu64 " more lines: minspect %s ",
				  p.left_out, name);
		put_html_text(&page->plain, file);
		mpk_strbuf_puts(&page->plain, "</p>\n");
	}
	page->json.failed |= text.failed || page->plain.failed;
	mpk_strbuf_fini(&text);
}

void mpk_page_plain(struct mpk_page *page, const struct mpk_view *view, const struct mpk_size *size)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

	mpk_escape(&name, mpk_span_str(view->name));
	page->json.failed |= name.failed;
	mpk_strbuf_puts(&page->plain, "<h2>");
	put_html_text(&page->plain, mpk_strbuf_text(&name));
	mpk_strbuf_puts(&page->plain, "</h2>\n");
	put_plain_answer(page, "What is in it", "",
			 view->count > PLAIN_MODULES_MOST ? &mpk_answer_brief : &mpk_answer_summary,
			 view, mpk_strbuf_text(&name));
	put_plain_answer(page, "Functions and kernels", "functions", &mpk_answer_functions, view,
			 mpk_strbuf_text(&name));
	put_plain_answer(page, "Sizes", "size", &mpk_answer_size, size, mpk_strbuf_text(&name));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "diff/diff.h"
#include "text/escape.h"

static const char *const signs[] = {
	[MPK_DIFF_REMOVED] = "removed", [MPK_DIFF_ADDED] = "added", [MPK_DIFF_CHANGED] = "changed"
};

static const char *const green = "\033[32m", *const red = "\033[31m", *const cyan = "\033[36m",
			 *const off = "\033[0m";

static const char *color_of(char mark)
{
	return mark == '+' ? green : mark == '-' ? red : mark == '@' ? cyan : NULL;
}

/* Indented, so that no line of a hunk is taken for a difference; patch(1) takes it as it is. */
static void put_hunks(const char *lines, struct mpk_style style, struct mpk_strbuf *out)
{
	while (*lines) {
		const char *end = strchr(lines, '\n');
		size_t len = end ? (size_t)(end - lines) : strlen(lines);
		const char *color = style.color ? color_of(*lines) : NULL;

		mpk_strbuf_puts(out, "  ");
		mpk_strbuf_puts(out, color ? color : "");
		mpk_strbuf_put(out, lines, len);
		mpk_strbuf_puts(out, color ? off : "");
		mpk_strbuf_putc(out, '\n');
		lines += len + (end != NULL);
	}
}

void mpk_diff_place(const struct mpk_difference *d, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, d->path);
	if (d->new_path[0])
		mpk_strbuf_printf(out, " -> %s", d->new_path);
}

void mpk_diff_text(const struct mpk_diff *diff, struct mpk_style style, struct mpk_strbuf *out)
{
	static const char marks[] = {
		[MPK_DIFF_REMOVED] = '-', [MPK_DIFF_ADDED] = '+', [MPK_DIFF_CHANGED] = '~'
	};
	static const char *const colors[] = { [MPK_DIFF_REMOVED] = "\033[31m",
					      [MPK_DIFF_ADDED] = "\033[32m",
					      [MPK_DIFF_CHANGED] = "\033[33m" };

	for (size_t i = 0; i < diff->count; i++) {
		const struct mpk_difference *d = &diff->items[i];

		mpk_strbuf_printf(out, "%s%c ", style.color ? colors[d->sign] : "", marks[d->sign]);
		mpk_diff_place(d, out);
		mpk_strbuf_printf(out, "%s%s", d->path[0] ? " " : "", d->what);
		if (d->name.len) {
			mpk_strbuf_putc(out, ' ');
			mpk_escape(out, d->name);
		}
		if (d->target[0])
			mpk_strbuf_printf(out, " (%s)", d->target);
		mpk_strbuf_printf(out, "%s%s%s\n", d->text[0] ? ": " : "", d->text,
				  style.color ? off : "");
		put_hunks(d->lines, style, out);
		mpk_strbuf_pass(out);
	}
}

static void put_figures(const struct mpk_difference *d, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_object(j, at, "figures"), *o;

	for (size_t i = 0; i < d->figure_count; i++) {
		o = mpk_json_object(j, list, mpk_figure_row(d->figures[i].figure)->word);
		mpk_figure_json(j, o, "before", d->figures[i].before);
		mpk_figure_json(j, o, "after", d->figures[i].after);
	}
}

void mpk_diff_json(const struct mpk_diff *diff, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "differences"), *o;

	for (size_t i = 0; i < diff->count; i++) {
		const struct mpk_difference *d = &diff->items[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "change", signs[d->sign]);
		mpk_json_text(j, o, "path", d->path[0] ? d->path : NULL);
		if (d->new_path[0])
			mpk_json_text(j, o, "new_path", d->new_path);
		mpk_json_text(j, o, "what", d->what);
		if (d->name.len)
			mpk_json_span(j, o, "name", d->name);
		else
			mpk_json_null(j, o, "name");
		mpk_json_text(j, o, "text", d->text[0] ? d->text : NULL);
		if (d->target[0])
			mpk_json_text(j, o, "target", d->target);
		if (d->figure_count)
			put_figures(d, j, o);
		if (d->same_code)
			mpk_json_bool(j, o, "same_code", true);
		if (d->lines[0])
			mpk_json_text(j, o, "diff", d->lines);
	}
}

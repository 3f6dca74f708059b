/* SPDX-License-Identifier: Apache-2.0 */
#include "text/escape.h"
#include "view/diff.h"

static const char *const signs[] = {
	[MPK_DIFF_REMOVED] = "removed", [MPK_DIFF_ADDED] = "added", [MPK_DIFF_CHANGED] = "changed"
};

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

		mpk_strbuf_printf(out, "%s%c %s%s%s", style.color ? colors[d->sign] : "",
				  marks[d->sign], d->path, d->path[0] ? " " : "", d->what);
		if (d->name.len) {
			mpk_strbuf_putc(out, ' ');
			mpk_escape(out, d->name);
		}
		mpk_strbuf_printf(out, "%s%s%s\n", d->text[0] ? ": " : "", d->text,
				  style.color ? "\033[0m" : "");
	}
}

void mpk_diff_json(const struct mpk_diff *diff, struct mpk_json *j, struct json_t *at)
{
	struct json_t *list = mpk_json_array(j, at, "differences"), *o;

	for (size_t i = 0; i < diff->count; i++) {
		const struct mpk_difference *d = &diff->items[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "change", signs[d->sign]);
		mpk_json_text(j, o, "path", d->path[0] ? d->path : NULL);
		mpk_json_text(j, o, "what", d->what);
		if (d->name.len)
			mpk_json_span(j, o, "name", d->name);
		else
			mpk_json_null(j, o, "name");
		mpk_json_text(j, o, "text", d->text[0] ? d->text : NULL);
	}
}

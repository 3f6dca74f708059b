/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of objects, as modules of kind static_library hold them. */
#include "ar/ar.h"

#include "code/info.h"
#include "text/escape.h"
#include "text/phrase.h"

static enum mpk_code read_archive(struct mpk_code_info *info, void *content,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	return mpk_ar_read(info->bytes, arena, content, err);
}

static void archive_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_ar *ar = info->content;

	mpk_strbuf_puts(out, "archive, ");
	mpk_put_count(out, ar->member_count, "member");
	mpk_put_also(out, ar->symbol_count, "symbol");
}

static void archive_put_lines(const struct mpk_code_info *info, const char *indent,
			      struct mpk_strbuf *out)
{
	const struct mpk_ar *ar = info->content;

	for (size_t i = 0; i < ar->member_count; i++) {
		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, ar->members[i].name);
		mpk_strbuf_printf(out, ", %zu B\n", ar->members[i].data.len);
	}
}

static void archive_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			     struct mpk_json_at *at)
{
	const struct mpk_ar *ar = info->content;
	struct mpk_json_at *list = mpk_json_array(j, at, "members"), *o;

	for (size_t i = 0; i < ar->member_count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", ar->members[i].name);
		mpk_json_u64(j, o, "bytes", ar->members[i].data.len);
	}
	mpk_json_u64(j, at, "symbols", ar->symbol_count);
}

const struct mpk_code_format mpk_format_archive = {
	.word = "archive",
	.name = "an ar archive",
	.is = mpk_ar_is,
	.read = read_archive,
	.content_bytes = sizeof(struct mpk_ar),
	.text = archive_put_text,
	.lines = archive_put_lines,
	.json = archive_put_json,
};

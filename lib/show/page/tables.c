/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - lists of many rows in the document of the page: a wheel has tens of thousands of kernels, with the same
 * names in each library and for each device, so that a row is an array, and a text that stands in several is
 * written once. */
#include "base/vec.h"
#include "code/show.h"
#include "page/internal/page.h"

void mpk_page_shared(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
		     struct mpk_span text)
{
	struct mpk_span key = text.len ? text : mpk_span_of("", 0);
	size_t number;
	uint8_t *copy;

	if (mpk_strmap_find(&page->numbers, key, &number)) {
		mpk_json_u64(j, row, NULL, number);
		return;
	}
	copy = (uint8_t *)mpk_arena_copy(&page->arena, key.data, key.len);
	if (!copy ||
	    !mpk_vec_reserve(&page->strings, &page->string_cap, page->string_count + 1,
			     sizeof *page->strings) ||
	    mpk_strmap_put(&page->numbers, mpk_span_of(copy, key.len), page->string_count, NULL) <
		    0) {
		j->failed = true;
		return;
	}
	mpk_json_u64(j, row, NULL, page->string_count);
	page->strings[page->string_count++] = mpk_span_of(copy, key.len);
}

void mpk_page_shared_text(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
			  const char *text)
{
	if (text)
		mpk_page_shared(page, j, row, mpk_span_str(text));
	else
		mpk_json_null(j, row, NULL);
}

void mpk_page_shared_take(struct mpk_page *page, struct mpk_json *j, struct mpk_json_at *row,
			  struct mpk_strbuf *text)
{
	if (text->len)
		mpk_page_shared(page, j, row, mpk_span_of(text->data, text->len));
	else
		mpk_json_null(j, row, NULL);
	j->failed |= text->failed;
	mpk_strbuf_fini(text);
}

void mpk_page_tables(struct mpk_page *page)
{
	static const char *const kernels[] = { "$name",    "$module", "$signature",
					       "$call",    "$title",  "*lines",
					       "*figures", "xxh128",  "around" };
	static const char *const parts[] = { "$module",  "$name", "$title", "bytes",
					     "stored",   "dtype", "shape",  "xxh128",
					     "language", "text",  "shown" };
	static const char *const code[] = { "$path", "$name", "$format", "$target", "text" };
	static const char *const map[] = { "depth", "$kind",   "$name", "bytes",
					   "$path", "$symbol", "plain" };
	struct mpk_json *j = &page->json;
	struct mpk_json_at *at = mpk_json_object(j, j->root, "columns"), *list, *row;

	mpk_json_texts(j, at, "kernels", kernels, MPK_ARRAY_COUNT(kernels));
	mpk_json_texts(j, at, "code", code, MPK_ARRAY_COUNT(code));
	mpk_json_texts(j, at, "map", map, MPK_ARRAY_COUNT(map));
	mpk_json_texts(j, at, "parts", parts, MPK_ARRAY_COUNT(parts));
	/* what the figures of a kernel are, which follow the device and what the code is: "sm_90|cubin|24||" */
	list = mpk_json_array(j, j->root, "figures");
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		const struct mpk_figure_row *f = mpk_figure_row((enum mpk_figure)i);

		row = mpk_json_object(j, list, NULL);
		mpk_json_text(j, row, "word", f->word);
		mpk_json_text(j, row, "label", f->label);
		mpk_json_bool(j, row, "is_bytes", f->is_bytes);
	}
	mpk_json_spans(j, j->root, "strings", page->strings, page->string_count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c - what a library's getters say about its functions: docs, metadata */
#include "model/view.h"

enum mpk_code mpk_view_read_texts(struct mpk_view *view, struct mpk_error *err)
{
	struct mpk_host_texts *texts;

	if (view->texts || !view->image->getter_count)
		return MPK_OK;
	texts = mpk_arena_alloc(view->arena, sizeof *texts);
	MPK_TRY_ALLOC(texts, err);
	MPK_TRY(mpk_host_texts_read(view->image, view->arena, texts, err));
	view->texts = texts;
	return MPK_OK;
}

enum mpk_code mpk_view_take_texts(struct mpk_view *view, const struct mpk_host_texts *texts,
				  struct mpk_error *err)
{
	const struct mpk_image *image = view->image;
	const struct mpk_signature **list =
		mpk_arena_keep(view->arena, view->host, image->function_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < image->function_count; i++)
		if (!list[i])
			MPK_TRY(mpk_host_texts_signature(image, texts, i, view->arena, &list[i],
							 err));
	view->host = list;
	view->texts = texts;
	return MPK_OK;
}

struct mpk_span mpk_view_doc(const struct mpk_view *view, size_t index)
{
	return view->texts ? view->texts->docs[index] : (struct mpk_span){ 0 };
}

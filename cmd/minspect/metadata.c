/* SPDX-License-Identifier: Apache-2.0 */
/* --functions --call-metadata: what tvm-ffi's exporter says of functions it makes when it is called. So its
 * getters are, in the child process of --run; nothing else of the file is called. */
#include "minspect/metadata.h"

#include <stdlib.h>

#include "common/diag.h"
#include "common/progress.h"
#include "minspect/isolate.h"
#include "minspect/run.h"
#include "session/batch.h"

static void batch_fini(struct mpk_batch_item *items, size_t count)
{
	for (size_t i = 0; items && i < count; i++)
		mpk_call_result_fini(&items[i].result);
	free(items);
}

/* The image with its getters in the place of functions: for who calls them they are some. */
static enum mpk_code call_getters(const struct minspect_options *o, struct minspect_file *file,
				  struct mpk_batch_item *items, struct mpk_call *calls,
				  struct mpk_error *err)
{
	MPK_CLEANUP(run_request_fini) struct run_request request = { 0 };
	struct mpk_image image = file->image;
	struct mpk_library_options library;
	enum mpk_code code;

	image.functions = image.getters;
	image.function_count = image.getter_count;
	MPK_TRY(run_request_parse(o, &request, err));
	if (!o->force)
		MPK_TRY(run_check_file(file, err));
	MPK_TRY(run_library_fill(o, file, false, &library, err));
	if (o->isolate)
		MPK_TRY(isolate_fill(&library, &file->arena, err));
	library.image = &image;
	for (size_t i = 0; i < image.getter_count; i++) {
		calls[i] = (struct mpk_call){ .function = image.getters[i].name, .repeat = 1 };
		items[i].call = &calls[i];
		items[i].timeout = request.timeout;
	}
	code = mpk_batch_run(&library, items, image.getter_count, err);
	mpk_progress_end();
	return code;
}

static enum mpk_code take_text(const struct mpk_image *image,
			       const struct mpk_image_function *getter,
			       const struct mpk_call_result *result, struct mpk_arena *arena,
			       struct mpk_host_texts *texts, struct mpk_error *err)
{
	const struct mpk_value *v = result->count ? result->values : NULL;
	const char *copy;
	bool is_doc;
	size_t i = mpk_host_texts_function(image, getter, &is_doc);

	if (i == image->function_count || !v || v->kind != MPK_VALUE_STR)
		return MPK_OK;
	copy = mpk_arena_copy(arena, v->text->data, v->text->len);
	MPK_TRY_ALLOC(copy, err);
	*(is_doc ? &texts->docs[i] : &texts->metadata[i]) = mpk_span_of(copy, v->text->len);
	return MPK_OK;
}

/* A getter that fails is passed over with a warning; a library that does not load is an error. */
static enum mpk_code take_all(struct minspect_file *file, const struct mpk_batch_item *items,
			      struct mpk_view *view, struct mpk_error *err)
{
	const struct mpk_image *image = &file->image;
	struct mpk_host_texts *texts = mpk_arena_alloc(&file->arena, sizeof *texts);

	MPK_TRY_ALLOC(texts, err);
	MPK_TRY(mpk_host_texts_read(image, &file->arena, texts, err));
	for (size_t i = 0; i < image->getter_count; i++) {
		const struct mpk_batch_item *item = &items[i];

		if (item->error.code == MPK_E_LOAD || item->error.code == MPK_E_NOMEM) {
			*err = item->error;
			return err->code;
		}
		if (item->error.code != MPK_OK)
			mpk_diag_warn("%s: %s: %s", file->name, image->getters[i].name,
				      item->error.text);
		else
			MPK_TRY(take_text(image, &image->getters[i], &item->result, &file->arena,
					  texts, err));
	}
	return mpk_view_take_texts(view, texts, err);
}

enum mpk_code minspect_call_metadata(const struct minspect_options *o, struct minspect_file *file,
				     struct mpk_view *view, struct mpk_error *err)
{
	size_t count = file->image.getter_count;
	struct mpk_batch_item *items;
	struct mpk_call *calls;
	enum mpk_code code;

	if (!count)
		return MPK_OK;
	items = calloc(count, sizeof *items);
	calls = mpk_arena_array(&file->arena, count, sizeof *calls);
	code = items && calls ? call_getters(o, file, items, calls, err) : mpk_fail_nomem(err);
	if (code == MPK_OK)
		code = take_all(file, items, view, err);
	batch_fini(items, count);
	if (code != MPK_OK)
		mpk_error_at_file(err, file->name);
	return code;
}

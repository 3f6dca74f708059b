/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c - additional lists of --size: parts with equal content, and sizes of the functions of
 * host code
 *
 * Equal content is found by sorting, not by digests, so reported copies are certain. Functions are
 * counted before they are listed, so that the list is allocated once. */
#include <stdlib.h>
#include <string.h>

#include "elf/code.h"
#include "size/internal/size.h"

/* --- copies ------------------------------------------------------------------------- */

/* Sorts by length, longest first, then by bytes, so that equal content is adjacent. Most
 * comparisons end at the length. */
static int by_content(const void *a, const void *b)
{
	const struct mpk_size_item *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = mpk_span_compare(x->data, y->data);
	if (order)
		return order;
	/* equal content stays in stored order */
	return x->data.data < y->data.data ? -1 : x->data.data > y->data.data;
}

/* Compares adjacent files, among which sorting has put equal ones together. There are at most as
 * many runs as files. */
static enum mpk_code find_copies(struct mpk_arena *arena, struct mpk_size *out,
				 struct mpk_error *err)
{
	size_t count = 0, runs = 0, end;
	struct mpk_size_item *sorted;
	struct mpk_size_copies *copies;

	for (size_t i = 0; i < out->files.count; i++)
		count += out->files.items[i].bytes >= MPK_SIZE_COPY_MIN;
	sorted = mpk_arena_array(arena, count, sizeof *sorted);
	copies = mpk_arena_array(arena, count, sizeof *copies);
	MPK_TRY_ALLOC(sorted && copies, err);
	for (size_t i = 0, to = 0; i < out->files.count; i++)
		if (out->files.items[i].bytes >= MPK_SIZE_COPY_MIN)
			sorted[to++] = out->files.items[i];
	if (count)
		qsort(sorted, count, sizeof *sorted, by_content);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && mpk_span_equal(sorted[i].data, sorted[end].data);
		     end++)
			out->wasted += sorted[i].bytes;
		if (end > i + 1)
			copies[runs++] = (struct mpk_size_copies){ i, end - i };
	}
	out->sorted = (struct mpk_size_list){ sorted, count };
	out->copies = copies;
	out->copy_count = runs;
	return MPK_OK;
}

/* --- functions ---------------------------------------------------------------------- */

/* Sorts by size, then by name, then by section: local functions of several sources may share a
 * name. */
static int function_larger_first(const void *a, const void *b)
{
	const struct mpk_size_function *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = strcmp(x->symbol, y->symbol);
	return order ? order : (x->section > y->section) - (x->section < y->section);
}

/* Names in ELF files are views of the input; for other formats they are allocated. */
static enum mpk_code size_list_functions(const struct mpk_view *view,
					 const struct mpk_code_file *file, struct mpk_arena *arena,
					 struct mpk_size *out, struct mpk_error *err)
{
	struct mpk_size_function *list;
	struct mpk_code_function f;
	size_t count = 0, n = 0;

	for (size_t at = 0; mpk_code_file_next(file, &at, &f);)
		count++;
	MPK_TRY_ARRAY(list, arena, count, err);
	for (size_t at = 0; mpk_code_file_next(file, &at, &f);) {
		if (!mpk_view_shows(view, mpk_span_str(f.symbol)))
			continue;
		if (!file->is_elf)
			f.symbol = mpk_arena_text(arena, mpk_span_str(f.symbol));
		MPK_TRY_ALLOC(f.symbol, err);
		list[n++] = (struct mpk_size_function){ f.symbol, f.bytes.len, (uint32_t)f.home };
	}
	if (n)
		qsort(list, n, sizeof *list, function_larger_first);
	out->functions = list;
	out->function_count = n;
	return MPK_OK;
}

enum mpk_code mpk_size_complete(const struct mpk_view *view, struct mpk_arena *arena,
				struct mpk_size *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	MPK_CLEANUP(mpk_code_file_close) struct mpk_code_file file = { 0 };
	const struct mpk_image *image = view->image;
	enum mpk_code code;

	MPK_TRY(find_copies(arena, out, err));
	if (image->format == MPK_FILE_BLOB || image->format == MPK_FILE_C ||
	    image->format == MPK_FILE_DEVICE)
		return MPK_OK;
	code = mpk_code_file_open(image->bytes, image->format, &scratch, &file, NULL);
	if (code == MPK_OK)
		return size_list_functions(view, &file, arena, out, err);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

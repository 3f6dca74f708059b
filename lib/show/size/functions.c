/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - how large the functions of host code are
 *
 * Functions are counted before they are listed, so that the list has one allocation of the size that it needs. */
#include <stdlib.h>
#include <string.h>

#include "elf/code.h"
#include "size/internal/size.h"

/* By name, and then by section: local functions of several sources may have one name. */
static int function_larger_first(const void *a, const void *b)
{
	const struct mpk_size_function *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = strcmp(x->symbol, y->symbol);
	return order ? order : (x->section > y->section) - (x->section < y->section);
}

/* Names of ELF files are views of the input; those of other formats are made when they are read. */
static enum mpk_code size_list_functions(const struct mpk_view *view,
					 const struct mpk_code_file *file, struct mpk_arena *arena,
					 struct mpk_size *out, struct mpk_error *err)
{
	struct mpk_size_function *list;
	struct mpk_code_function f;
	size_t count = 0, n = 0;

	for (size_t at = 0; mpk_code_file_next(file, &at, &f);)
		count++;
	list = mpk_arena_array(arena, count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
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

enum mpk_code mpk_size_read_functions(const struct mpk_view *view, struct mpk_arena *arena,
				      struct mpk_size *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	MPK_CLEANUP(mpk_code_file_close) struct mpk_code_file file = { 0 };
	const struct mpk_image *image = view->image;
	enum mpk_code code;

	if (image->format == MPK_FILE_BLOB || image->format == MPK_FILE_C ||
	    image->format == MPK_FILE_DEVICE)
		return MPK_OK;
	code = mpk_code_file_open(image->bytes, image->format, &scratch, &file, NULL);
	if (code == MPK_OK)
		return size_list_functions(view, &file, arena, out, err);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

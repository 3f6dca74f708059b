/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c - which parts of a file have equal content. Equal content is found by sorting, not by digests: what is
 * reported as a copy is one. */
#include <stdlib.h>

#include "size/internal/size.h"

/* Longest first, then by bytes, so that equal content is adjacent. Most comparisons end at the length. */
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

/* Compares whole contents of adjacent files, which sorting has brought together; an array of all
 * files is large enough for the runs. */
enum mpk_code mpk_size_find_copies(struct mpk_arena *arena, struct mpk_size *out,
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

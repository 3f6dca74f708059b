/* SPDX-License-Identifier: Apache-2.0 */
#include "code/internal/names.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/search.h"

struct mpk_names_item {
	struct mpk_span name;
	size_t row;
};

static int by_name(const void *left, const void *right)
{
	const struct mpk_names_item *a = left, *b = right;
	int order = mpk_span_compare(a->name, b->name);

	return order ? order : (a->row > b->row) - (a->row < b->row);
}

enum mpk_code mpk_names_of(const void *rows, size_t stride, size_t count, struct mpk_arena *arena,
			   struct mpk_names *out, struct mpk_error *err)
{
	struct mpk_names_item *items = mpk_arena_array(arena, count, sizeof *items);

	MPK_TRY_ALLOC(items, err);
	for (size_t i = 0; i < count; i++) {
		memcpy(&items[i].name, (const uint8_t *)rows + i * stride, sizeof items[i].name);
		items[i].row = i;
	}
	if (count)
		qsort(items, count, sizeof *items, by_name);
	*out = (struct mpk_names){ items, count };
	return MPK_OK;
}

bool mpk_names_find(const struct mpk_names *names, struct mpk_span name, size_t *row)
{
	const struct mpk_names_item key = { .name = name };
	size_t at = mpk_lower_bound(names->items, names->count, sizeof key, &key, by_name);

	if (at == names->count || !mpk_span_equal(names->items[at].name, name))
		return false;
	if (row)
		*row = names->items[at].row;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph executor allocates follows from its graph alone: tensors that share a storage id
 * share memory. */
#include <stdlib.h>

#include "base/num.h"
#include "graphjson/graphjson.h"
#include "model/node_info.h"

/* The bytes of one entry; what no memory can hold counts as the most there is. */
static uint64_t entry_bytes(const struct mpk_graph_entry *e)
{
	uint64_t bytes = mpk_dtype_bytes(e->dtype);

	for (size_t i = 0; i < e->ndim; i++)
		if (!mpk_mul_u64(bytes, (uint64_t)e->shape[i], &bytes))
			return UINT64_MAX;
	return bytes;
}

struct storage {
	int64_t id;
	uint64_t bytes;
};

static int by_storage(const void *left, const void *right)
{
	const struct storage *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

enum mpk_code mpk_graph_storage(const struct mpk_graph_json *graph, uint64_t *bytes, size_t *count,
				struct mpk_error *err)
{
	struct storage *list = calloc(graph->entry_count + 1, sizeof *list);
	uint64_t total = 0;
	size_t n = 0;

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < graph->entry_count; i++)
		list[i] = (struct storage){ graph->entries[i].storage_id,
					    entry_bytes(&graph->entries[i]) };
	qsort(list, graph->entry_count, sizeof *list, by_storage);
	for (size_t i = 0; i < graph->entry_count; i++) {
		if (i && list[i].id == list[i - 1].id)
			continue;
		if (!mpk_add_u64(total, list[i].bytes, &total))
			total = UINT64_MAX;
		n++;
	}
	free(list);
	*bytes = total;
	*count = n;
	return MPK_OK;
}
